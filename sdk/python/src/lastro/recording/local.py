"""The graph of a replay: it answers as the server does, by the same rules, and nothing leaves the process (SD-6).

It keeps one workspace of one key and knows one policy, the usual one. Tokens are estimated from bytes, since the
tokenizer is the server's.
"""

import json
import re
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, cast

from lastro.assembly.assembler import assemble, why
from lastro.assembly.errors import (
    AssemblyError,
    ContextBudgetExceeded,
    Problem,
    RecordsInvalid,
    SupersessionCycle,
    UnknownReference,
)
from lastro.assembly.graph import RecordConflict, RuntimeGraph
from lastro.assembly.locators import digest_of
from lastro.assembly.policy import Policy, PolicyUnknown
from lastro.assembly.records import (
    Message,
    Record,
    Reference,
    ToolArtifact,
    conversation_of,
    parse_records,
    reference_to,
)
from lastro.assembly.records.writing import to_json
from lastro.assembly.rendering.messages import messages_for
from lastro.assembly.rendering.turns import Item, items_of
from lastro.assembly.request import parse_request
from lastro.assembly.results import ASSEMBLER_VERSION, Assembly, Decision
from lastro.assembly.snapshot import AssemblyRequest, Size
from lastro.states.answers import Reply
from lastro.states.bodies import compact
from lastro.states.writes import Request

Clock = Callable[[], datetime]

_PAYLOAD = re.compile(r"/v1/graph/artifacts/([0-9a-f-]+)/payload")
_ASSEMBLY = re.compile(r"/v1/context/assemblies/([^/]+)(/why)?")


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for four bytes of UTF-8."""
    return (len(text.encode(errors="surrogatepass")) + 3) // 4


@dataclass(frozen=True, slots=True)
class _Kept:
    request: AssemblyRequest
    record: dict[str, Any] = field(repr=False)


class LocalGraph:
    """A workspace's graph in this process."""

    def __init__(self, *, now: Clock, policy: Policy | None = None) -> None:
        self._now = now
        self._policy = policy or Policy()
        self._graph = RuntimeGraph(estimated_tokens)
        self._positions: dict[Reference, int] = {}
        self._awaited: dict[str, ToolArtifact] = {}
        self._assemblies: dict[str, _Kept] = {}

    def send(self, request: Request, *, deadline: float) -> Awaitable[Reply | None]:
        """Answer a request at once."""
        return _at_once(self.answer(request))

    def answer(self, request: Request) -> Reply:
        """Answer a request of the graph or of an assembly."""
        try:
            return _reply(200, self._answered(request))
        except AssemblyError as error:
            return _refusal(error)

    def _answered(self, request: Request) -> dict[str, Any]:
        payload, assembly = _PAYLOAD.fullmatch(request.path), _ASSEMBLY.fullmatch(request.path)
        if payload:
            return self._put(payload[1], request.raw)
        value: dict[str, Any] = json.loads(request.raw or b"{}")
        if request.path == "/v1/graph":
            return self._record(value["records"])
        if assembly is None:
            return self._assemble(value)
        kept = self._kept(assembly[1])
        return self._why(kept, value) if assembly[2] else kept.record

    def _record(self, values: list[Any]) -> dict[str, Any]:
        records = parse_records(values)
        known = set(self._positions)
        self._graph.record(records)
        for record in records:
            self._positions.setdefault(reference_to(record), len(self._positions) + 1)
        told = [self._told(record, is_known=reference_to(record) in known) for record in records]
        conversations = {conversation_of(record) for record in records}
        return {"records": told, "positions": dict.fromkeys(conversations, self._graph.position)}

    def _told(self, record: Record, *, is_known: bool) -> dict[str, Any]:
        position = self._positions[reference_to(record)]
        told: dict[str, Any] = {
            "type": record.wire,
            "id": record.id,
            "outcome": "unchanged" if is_known else "stored",
            "position": position,
        }
        if isinstance(record, ToolArtifact) and record.result is not None and record.result.sha256:
            payload_id = str(uuid.uuid5(uuid.NAMESPACE_OID, record.id))
            self._awaited[payload_id] = record
            is_there = record.id in self._graph.payloads
            told |= {"payload_id": payload_id, "payload": "stored" if is_there else "awaited"}
        return told

    def _put(self, payload_id: str, raw: bytes) -> dict[str, Any]:
        artifact = self._awaited[payload_id]
        if artifact.result is None or artifact.result.sha256 != digest_of(raw):
            raise _PayloadMismatch
        is_there = artifact.id in self._graph.payloads
        self._graph.payloads[artifact.id] = raw
        outcome = "unchanged" if is_there else "stored"
        return {"payload_id": payload_id, "bytes": len(raw), "sha256": digest_of(raw), "outcome": outcome}

    def _assemble(self, value: dict[str, Any]) -> dict[str, Any]:
        beside = {name: value.pop(name, None) for name in ("policy", "trace", "render")}
        asked = {"as_of": self._now().isoformat(), **value}
        request = parse_request(asked, workspace="")
        if beside["policy"] and beside["policy"].get("name") != self._policy.name:
            raise PolicyUnknown(beside["policy"].get("name"))
        snapshot = self._graph.snapshot(request, self._policy)
        assembly = assemble(request, snapshot, self._policy, read=self._graph.read)
        answer = _account(assembly)
        trace = [_outcome(one) for one in assembly.decisions] if beside["trace"] == "full" else None
        self._assemblies[answer["assembly_id"]] = _Kept(request, _record(assembly, dict(answer), trace))
        answer["trace"] = trace
        answer["items"] = [_item(item) for item in items_of(assembly)]
        if beside["render"]:
            answer["messages"] = messages_for(
                beside["render"], assembly, request, participants=snapshot.participants
            )
        return answer

    def _why(self, kept: _Kept, value: dict[str, Any]) -> dict[str, Any]:
        snapshot = self._graph.snapshot(
            kept.request, self._policy, position=kept.record["summary"]["position"]
        )
        reference = Reference(value["type"], value["id"])
        found = why(kept.request, snapshot, self._policy, reference=reference)
        rules = [
            {"rule": one.rule, "outcome": one.outcome, "form": one.form, "detail": one.detail}
            for one in found.rules
        ]
        return {
            "outcome": found.outcome,
            "form": found.form,
            "reason": found.reason,
            "rules": rules,
            "provenance": [],
            "assembler": {"then": kept.record["summary"]["assembler"], "now": ASSEMBLER_VERSION},
            "is_reproduced": True,
            "gone": 0,
        }

    def _kept(self, assembly_id: str) -> _Kept:
        if assembly_id not in self._assemblies:
            raise _AssemblyUnknown(assembly_id)
        return self._assemblies[assembly_id]


