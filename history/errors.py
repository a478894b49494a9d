"""The refusals of history, by the codes of the SDK: a client raises what its own stores would (HI-20)."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

from lastro.history import errors as sdk
from workspaces.errors import Problem
from workspaces.types import FieldProblem


class HistoryIdentityMissing(Problem):
    code = "decision_history_identity_missing"
    status = 422
    title = "A session is named by session_id, or by run_id, invocation_id and agent_ref together"


class HistoryNotFound(Problem):
    """Unknown, another source's, expired or erased: one answer (X11)."""

    code = "decision_history_not_found"
    status = 404
    title = "There is no such session"


class HistoryMismatch(Problem):
    """What the first decision pinned, or whom the session names, is something else (HI-1)."""

    code = "decision_history_mismatch"
    status = 409
    title = (
        "The session is pinned to another provider, model, interface, content mode, conversation or person"
    )


class HistoryBusy(Problem):
    """A decision is running: `since` when and by which `worker` label (HI-5)."""

    code = "decision_history_busy"
    status = 409
    title = "A decision is running on this session"

    def __init__(self, *, since: datetime | None = None, worker: str = "") -> None:
        super().__init__(members={"since": since, "worker": worker} if since else {})


class HistoryReservationLost(Problem):
    """The token does not hold now: the session was recovered, or the decision has ended (HI-5)."""

    code = "decision_history_reservation_lost"
    status = 409
    title = "The reservation holds no more; nothing was stored"


class HistoryLimitExceeded(Problem):
    """A bound would be passed: which, how much is needed and how much is allowed; nothing was stored (HI-4, HI-9)."""

    code = "decision_history_limit_exceeded"
    status = 422
    title = "A bound would be passed; nothing was stored and nothing older was dropped"

    def __init__(
        self, *, bound: str = "", needed: int = 0, allowed: int = 0, calls: Iterable[str] = ()
    ) -> None:
        members = {"bound": bound, "needed": needed, "allowed": allowed, "calls": list(calls)}
        super().__init__(members=members if bound else {})


class HistoryConflict(Problem):
    """A key or an id was used before for something else (HI-21)."""

    code = "decision_history_conflict"
    status = 409
    title = "A key or an id was used before for something else"


class HistoryInvalid(Problem):
    """What is stored breaks a rule of its provider, and no repair was asked for: which rule."""

    code = "decision_history_invalid"
    status = 409
    title = "What is stored breaks a rule of its provider"

    def __init__(self, *, rule: str = "", item: str = "", calls: Iterable[str] = ()) -> None:
        super().__init__(members={"rule": rule, "item": item, "calls": list(calls)} if rule else {})


class HistoryMessageInvalid(Problem):
    code = "decision_history_message_invalid"
    status = 422
    title = "A message cannot be kept as it is"


class HistoryRecoveryRefused(Problem):
    code = "decision_history_recovery_refused"
    status = 409
    title = "A reservation is freed only with the word that its worker has stopped"


class HistorySummaryInvalid(Problem):
    code = "decision_history_summary_invalid"
    status = 422
    title = "The summary is empty, too long, or covers something else than what left"


def refusal_of(error: sdk.DecisionHistoryError) -> Problem:
    """Give the refusal that an error of the pure code stands for."""
    match error:
        case sdk.DecisionHistoryLimitExceeded():
            return HistoryLimitExceeded(
                bound=error.bound, needed=error.needed, allowed=error.allowed, calls=error.calls
            )
        case sdk.DecisionHistoryInvalid():
            return HistoryInvalid(rule=error.rule, item=error.item, calls=error.calls)
        case sdk.DecisionHistoryMessageInvalid():
            # What the pure code calls the append is on the wire the request's items.
            pointer = re.sub("^/append/", "/items/", error.pointer)
            return HistoryMessageInvalid(errors=(FieldProblem(pointer, "not_keepable", error.reason),))
        case sdk.DecisionHistoryIdentityMissing():
            return HistoryIdentityMissing()
    return _BY_CODE[error.code]()


_BY_CODE: dict[str, Callable[[], Problem]] = {
    kind.code: kind
    for kind in (
        HistoryMismatch,
        HistoryNotFound,
        HistoryConflict,
        HistorySummaryInvalid,
        HistoryReservationLost,
    )
}


@contextmanager
def answered() -> Iterator[None]:
    """Raise what the pure code refuses as a refusal of the API."""
    try:
        yield
    except sdk.DecisionHistoryError as error:
        raise refusal_of(error) from None
