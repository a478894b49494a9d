"""The runtime graph and contexts, for code that waits (SD-10)."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack

from lastro.assembly.records import Message, Participant, Record, Reference, RuntimeKind
from lastro.client.graphs import GraphCalls
from lastro.client.runs import Named, Running, name_of
from lastro.client.runtime import Runtime
from lastro.client.scopes import handle_of
from lastro.client.waiting import waited
from lastro.contexts.answers import AssemblyRecord, Context, Explanation
from lastro.contexts.requests import Bounds, parted
from lastro.recording.answers import Recorded, Refused
from lastro.recording.places import Origin, Says, begun, branched, opened, said, taking_part
from lastro.recording.tools import Answer, Asked, tool_of
from lastro.states.types import Handle

T = TypeVar("T")
R = TypeVar("R", bound=Record)


class Graph:
    """The runtime graph of a workspace: what was said, run, called and found (CA-1)."""

    def __init__(self, client: object, runtime: Runtime) -> None:
        # A client that nobody holds any more is closed.
        self._client = client
        self._runtime = runtime

    def __repr__(self) -> str:
        return "<Graph>"

    def record(self, *records: Record, payloads: Mapping[str, bytes] | None = None) -> Recorded:
        """Record in this order, of each conversation all or nothing (CA-3); at most 500 records.

        `payloads` are results as bytes, by the ids of their artifacts; what is larger than 64 KiB goes apart by itself.
        Within the budget of a record (1 s); out of reach the records wait here, `pending`, and are sent later.
        Raises RecordsInvalid, InvalidCall, OutboxFull, ServerRefusal: RecordTaken, ReferenceUnknown, SupersedesItself,
        SubjectErased, NotAllowed and others.
        """
        return waited(self._calls().record(records, payloads))

    def conversation(
        self,
        id: str,
        *,
        subject: Handle | str | None = None,
        branch: str = "main",
        ids: Callable[[], str] | None = None,
    ) -> "Talk":
        """Open a conversation of the company, of which the graph knows from here on; nothing is waited for.

        `ids` makes the ids of its records: without it they are random.
        """
        calls = self._calls()
        calls.ids = ids or calls.ids
        origin, records = opened(
            id, subject=handle_of(subject), branch=branch, ids=calls.ids, now=calls.now()
        )
        calls.note(records, is_ensured=True)
        return Talk(self, calls, origin)

    @property
    def refused(self) -> tuple[Refused, ...]:
        """What the server refused, the oldest first, until dismissed: it is in no graph."""
        return self._calls().refused()

    def dismiss_refused(self) -> None:
        """Forget what was refused, once it is dealt with."""
        self._calls().dismiss()

    @property
    def waiting(self) -> int:
        """How many records wait to be sent."""
        return self._calls().waiting()

    def _calls(self) -> GraphCalls:
        return GraphCalls(self._runtime)


class Contexts:
    """Contexts for the next request of a model, and why they are as they are (CA-9 to CA-19)."""

    def __init__(self, client: object, runtime: Runtime) -> None:
        self._client = client
        self._runtime = runtime

    def __repr__(self) -> str:
        return "<Contexts>"

    def assemble(
        self,
        conversation: str,
        branch: str,
        participant: str,
        *,
        route: str,
        kind: RuntimeKind = "chat",
        run: str | None = None,
        answers: Named | None = None,
        **bounds: Unpack[Bounds],
    ) -> Context:
        """Assemble a context; the three names are ids of records (`context` of a run fills them in).

        Waits for the conversation's own records first, within the budget of an assembly (2 s). Raises RecordsInvalid,
        OutOfReach, ContextTooSmall, CheckpointUnknown, and other ServerRefusals.
        """
        members, wanted = parted(bounds)
        members |= {"conversation": conversation, "branch": branch, "participant": participant}
        members |= {"route": route, "kind": kind, "run": run, "answers": name_of(answers)}
        return waited(GraphCalls(self._runtime).assemble(members, wanted))

    def assembly(self, assembly_id: str) -> AssemblyRecord:
        """Read what the server keeps of an assembly (CA-16). Raises OutOfReach and ServerRefusal."""
        return waited(GraphCalls(self._runtime).assembly(assembly_id))

    def why(self, assembly_id: str, record: Record | Reference) -> Explanation:
        """Ask why a model saw a record, or did not (CA-17). Raises OutOfReach and ServerRefusal."""
        return waited(GraphCalls(self._runtime).why(assembly_id, record))


class Talk:
    """A branch of a conversation."""

    def __init__(self, owner: object, calls: GraphCalls, origin: Origin) -> None:
        self._owner = owner
        self._calls, self.origin = calls, origin

    def __repr__(self) -> str:
        return "<Talk>"

    def person(self, name: str = "user", *, subject: Handle | str | None = None) -> "Speaker":
        """Name a person who takes part; `subject` is by what an erasure finds that person's records."""
        return self._takes_part(name, "person", subject)

    def model(self, name: str) -> "Speaker":
        """Name a model, under the profile by which it takes part."""
        return self._takes_part(name, "model", None)

    def moderator(self, name: str) -> "Speaker":
        """Name a moderator."""
        return self._takes_part(name, "moderator", None)

    def branch(self, name: str, *, at: Named) -> "Talk":
        """Begin another branch behind a message of this one (CA-2)."""
        origin, record = branched(self.origin, name, at=name_of(at) or "", now=self._calls.now())
        self._calls.note([record], is_ensured=True)
        return Talk(self._owner, self._calls, origin)

    def on_branch(self, name: str) -> "Talk":
        """Go on, on a branch that there is already."""
        origin, _ = opened(
            self.origin.conversation,
            subject=None,
            branch=name,
            ids=self._calls.ids,
            now=self._calls.now(),
        )
        return Talk(self._owner, self._calls, origin)

    def record(self, kind: type[R], /, *, id: str | None = None, **members: Any) -> R:
        """Record something of this conversation: what its type needs and `members` do not say is filled in.

        Raises as `Graph.record` does.
        """
        made = self.origin.made(kind, now=self._calls.now(), id=id, **members)
        waited(self._calls.record([made]))
        return made

    def _takes_part(
        self, name: str, kind: Literal["model", "person", "moderator"], subject: Handle | str | None
    ) -> "Speaker":
        origin, record = taking_part(
            self.origin, name, kind=kind, subject=handle_of(subject), now=self._calls.now()
        )
        self._calls.note([record], is_ensured=True)
        return Speaker(self._owner, self._calls, origin, record)


