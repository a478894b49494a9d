"""Every refusal of the SDK: a class with a code and what the rule or the server said, never content (SD-11)."""

from collections.abc import Mapping, Sequence


class LastroError(Exception):
    """What this package raises. `code` is stable; `request_id` is the server's, where one answered."""

    code: str = "error"

    def __init__(self, detail: str = "", *, request_id: str | None = None) -> None:
        super().__init__(detail or self.code)
        self.request_id = request_id


class InvalidCall(LastroError, ValueError):
    """An argument is missing or of no acceptable form; nothing was sent."""

    code = "invalid_call"


class InvalidBody(InvalidCall):
    """A body is no JSON object that the server could take: its depth, a number, a key, a lone surrogate (WM-25)."""

    code = "invalid_body"


class ClientClosed(LastroError):
    """The client was closed before the call."""

    code = "client_closed"


class ReplayEnded(LastroError):
    """A state that was made inside `replay()` is used after it (SD-6)."""

    code = "replay_ended"


class OutboxFull(LastroError):
    """The bound of the outbox is reached; the new write is not kept (SD-4)."""

    code = "outbox_full"

    def __init__(self, *, bound: str, needed: int, allowed: int) -> None:
        super().__init__(f"{bound}: {needed} needed, {allowed} allowed")
        self.bound = bound
        self.needed = needed
        self.allowed = allowed


class OutboxUnsafe(LastroError):
    """The file of an outbox is a link, no regular file, or in a folder that others can write (SD-4)."""

    code = "outbox_unsafe"


class OutboxUnavailable(LastroError):
    """The file of an outbox could not be read or written; the new write is not kept (SD-4)."""

    code = "outbox_unavailable"


class ServerRefusal(LastroError):
    """The server answered that it will not do this, now or later. `status` is that of HTTP.

    `pointers` name the members of the request that the server points at, where it does (PL-8).
    """

    code = "refused"

    def __init__(
        self, code: str = "", *, status: int, request_id: str | None = None, pointers: Sequence[str] = ()
    ) -> None:
        super().__init__(f"{code or self.code} ({status})", request_id=request_id)
        self.code = code or self.code
        self.status = status
        self.pointers = tuple(pointers)


class Unauthenticated(ServerRefusal):
    """The key is unknown, revoked or expired."""

    code = "unauthenticated"


class NotAllowed(ServerRefusal):
    """The key may not do that: it lacks the scope, or its agents do not include this one."""

    code = "forbidden"


class FeatureOff(ServerRefusal):
    """The feature is off in this workspace (WM-1)."""

    code = "feature_off"


class InvalidRequest(ServerRefusal):
    """The server does not take the request as it is: its form, a value's type, its size."""

    code = "invalid_input"


class SubjectErased(ServerRefusal):
    """What the write is about was erased, and the write is from before, or may be (PR-12)."""

    code = "subject_erased"


class SubjectMismatch(ServerRefusal):
    """The state already names another person (WM-6)."""

    code = "subject_mismatch"


class StateConflict(ServerRefusal):
    """The stored version is another one than the write demands; `update` raises it after its last try (SD-2)."""

    code = "agent_state_conflict"


class RecordTaken(ServerRefusal):
    """A record of this id is in the graph, and says something else (CA-3)."""

    code = "record_conflict"


class ReferenceUnknown(InvalidRequest):
    """A record names one that is not in the graph of its conversation; `pointers` say where (CA-3)."""

    code = "unknown_reference"


class SupersedesItself(InvalidRequest):
    """A memory would replace itself by way of others (CA-13)."""

    code = "supersession_cycle"


class CheckpointUnknown(InvalidRequest):
    """A resume names no checkpoint, or one that its asker may not see (CA-10)."""

    code = "checkpoint_missing"


class ContextTooSmall(InvalidRequest):
    """What may not be left out of a context does not fit its budget (CA-12).

    `unit` is `tokens` or `bytes`; `references` are the ids of what is protected.
    """

    code = "context_budget_exceeded"

    def __init__(
        self,
        code: str = "",
        *,
        status: int,
        request_id: str | None = None,
        pointers: Sequence[str] = (),
        unit: str = "",
        needed: int = 0,
        allowed: int = 0,
        references: Sequence[str] = (),
    ) -> None:
        super().__init__(code, status=status, request_id=request_id, pointers=pointers)
        self.unit, self.needed, self.allowed = unit, needed, allowed
        self.references = tuple(references)


class OutOfReach(LastroError):
    """The server did not answer in time, or not now, something that nobody here can answer in its place."""

    code = "unreachable"


class UnexpectedAnswer(ServerRefusal):
    """Something answered that does not speak as the server does: look at `base_url` and what stands before it."""

    code = "unexpected_answer"


BY_CODE: Mapping[str, type[ServerRefusal]] = {
    kind.code: kind
    for kind in (
        Unauthenticated,
        NotAllowed,
        FeatureOff,
        SubjectErased,
        SubjectMismatch,
        StateConflict,
        RecordTaken,
        ReferenceUnknown,
        SupersedesItself,
        CheckpointUnknown,
        ContextTooSmall,
    )
}
BY_STATUS: Mapping[int, type[ServerRefusal]] = {
    400: InvalidRequest,
    401: Unauthenticated,
    403: NotAllowed,
    410: SubjectErased,
    412: StateConflict,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
}


def refusal(
    *, code: str, status: int, request_id: str | None = None, pointers: Sequence[str] = ()
) -> ServerRefusal:
    """Give the error that stands for a refusal of the server: by its code, else by its status."""
    kind = BY_CODE.get(code) or BY_STATUS.get(status, ServerRefusal)
    return kind(code, status=status, request_id=request_id, pointers=pointers)
