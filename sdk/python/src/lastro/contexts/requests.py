"""Requests about contexts, checked before they are sent (CA-9, CA-17)."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, TypedDict, cast
from urllib.parse import quote

from lastro.assembly.records import Reference
from lastro.assembly.rendering.messages import Format
from lastro.assembly.request import parse_request
from lastro.assembly.snapshot import AssemblyRequest
from lastro.errors import InvalidCall
from lastro.states.bodies import compact
from lastro.states.writes import Request

ASSEMBLE = "/v1/context/assemble"
ASSEMBLIES = "/v1/context/assemblies"


class Bounds(TypedDict, total=False):
    """What bounds and fills a context (CA-9), and how it is wanted; each member may be left out.

    `render` asks for ready messages of a provider, `policy_version` for another than the newest version, `trace` for
    the outcome of every candidate to be kept. `as_of` is now where it is not said.
    """

    checkpoint: str
    parents: tuple[str, ...]
    budget_tokens: int
    budget_bytes: int
    skills: tuple[str, ...]
    tools: tuple[str, ...]
    need_exact: tuple[str, ...]
    as_of: datetime
    policy: str
    policy_version: int
    render: Format
    trace: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked for beside the request itself: the policy, ready messages, the whole trace."""

    policy: str | None = None
    policy_version: int | None = None
    render: Format | None = None
    trace: bool = False

    @property
    def wire(self) -> dict[str, Any]:
        """Give it as it travels."""
        if self.policy_version is not None and self.policy is None:
            raise InvalidCall("a version is one of a named policy")
        version = {} if self.policy_version is None else {"version": self.policy_version}
        found: dict[str, Any] = {} if self.policy is None else {"policy": {"name": self.policy, **version}}
        if self.render:
            found["render"] = self.render
        return {**found, "trace": "full"} if self.trace else found


def parted(bounds: Bounds) -> tuple[dict[str, Any], Wanted]:
    """Part the members of a request from what is wanted beside it."""
    known = {one.name for one in fields(Wanted)}
    wanted = {name: value for name, value in bounds.items() if name in known}
    return {name: value for name, value in bounds.items() if name not in known}, Wanted(**wanted)  # type: ignore[arg-type]


def assemble_request(members: dict[str, Any], wanted: Wanted, *, now: datetime) -> Request:
    """Give the request for a context; raises RecordsInvalid with every member that is not as CA-9 says."""
    said = {name: _written(value) for name, value in members.items() if value not in (None, ())}
    unknown = said.keys() - {one.name for one in fields(AssemblyRequest)}
    if unknown:
        raise InvalidCall(f"no such member of a request: {', '.join(sorted(unknown))}")
    parse_request({"as_of": now.isoformat(), **said}, workspace="")
    return Request("POST", ASSEMBLE, compact({**said, **wanted.wire}))


def assembly_request(assembly_id: str) -> Request:
    """Give the request for the record of an assembly."""
    return Request("GET", f"{ASSEMBLIES}/{quote(assembly_id, safe='')}")


def why_request(assembly_id: str, reference: Reference) -> Request:
    """Give the request for why a record was shown or not."""
    body = compact({"type": reference.type, "id": reference.id})
    return Request("POST", f"{ASSEMBLIES}/{quote(assembly_id, safe='')}/why", body)


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
