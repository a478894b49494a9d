"""Where records come to be, and the members that follow: the conversation, its branch, who, in which run (CA-2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Literal, TypeVar

from lastro.assembly.records import (
    Branch,
    Conversation,
    Failure,
    Handle,
    Message,
    ModelRun,
    Part,
    Participant,
    Placed,
    Record,
    RunFinished,
)
from lastro.recording.ids import id_of
from lastro.states import types

R = TypeVar("R", bound=Record)
Ids = Callable[[], str]
Says = str | Part | Sequence[Part]
FinalStatus = Literal["succeeded", "failed", "timed_out", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What the next record is of; members that are None are not known. `ids` makes new ids."""

    conversation: str
    branch: str
    ids: Ids = field(repr=False)
    participant: str | None = None
    run: str | None = None
    parent_run: str | None = None
    parent_call: str | None = None
    message: str | None = None

    def made(self, kind: type[R], /, *, now: datetime, id: str | None = None, **members: Any) -> R:
        """Make a record of this origin: what it needs and `members` do not say is filled in."""
        known = {one.name for one in fields(kind)}
        own = {name: getattr(self, name) for name in _OWN if name in known}
        filled: dict[str, Any] = {"id": id_of(id) if id else self.ids(), **own}
        if issubclass(kind, Placed):
            filled |= {"conversation": self.conversation, "recorded_at": now}
        return kind(**{**filled, **members})


_OWN = ("branch", "participant", "run", "parent_run", "parent_call", "message")


def handle_of(subject: types.Handle) -> Handle:
    """Give a handle of the client as the graph has it."""
    return Handle(type=subject.type, value=subject.value, scope=subject.namespace or None)


def opened(
    id: str, *, subject: types.Handle | None, branch: str, ids: Ids, now: datetime
) -> tuple[Origin, tuple[Record, ...]]:
    """Give a conversation and its branch, under ids that every process gives them."""
    name = id_of(id)
    subjects = (handle_of(subject),) if subject else ()
    origin = Origin(conversation=name, branch=id_of(name, branch), ids=ids)
    records = (
        Conversation(id=name, conversation=id, subject=subjects),
        Branch(id=origin.branch, conversation=name, recorded_at=now),
    )
    return origin, records


def branched(origin: Origin, branch: str, *, at: str, now: datetime) -> tuple[Origin, Branch]:
    """Give a branch that begins behind a message of another."""
    name = id_of(origin.conversation, branch)
    made = Branch(
        id=name,
        conversation=origin.conversation,
        recorded_at=now,
        parent=origin.branch,
        fork_message=at,
    )
    return replace(origin, branch=name), made


def taking_part(
    origin: Origin,
    name: str,
    *,
    kind: Literal["model", "person", "moderator"],
    subject: types.Handle | None,
    now: datetime,
) -> tuple[Origin, Participant]:
    """Give somebody who takes part."""
    made = Participant(
        id=id_of(origin.conversation, name),
        conversation=origin.conversation,
        recorded_at=now,
        kind=kind,
        name=name,
        subject=handle_of(subject) if subject else None,
    )
    return replace(origin, participant=made.id), made


def said(
    origin: Origin,
    says: Says,
    *,
    role: Literal["user", "assistant", "moderator"],
    now: datetime,
    id: str | None,
    **members: Any,
) -> Message:
    """Give a message."""
    parts = (Part(text=says),) if isinstance(says, str) else (says,) if isinstance(says, Part) else says
    return origin.made(Message, now=now, id=id, role=role, parts=tuple(parts), message=None, **members)


def begun(
    origin: Origin,
    *,
    parent: Origin | None,
    parent_call: str | None,
    answers: str | None,
    id: str | None,
    now: datetime,
    **members: Any,
) -> tuple[Origin, ModelRun]:
    """Begin a run of a participant; with a `parent` it is a sub-agent's."""
    name = id_of(id) if id else origin.ids()
    inner = replace(
        origin,
        run=name,
        parent_run=parent.run if parent else None,
        parent_call=parent_call,
        message=answers,
    )
    made = inner.made(ModelRun, now=now, id=name, run=None, **members)
    return inner, made


def ended(
    origin: Origin,
    *,
    status: FinalStatus,
    error: Failure | None,
    report: str,
    files: Sequence[Any],
    now: datetime,
) -> RunFinished:
    """End a run. Its end is for the audit, unless it is a sub-agent's: then it is its parent's (CA-6)."""
    # An end that anybody sees is in every later context: a failed one even as recovery, until it is resolved.
    visibility = "participant" if origin.parent_run else "audit"
    return origin.made(
        RunFinished,
        now=now,
        id=f"{origin.run}.end" if len(origin.run or "") <= 60 else None,
        status=status,
        error=error,
        report=report,
        files=tuple(files),
        visibility=visibility,
    )
