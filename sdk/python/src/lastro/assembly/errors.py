"""Refusals of context assembly. None carries content; each names the place or the ids that it is about."""

from dataclasses import dataclass

from lastro.errors import LastroError


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one place of a record: RFC 6901 pointer, a code, a sentence without content."""

    pointer: str
    code: str
    detail: str


class AssemblyError(LastroError):
    """A refusal of the runtime graph or of an assembly."""

    code = "assembly_error"


class RecordsInvalid(AssemblyError):
    """Records do not have the shape of CA-1 to CA-8: every problem with its pointer."""

    code = "invalid_input"

    def __init__(self, problems: tuple[Problem, ...], *, request_id: str | None = None) -> None:
        super().__init__(
            "; ".join(f"{problem.pointer}: {problem.code}" for problem in problems), request_id=request_id
        )
        self.problems = problems


class UnknownReference(AssemblyError):
    """A record names one that is neither stored nor earlier in the batch (CA-3)."""

    code = "unknown_reference"

    def __init__(self, pointer: str, *, request_id: str | None = None) -> None:
        super().__init__(pointer, request_id=request_id)
        self.pointer = pointer


class SupersessionCycle(AssemblyError):
    """A memory would replace itself by way of others (CA-13)."""

    code = "supersession_cycle"

    def __init__(self, pointer: str, *, request_id: str | None = None) -> None:
        super().__init__(pointer, request_id=request_id)
        self.pointer = pointer


class CheckpointMissing(AssemblyError):
    """A resume names no checkpoint, or one that is not there for its asker: it is never a blind query (CA-10)."""

    code = "checkpoint_missing"


class ContextBudgetExceeded(AssemblyError):
    """The protected minimum alone does not fit: what it needs and may, in tokens or bytes, and which (CA-12)."""

    code = "context_budget_exceeded"

    def __init__(
        self,
        *,
        unit: str,
        needed: int,
        allowed: int,
        references: tuple[str, ...] = (),
        request_id: str | None = None,
    ) -> None:
        super().__init__(f"{needed} {unit} needed, {allowed} allowed", request_id=request_id)
        self.unit = unit
        self.needed = needed
        self.allowed = allowed
        self.references = references
