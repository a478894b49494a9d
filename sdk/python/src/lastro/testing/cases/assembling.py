"""Cases of context assembly: neutral items told to a runtime graph, and what a context shows of them (CA-15)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from lastro.assembly.records import Record, Reference, ToolArtifact, ToolMemory, parse_record
from lastro.assembly.rendering.messages import Format
from lastro.client.sync import Lastro
from lastro.contexts import Context
from lastro.errors import LastroError, ServerRefusal
from lastro.testing.cases.case import Case, Step, elements, members
from lastro.testing.cases.stage import Unplayable

FORMATS: tuple[Format, ...] = ("openai.chat", "openai.responses", "anthropic.messages", "gemini.contents")
REASONS = {"branch": "other_branch", "visibility": "not_visible", "privacy": "privacy_route"}
PRIVACY = {"normal": "internal"}
ASSEMBLE = "assemble"
COMPARED = frozenset({"included", "omitted", "stale"})
ROUTE = "case"
ABSENT = (403, 404)


def uncompared(case: Case) -> Sequence[str]:
    """Name the facts of a case that nobody here can compare."""
    steps = {f"step_{number}" for number in range(len(case.steps))}
    own = [
        name for step, facts in case.facts.items() for name in (members(facts) if step in steps else (step,))
    ]
    return [name for name in own if name not in COMPARED]


@dataclass(slots=True, kw_only=True)
class Assembling:
    """One case on one graph. `mark` is in every id: on a server another play has the same case."""

    case: Case
    client: Lastro
    mark: str = field(default_factory=lambda: uuid4().hex[:12])
    served: list[str] = field(default_factory=list[str])

    def failures(self) -> Iterator[str]:
        """Do each act, and say all that does not hold; nothing where the case passes. Raises Unplayable."""
        for number, step in enumerate(self.case.steps):
            try:
                yield from self._step(number, step)
            except LastroError as error:
                yield from self._refused(step, error)
        yield from self._texts()

    def _step(self, number: int, step: Step) -> Iterator[str]:
        asked = Asked(self.case, step, mark=f"{self.mark}-{number}", now=datetime.now(UTC))
        self.client.graph.record(*asked.records())
        contexts = [self.client.context.assemble(**asked.request(), render=each) for each in FORMATS]
        self.served += [json.dumps(context.messages, ensure_ascii=False) for context in contexts]
        if len({context.digest for context in contexts}) != 1:
            yield f"{step.do}: the same request was decided in two ways"
        yield from _roles(contexts)
        facts = self.case.facts
        yield from self._facts(members(facts.get(f"step_{number}", facts)), asked, contexts[0])

    def _facts(self, facts: Mapping[str, Any], asked: "Asked", context: Context) -> Iterator[str]:
        found = {str(item["id"]): self._outcome(asked, item, context) for item in asked.items}
        for id in elements(facts.get("included")):
            if found.get(id) not in ("memory", "raw", "message", "recovery"):
                yield f"{id} must be included, and is {found.get(id)}"
        for id, reason in members(facts.get("omitted")).items():
            if found.get(id) != REASONS.get(reason, reason):
                yield f"{id} must be omitted as {reason}, and is {found.get(id)}"
        stale = [id for id, outcome in found.items() if "stale" in outcome]
        if "stale" in facts and stale != list(elements(facts["stale"])):
            yield f"stale are {', '.join(stale) or 'none'}"

    def _outcome(self, asked: "Asked", item: Mapping[str, Any], context: Context) -> str:
        kind = ToolArtifact if item["type"] == "artifact" else ToolMemory
        said = self.client.context.why(
            context.assembly_id, Reference(kind.wire, asked.named(str(item["id"])))
        )
        return said.form or said.reason or said.outcome

    def _refused(self, step: Step, error: LastroError) -> Iterator[str]:
        if isinstance(error, ServerRefusal) and error.status in ABSENT:
            raise Unplayable(f"the server assembles nothing for this key ({error})") from error
        if "refused" not in self.case.outcomes:
            yield f"{step.do}: refused ({error})"

    def _texts(self) -> Iterator[str]:
        for text in elements(self.case.expect.get("text_present")):
            if any(text not in served for served in self.served):
                yield "a text that must be served is not"
        for text in elements(self.case.expect.get("text_absent")):
            if any(text in served for served in self.served):
                yield "a text that must not be served is"


def _roles(contexts: Sequence[Context]) -> Iterator[str]:
    """CA-19: what was recorded is data; nothing of it is an instruction of the host's."""
    roles = {str(message.get("role")) for context in contexts for message in context.messages}
    for role in sorted(roles & {"system", "developer"}):
        yield f"a message of the role {role} is served"


