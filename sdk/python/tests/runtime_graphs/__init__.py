"""Runtime graphs for tests: a small world whose records are written as a host writes them, in JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from lastro.assembly.assembler import assemble
from lastro.assembly.graph import RuntimeGraph
from lastro.assembly.policy import Policy
from lastro.assembly.records import Reference, parse_record
from lastro.assembly.records.parsing import RECORD_TYPES
from lastro.assembly.results import Assembly
from lastro.assembly.snapshot import AssemblyRequest, Snapshot

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
POLICY = Policy(
    name="support",
    version=4,
    routes={
        "openai": {
            "public": "raw",
            "internal": "raw",
            "personal": "memory",
            "oauth": "hint",
            "secret": "never",
        },
        "*": {
            "public": "raw",
            "internal": "memory",
            "personal": "hint",
            "oauth": "never",
            "secret": "never",
        },
    },
)


def words(text: str) -> int:
    """Count tokens where no test asks how many: one a word."""
    return len(text.split())


def at(minute: float) -> str:
    """Write a time so many minutes after the world began."""
    return (START + timedelta(minutes=minute)).isoformat()


@dataclass
class World:
    """A conversation `talk` with the branch `main`, whose clock goes on a minute with each record."""

    count: Any = words
    minute: int = 0
    written: list[dict[str, Any]] = field(default_factory=list)
    payloads: dict[str, bytes] = field(default_factory=dict)
    people: Mapping[str, str] = field(
        default_factory=lambda: {"lead": "model", "other": "model", "ana": "person"}
    )

    def __post_init__(self) -> None:
        self.add("conversation", "talk", conversation="ticket-1")
        self.add("branch", "main")
        for name, kind in self.people.items():
            self.add("participant", name, name=name.title(), kind=kind)
        self.add("model_run", "run-1", route="openai", model="m", participant=next(iter(self.people)))

    def add(self, kind: str, id: str, /, **members: Any) -> str:
        """Write a record; what every record of its type needs and is not named is filled in."""
        self.minute += 1
        known = RECORD_TYPES[kind].__dataclass_fields__
        filled: dict[str, Any] = {"recorded_at": at(self.minute)}
        if kind != "conversation":
            filled["conversation"] = "talk"
        if "branch" in known:
            filled["branch"] = "main"
        self.written.append({"type": kind, "id": id, **filled, **members})
        return id

    def says(self, id: str, text: str, *, role: Any = "user", **members: Any) -> str:
        """Write a message."""
        who = {"participant": "ana"} if role == "user" else {"participant": "lead", "run": "run-1"}
        return self.add("message", id, role=role, parts=[{"text": text}], **{**who, **members})

    def call(self, id: str, tool: Any = "search", *, arguments: Any = None, **members: Any) -> str:
        """Write a call."""
        return self.add(
            "tool_call",
            id,
            tool=tool,
            arguments={"value": arguments or {}},
            **{"participant": "lead", "run": "run-1", **members},
        )

    def artifact(self, id: str, *, tool: Any = "search", result: Any = "found", **members: Any) -> str:
        """Write an artifact, and its call where it names none."""
        who = {
            name: members[name] for name in ("participant", "run", "branch", "parent_run") if name in members
        }
        call = members.pop("call", None) or self.call(f"call-{id}", tool, **who)
        status = members.pop("status", "succeeded")
        answer = {"result": {"value": result}} if status == "succeeded" else {}
        if status == "failed":
            answer["error"] = {"code": "failed"}
        owner = {"participant": "lead", "run": "run-1"}
        return self.add(
            "tool_artifact", id, call=call, tool=tool, status=status, **{**owner, **answer, **members}
        )

    def memory(self, id: str, says: Any = "a fact", *, tool: Any = "search", **members: Any) -> str:
        """Write a memory, and its artifact where it names none."""
        who = {
            name: members[name] for name in ("participant", "run", "branch", "parent_run") if name in members
        }
        sources = members.pop("artifacts", None)
        if sources is None:
            privacy = {"privacy": members["privacy"]} if "privacy" in members else {}
            sources = [self.artifact(f"art-{id}", tool=tool, **who, **privacy)]
        kept = {"freshness": "durable", "observed_at": at(self.minute + 1), "tools": [tool]}
        owner = {"participant": "lead", "run": "run-1"}
        return self.add("tool_memory", id, artifacts=sources, summary=says, **{**owner, **kept, **members})

    def graph(self, order: Sequence[int] | None = None) -> RuntimeGraph:
        """Record everything, in another order where one is given."""
        records = [parse_record(value) for value in self.written]
        graph = RuntimeGraph(self.count, payloads=dict(self.payloads))
        graph.record(records if order is None else [records[place] for place in order])
        return graph

    def request(self, **members: Any) -> AssemblyRequest:
        """Ask for the participant `lead` on `main`, a minute after the last record."""
        asked = {
            "conversation": "talk",
            "branch": "main",
            "participant": "lead",
            "route": "openai",
            "as_of": START + timedelta(minutes=self.minute + 1),
        }
        return AssemblyRequest(**{**asked, **members})

    def snapshot(self, **asked: Any) -> Snapshot:
        """Give what an assembler is given."""
        policy: Policy = asked.pop("policy", POLICY)
        graph: RuntimeGraph = asked.pop("graph", None) or self.graph()
        return graph.snapshot(self.request(**asked), policy)

    def assemble(self, **asked: Any) -> Assembly:
        """Assemble a context of the world; `policy` and `graph` may be others than its own."""
        policy: Policy = asked.pop("policy", POLICY)
        graph: RuntimeGraph = asked.pop("graph", None) or self.graph()
        request = self.request(**asked)
        return assemble(request, graph.snapshot(request, policy), policy, read=graph.read)


def outcomes(assembly: Assembly) -> dict[str, str]:
    """Give each candidate's outcome: its form, or the reason for which it was left out."""
    return {decision.reference.id: decision.form or decision.reason or "" for decision in assembly.decisions}


def outcome(assembly: Assembly, id: str) -> str:
    """Give one candidate's outcome."""
    return outcomes(assembly)[id]


def changed(policy: Policy = POLICY, **members: Any) -> Policy:
    """Give the policy with other members."""
    return replace(policy, **members)


def memory_named(id: str) -> Reference:
    """Name a memory."""
    return Reference("tool_memory", id)