class _PayloadMismatch(AssemblyError):
    code = "payload_mismatch"


class _AssemblyUnknown(AssemblyError):
    code = "not_found"


def _account(assembly: Assembly) -> dict[str, Any]:
    return {
        "assembly_id": str(uuid.uuid4()),
        "policy": {"name": assembly.policy, "version": assembly.policy_version},
        "assembler": assembly.assembler,
        "position": assembly.position,
        "as_of": assembly.as_of,
        "digest": assembly.digest,
        "omitted": dict(assembly.omitted),
        "branch_exclusions": assembly.branch_exclusions,
        "considered": assembly.considered,
        "naive": _size(assembly.naive),
        "assembled": _size(assembly.assembled),
        "milliseconds": {"query": 0.0, "policy": 0.0, "rendering": 0.0},
    }


def _record(
    assembly: Assembly, summary: dict[str, Any], trace: list[dict[str, Any]] | None
) -> dict[str, Any]:
    decisions = [
        {
            "rule": one.rule,
            "policy": summary["policy"],
            "outcome": one.outcome,
            "references": [asdict(reference) for reference in one.references],
        }
        for one in assembly.policy_decisions
    ]
    selected = [_outcome(one) for one in assembly.selected]
    return {"summary": summary, "selected": selected, "decisions": decisions, "trace": trace}


def _outcome(decision: Decision) -> dict[str, Any]:
    return {**asdict(decision.reference), "form": decision.form, "reason": decision.reason}


def _item(item: Item) -> dict[str, Any]:
    told: dict[str, Any] = {"type": item.reference.type, "id": item.reference.id, "form": item.form}
    if isinstance(item.message, Message):
        members = to_json(item.message)
        shown: dict[str, Any] = {
            name: members[name] for name in ("role", "participant", "parts") if name in members
        }
        return {**told, **shown}
    return {**told, **(item.line or {})}


def _size(size: Size) -> dict[str, int]:
    return {"tokens": size.tokens, "bytes": size.bytes}


def _refusal(error: AssemblyError) -> Reply:
    status = _STATUS.get(type(error), 422)
    told: dict[str, Any] = {"code": error.code, "status": status}
    if isinstance(error, RecordsInvalid):
        told["errors"] = [_problem(problem) for problem in error.problems]
    elif isinstance(error, UnknownReference | SupersessionCycle | RecordConflict):
        told["errors"] = [{"pointer": getattr(error, "pointer", ""), "code": error.code}]
    elif isinstance(error, ContextBudgetExceeded):
        told |= {"unit": error.unit, "needed": error.needed, "allowed": error.allowed}
        told["references"] = list(error.references)
    return _reply(status, told)


def _problem(problem: Problem) -> dict[str, str]:
    return {"pointer": problem.pointer, "code": problem.code, "detail": problem.detail}


_STATUS: Mapping[type[AssemblyError], int] = {
    RecordConflict: 409,
    PolicyUnknown: 422,
    _AssemblyUnknown: 404,
}


def _reply(status: int, body: Mapping[str, Any]) -> Reply:
    return Reply(status, {}, compact(cast("dict[str, Any]", body)))


async def _at_once(reply: Reply) -> Reply:
    return reply