@dataclass(frozen=True, slots=True)
class Asked:
    """One `assemble` of a case: its neutral items as records, and the request. The case's times are seconds."""

    case: Case
    step: Step
    mark: str
    now: datetime

    @property
    def setup(self) -> Mapping[str, Any]:
        """Give what the case says of the conversation."""
        return members(self.case.input.get("setup"))

    @property
    def items(self) -> Sequence[Mapping[str, Any]]:
        """Give the items that are there at this step."""
        chosen, items = self.step.args.get("with"), elements(self.setup.get("items"))
        return [item for item in items if chosen is None or item["id"] in chosen]

    def named(self, id: str) -> str:
        """Give the id of a record by its id in the case."""
        return f"{id}.{self.mark}"[-64:]

    def request(self) -> dict[str, Any]:
        """Give the request of the step."""
        args = self.step.args
        asked: dict[str, Any] = {
            "conversation": self.named("talk"),
            "branch": self.named("main"),
            "participant": self.named(self._viewer),
            "route": str(args.get("route") or ROUTE),
            "as_of": self._at(self._now),
        }
        if "needExact" in args:
            asked["need_exact"] = tuple(self.named(str(id)) for id in elements(args["needExact"]))
        if "budgetTokens" in args:
            asked["budget_tokens"] = int(args["budgetTokens"])
        return asked

    def records(self) -> list[Record]:
        """Give the records of the step, each behind those that it names."""
        return [parse_record(value) for value in (*self._places(), *self._told())]

    @property
    def _viewer(self) -> str:
        return str(self.step.args.get("for") or self.setup["participant"])

    @property
    def _now(self) -> float:
        return float(self.step.args.get("now", self.setup.get("now", 0)))

    def _at(self, second: float) -> datetime:
        """Give a time of the case, as if this step's were the present."""
        return self.now - timedelta(seconds=self._now - second)

    def _written(self, second: float) -> str:
        return self._at(second).isoformat()

    def _record(self, kind: str, id: str, /, **said: Any) -> dict[str, Any]:
        return {
            "type": kind,
            "id": self.named(id),
            "conversation": self.named("talk"),
            "recorded_at": self._written(0),
            **said,
        }

    def _places(self) -> Iterator[dict[str, Any]]:
        own = [str(name) for name in elements(self.setup.get("branch"))]
        elsewhere = sorted({str(item["branch_message"]) for item in self.items} - set(own))
        yield {"type": "conversation", "id": self.named("talk"), "conversation": self.named("case")}
        yield self._record("branch", "main")
        for owner in dict.fromkeys([self._viewer, *(str(item["owner"]) for item in self.items)]):
            yield self._record("participant", owner, name=owner)
        yield self._record("participant", "user", kind="person", name="user")
        yield self._run("parent", participant=self._viewer)
        yield from (self._message(id, branch="main", place=place) for place, id in enumerate(own))
        if elsewhere:
            fork = self.named(own[0])
            yield self._record("branch", "elsewhere", parent=self.named("main"), fork_message=fork)
        yield from (self._message(id, branch="elsewhere", place=place) for place, id in enumerate(elsewhere))
        for owner, run in dict.fromkeys(
            (str(item["owner"]), str(item["run"])) for item in self.items if "run" in item
        ):
            yield self._run(run, participant=owner, parent_run=self.named("parent"))

    def _run(self, id: str, *, participant: str, **said: Any) -> dict[str, Any]:
        owner = {"branch": self.named("main"), "participant": self.named(participant)}
        return self._record("model_run", id, route=ROUTE, model="case", **owner, **said)

    def _message(self, id: str, *, branch: str, place: int) -> dict[str, Any]:
        given = list(self.case.given.values())
        text = given[place].get("content") if place < len(given) else None
        return self._record(
            "message",
            id,
            branch=self.named(branch),
            participant=self.named("user"),
            role="user",
            parts=[{"text": text if isinstance(text, str) else "a message"}],
        )

    def _told(self) -> Iterator[dict[str, Any]]:
        for item in self.items:
            yield from self._artifact(item) if item["type"] == "artifact" else self._memory(item)

    def _owner(self, item: Mapping[str, Any]) -> dict[str, Any]:
        message, own = str(item["branch_message"]), elements(self.setup.get("branch"))
        run, parent = str(item.get("run") or "parent"), self.named("parent")
        return {
            "participant": self.named(str(item["owner"])),
            "visibility": item.get("visibility", "participant"),
            "isolation": item.get("isolation", "shared"),
            "privacy": PRIVACY.get(str(item.get("privacy")), item.get("privacy", "internal")),
            "branch": self.named("main" if message in own else "elsewhere"),
            "message": self.named(message),
            "run": self.named(run),
            **({"parent_run": parent} if "run" in item else {}),
        }

    def _artifact(self, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        owner, tool, id = self._owner(item), str(item.get("tool") or "tool"), str(item["id"])
        yield self._record("tool_call", f"c-{id}", tool=tool, **owner)
        failed = {"status": "failed", "error": {"code": "failed", "message": str(item.get("raw") or "")}}
        given = {"status": "succeeded", "result": {"value": item.get("raw")}}
        came = failed if item.get("is_error") and "raw" in item else given
        call = self.named(f"c-{id}")
        yield self._record("tool_artifact", id, call=call, tool=tool, **came, **owner)
        yield from self._promoted(item, "tool_artifact")

    def _memory(self, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        id, sources = str(item["id"]), [str(name) for name in elements(item.get("from"))]
        if not sources:
            # A memory derives from an artifact: one of the case that says none has one that nobody sees.
            sources = [f"a-{id}"]
            yield from self._artifact({**item, "id": sources[0], "visibility": "audit", "promotion": None})
        ends = {} if "stale_after" not in item else {"stale_after": self._written(item["stale_after"])}
        yield self._record(
            "tool_memory",
            id,
            artifacts=[self.named(name) for name in sources],
            tools=[str(item.get("tool") or "tool")],
            summary=item["summary"],
            freshness=item.get("freshness", "bounded" if ends else "durable"),
            observed_at=self._written(item.get("observed_at", 0)),
            **ends,
            **self._links(item),
            **self._owner(item),
        )
        yield from self._promoted(item, "tool_memory")

    def _links(self, item: Mapping[str, Any]) -> dict[str, Any]:
        there = {str(one["id"]) for one in self.items}
        return {
            name: [self.named(str(id)) for id in elements(item.get(name)) if id in there]
            for name in ("supersedes", "conflicts_with")
        }

    def _promoted(self, item: Mapping[str, Any], kind: str) -> Iterator[dict[str, Any]]:
        if item.get("promotion") == "parent_visible":
            id = str(item["id"])
            yield self._record("promotion", f"up-{id}", record_type=kind, record=self.named(id))