class Speaker:
    """Somebody who takes part in a conversation."""

    def __init__(self, owner: object, calls: GraphCalls, origin: Origin, record: Participant) -> None:
        self._owner = owner
        self._calls, self.origin, self.participant = calls, origin, record

    def __repr__(self) -> str:
        return f"<Speaker {self.participant.kind}>"

    def says(self, says: Says, *, id: str | None = None, answers: Named | None = None) -> Message:
        """Record what a person or a moderator said; a model speaks in its run. Raises as `Graph.record`."""
        role: Literal["user", "moderator"] = "moderator" if self.participant.kind == "moderator" else "user"
        made = said(self.origin, says, role=role, now=self._calls.now(), id=id, answers=name_of(answers))
        waited(self._calls.record([made]))
        return made

    def run(
        self,
        *,
        route: str,
        model: str,
        kind: RuntimeKind = "chat",
        answers: Named | None = None,
        parent: "Run | None" = None,
        parent_call: str | None = None,
        id: str | None = None,
    ) -> "Run":
        """Begin a run of this model, in a `with`; with a `parent` it is a sub-agent's (CA-2).

        `route` is by what policies know the provider, `answers` the message that is being answered.
        """
        origin, record = begun(
            self.origin,
            kind=kind,
            route=route,
            model=model,
            parent=parent.origin if parent else None,
            parent_call=parent_call,
            answers=name_of(answers),
            id=id,
            now=self._calls.now(),
        )
        return Run(self._owner, self._calls, origin, record)

    def context(
        self,
        *,
        route: str,
        kind: RuntimeKind = "chat",
        answers: Named | None = None,
        **bounds: Unpack[Bounds],
    ) -> Context:
        """Assemble a context for this participant (see `Contexts.assemble`)."""
        members, wanted = parted(bounds)
        origin = self.origin
        members |= {"conversation": origin.conversation, "branch": origin.branch, "kind": kind}
        members |= {"participant": origin.participant, "route": route, "answers": name_of(answers)}
        return waited(self._calls.assemble(members, wanted))


class Run(Running):
    """A run of a model, from its beginning to its end: `with model.run(...) as run`."""

    def __init__(self, owner: object, calls: GraphCalls, origin: Origin, record: Any) -> None:
        super().__init__(calls, origin, record)
        self._owner = owner

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ended = self.calls.keep(Answer((self.end(error),)))
        if error is None:
            waited(ended)

    def call(
        self,
        function: Callable[..., T],
        arguments: Mapping[str, Any],
        *,
        id: str | None = None,
        in_round: int | None = None,
        provider_metadata: Any = None,
    ) -> T:
        """Call a tool as the model asked for it: under its id of the call, in that round of this run.

        `in_round` counts the responses of this run: calls of one are answered together. `provider_metadata` goes back
        with the call, such as Gemini's `{"thoughtSignature": ...}`.
        The call is recorded before, its result or error before it is given back or raised. What refuses the first is
        raised, and the tool is not called; what refuses the second stands in `Graph.refused`.
        """
        given = tool_of(function)
        asked = Asked(id, in_round, provider_metadata)
        found: T = self.executed(given, arguments, lambda: given.function(**arguments), asked)
        return found

    def says(self, says: Says, *, id: str | None = None, final: bool = True) -> Message:
        """Record what the model said. Raises as `Graph.record`."""
        made = said(
            self.origin,
            says,
            role="assistant",
            now=self.calls.now(),
            id=id,
            answers=self.origin.message,
            final=final,
        )
        waited(self.calls.record([made]))
        return made

    def record(self, kind: type[R], /, *, id: str | None = None, **members: Any) -> R:
        """Record something of this run: a memory, a checkpoint, loaded skills. Raises as `Graph.record`."""
        made = self.origin.made(kind, now=self.calls.now(), id=id, **members)
        waited(self.calls.record([made]))
        return made

    def context(self, *, answers: Named | None = None, **bounds: Unpack[Bounds]) -> Context:
        """Assemble what this run is to see (see `Contexts.assemble`)."""
        members, wanted = parted(bounds)
        return waited(self.calls.assemble(self.asked_for(members, answers), wanted))

    def _wait(self, future: "Future[Recorded]") -> None:
        waited(future)
