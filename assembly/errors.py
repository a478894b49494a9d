"""The refusals of context assembly, by the codes of the SDK."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar, cast

from lastro.assembly import errors as sdk
from workspaces.errors import InvalidInput, Problem
from workspaces.types import FieldProblem


class Pointed:
    """What makes a refusal one about a place of the request, which it names by a JSON pointer; itself it is none."""

    code: ClassVar[str]
    sentence: ClassVar[str]

    def __init__(self, pointer: str | None = None) -> None:
        named = FieldProblem(pointer, self.code, self.sentence) if pointer is not None else None
        Problem.__init__(cast(Problem, self), errors=(named,) if named else ())


class UnknownReference(Pointed, Problem):
    """A record names one that is neither stored nor earlier in the batch (CA-3)."""

    code = "unknown_reference"
    status = 422
    title = "A record names one that is neither stored nor earlier in the batch; nothing was stored"
    sentence = "No such record in this conversation, nor earlier in the batch."


class RecordConflict(Pointed, Problem):
    """An id is taken by a record of other content (CA-3)."""

    code = "record_conflict"
    status = 409
    title = "A record of this type and id is there with other content; nothing was stored"
    sentence = "This id was used before for something else."


class SupersessionCycle(Pointed, Problem):
    """A memory would replace itself by way of others (CA-13)."""

    code = "supersession_cycle"
    status = 422
    title = "A memory would replace itself by way of others; nothing was stored"
    sentence = "What this replaces is, by way of others, replaced by it."


class PayloadMismatch(Problem):
    """The bytes are not those that the record declares; nothing of them is kept (CA-4)."""

    code = "payload_mismatch"
    status = 422
    title = "The size or the digest is another one than the record declares; nothing was stored"


class PayloadAwaited(Problem):
    """The record is there, and its bytes have not been sent yet (CA-4)."""

    code = "payload_awaited"
    status = 409
    title = "The bytes of this payload have not been sent yet"


class PolicyUnknown(Pointed, Problem):
    """No policy of this name in the version of the document that was asked for (CA-9)."""

    code = "policy_unknown"
    status = 422
    title = "There is no policy of this name in this version of the document"
    sentence = "No such policy in this version."


class CheckpointMissing(Pointed, Problem):
    """A resume without a checkpoint that its asker may see: it is never a blind query (CA-10)."""

    code = "checkpoint_missing"
    status = 422
    title = "The checkpoint is not there for its asker; a resume is never a blind query"
    sentence = "No such checkpoint for this participant."


class ContextBudgetExceeded(Problem):
    """What may never be left out does not fit: how much it needs, how much is allowed, and which it is (CA-12)."""

    code = "context_budget_exceeded"
    status = 422
    title = "What may never be left out does not fit into the budget; nothing was dropped in silence"

    def __init__(
        self, *, unit: str = "", needed: int = 0, allowed: int = 0, references: Iterable[str] = ()
    ) -> None:
        members = {"unit": unit, "needed": needed, "allowed": allowed, "references": list(references)}
        super().__init__(members=members if unit else {})


def refusal_of(error: sdk.AssemblyError) -> Problem:
    """Give the refusal that an error of the pure code stands for."""
    match error:
        case sdk.RecordsInvalid():
            return _invalid(error)
        case sdk.UnknownReference():
            return UnknownReference(error.pointer)
        case sdk.SupersessionCycle():
            return SupersessionCycle(error.pointer)
        case sdk.CheckpointMissing():
            return CheckpointMissing("/checkpoint")
        case sdk.ContextBudgetExceeded():
            return ContextBudgetExceeded(
                unit=error.unit, needed=error.needed, allowed=error.allowed, references=error.references
            )
    raise error


@contextmanager
def answered() -> Iterator[None]:
    """Raise what the pure code refuses as a refusal of the API."""
    try:
        yield
    except sdk.AssemblyError as error:
        raise refusal_of(error) from None


def _invalid(error: sdk.RecordsInvalid) -> Problem:
    if {problem.code for problem in error.problems} == {SupersessionCycle.code}:
        return SupersessionCycle(error.problems[0].pointer)
    problems = tuple(FieldProblem(one.pointer, one.code, one.detail) for one in error.problems)
    return InvalidInput(errors=problems)
