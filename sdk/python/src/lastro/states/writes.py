"""A write as it is made, kept and sent: always the same bytes under the same Idempotency-Key (SD-4, WM-15)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from lastro.states.bodies import compact
from lastro.states.types import Body, Conflict, Handle, StateName

Kind = Literal["cas", "merge_by_key", "clear"]

WRITE = ("PUT", "/v1/agent-state")
READ = ("POST", "/v1/agent-state/read")
CLEAR = ("POST", "/v1/agent-state/delete")
SHAPES: Mapping[str, Mapping[str, type]] = {
    WRITE[1]: {"stored": bool, "version": int},
    READ[1]: {"body": dict, "version": int},
    CLEAR[1]: {"deleted": bool},
}
"""What a good answer has at least, by path."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request without its host; `key` is its Idempotency-Key."""

    method: str
    path: str
    raw: bytes = field(default=b"", repr=False)
    key: str = ""
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Write:
    """One write, or the removal of a whole state (`clear`). Times are seconds since 1970.

    `born` is when it was made by the ticks of the process `born_by`; `predicted` the version that it should lead to, in
    the life `epoch`: none and empty where that is not known.
    """

    name: StateName
    kind: Kind
    key: str
    written_at: float
    raw: bytes = field(repr=False)
    if_version: int | None = None
    born: int = 0
    born_by: str = ""
    predicted: int | None = None
    epoch: str = ""

    @property
    def fields(self) -> Body:
        """Give what it carries, detached."""
        found: Body = json.loads(self.raw).get("body", {})
        return found

    @property
    def request(self) -> Request:
        """Give the request that sends it, the first time and any later one."""
        method, path = CLEAR if self.kind == "clear" else WRITE
        return Request(method, path, self.raw, self.key)

    @property
    def size(self) -> int:
        """Give the bytes that it takes in an outbox."""
        return len(self.raw)


def make_write(
    name: StateName,
    kind: Kind,
    *,
    body: Body,
    if_version: int | None,
    subject: Handle | None,
    now: float,
    key: str,
) -> Write:
    """Make a write; a `cas` without a version demands that there is no state yet (WM-7)."""
    if kind == "cas" and if_version is None:
        if_version = 0
    members: dict[str, Any] = dict(name.wire)
    if kind != "clear":
        members |= {"mode": kind, "body": body, "written_at": rfc3339(now)}
    if if_version is not None:
        members["if_version"] = if_version
    if subject is not None and kind != "clear":
        members["subject"] = subject.wire
    return Write(name, kind, key, now, compact(members), if_version)


def read_request(name: StateName) -> Request:
    """Give the request that reads a state."""
    return Request(*READ, compact(name.wire))


def conflict_of(write: Write, *, code: str, request_id: str | None, with_body: bool) -> Conflict:
    """Give what the caller sees of a late write that was refused (SD-5)."""
    return Conflict(
        code=code,
        mode=write.kind,
        if_version=write.if_version,
        written_at=datetime.fromtimestamp(write.written_at, tz=UTC),
        request_id=request_id,
        body=write.fields if with_body else None,
    )


def rfc3339(seconds: float) -> str:
    """Give a time as it travels, with microseconds."""
    return datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def from_rfc3339(text: str | None) -> float | None:
    """Read a time that came; none where it is no time."""
    try:
        return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None
