"""Refusals of conversation history. They are ours: none is blamed on a model, none asks a provider again (HI-20)."""

from collections.abc import Mapping

from lastro.errors import LastroError


class DecisionHistoryError(LastroError):
    """A refusal of history; nothing was stored and the old record is as it was."""

    code = "decision_history_error"


class DecisionHistoryIdentityMissing(DecisionHistoryError):
    """A session lacks its namespace, or its session id or run, invocation and agent together (HI-1)."""

    code = "decision_history_identity_missing"


class DecisionHistoryMismatch(DecisionHistoryError):
    """Provider, model, interface or content mode differ from those pinned at the first decision (HI-1)."""

    code = "decision_history_mismatch"


class DecisionHistoryBusy(DecisionHistoryError):
    """A decision is running on the session: since when, and the label of its worker (HI-5)."""

    code = "decision_history_busy"

    def __init__(self, *, since: float, worker: str = "", request_id: str | None = None) -> None:
        super().__init__("a decision is running on this session", request_id=request_id)
        self.since = since
        self.worker = worker


class DecisionHistoryLimitExceeded(DecisionHistoryError):
    """A bound would be passed: which one, what is needed and what is allowed (HI-4, HI-9)."""

    code = "decision_history_limit_exceeded"

    def __init__(
        self,
        *,
        bound: str,
        needed: int,
        allowed: int,
        calls: tuple[str, ...] = (),
        request_id: str | None = None,
    ) -> None:
        names = f"; open or late calls: {', '.join(calls)}" if calls else ""
        super().__init__(f"{bound}: {needed} needed, {allowed} allowed{names}", request_id=request_id)
        self.bound = bound
        self.needed = needed
        self.allowed = allowed
        self.calls = calls


class DecisionHistoryInvalid(DecisionHistoryError):
    """What is stored breaks a rule of its provider, and no repair was asked for: the rule, and its calls."""

    code = "decision_history_invalid"

    def __init__(
        self, *, rule: str, item: str = "", calls: tuple[str, ...] = (), request_id: str | None = None
    ) -> None:
        names = f": {', '.join(calls)}" if calls else ""
        super().__init__(f"rule {rule} is broken{names}", request_id=request_id)
        self.rule = rule
        self.item = item
        self.calls = calls


class DecisionHistoryMessageInvalid(DecisionHistoryError):
    """A message cannot be kept: no JSON object, a lone surrogate, a number that is none; with its place (X6)."""

    code = "decision_history_message_invalid"

    def __init__(self, *, pointer: str, reason: str, request_id: str | None = None) -> None:
        super().__init__(f"{pointer}: {reason}", request_id=request_id)
        self.pointer = pointer
        self.reason = reason


class DecisionHistoryConflict(DecisionHistoryError):
    """A dedupe key was used before for other messages (HI-21)."""

    code = "decision_history_conflict"


class DecisionHistoryNotFound(DecisionHistoryError):
    """No such session, expired, or another namespace's: one answer for all of them (X11)."""

    code = "decision_history_not_found"


class DecisionHistoryErased(DecisionHistoryError):
    """An erasure took the session or voided the reservation (HI-5, PR-12)."""

    code = "subject_erased"


class DecisionHistoryRecoveryRefused(DecisionHistoryError):
    """A reservation is freed only with the word that its worker has stopped (HI-5)."""

    code = "decision_history_recovery_refused"


class DecisionHistoryReservationLost(DecisionHistoryError):
    """The reservation was freed by a recovery while its decision still ran; the decision is not stored (HI-5)."""

    code = "decision_history_reservation_lost"


class DecisionHistoryStorageFailed(DecisionHistoryError):
    """The store's file or connection could not be used: locked, full, damaged, closed; the old record stands."""

    code = "decision_history_storage_failed"


class DecisionHistoryStorageUnsafe(DecisionHistoryError):
    """The file of a store is a link, no regular file, or in a folder that others can write (HI-7)."""

    code = "decision_history_storage_unsafe"


class DecisionHistorySummaryInvalid(DecisionHistoryError):
    """A summary is empty, too long, not text, or covers other exchanges than those that left (HI-19)."""

    code = "decision_history_summary_invalid"


class ProviderContextWindowExceeded(DecisionHistoryError):
    """The latest exchange and the observations alone do not fit the context ceiling (HI-15)."""

    code = "provider_context_window_exceeded"

    def __init__(self, *, reserved: int, allowed: int) -> None:
        super().__init__(f"{reserved} tokens needed, {allowed} allowed")
        self.reserved = reserved
        self.allowed = allowed


class ProviderContextCountUnavailable(DecisionHistoryError):
    """The request could not be counted, or holds what cannot be counted (HI-15, HI-16)."""

    code = "provider_context_count_unavailable"


class AgentDecisionProviderSchemaViolation(LastroError):
    """A response came without a valid typed decision; the diagnosis is in `provider_error_code` (HI-20)."""

    code = "agent_decision_provider_schema_violation"

    def __init__(self, provider_error_code: str, *, request_id: str | None = None) -> None:
        super().__init__(provider_error_code, request_id=request_id)
        self.provider_error_code = provider_error_code


class AgentDecisionProviderUnavailable(LastroError):
    """The provider or the way to it failed (HI-20)."""

    code = "agent_decision_provider_unavailable"

    def __init__(
        self, detail: str = "", *, provider_error_code: str = "", request_id: str | None = None
    ) -> None:
        super().__init__(detail, request_id=request_id)
        self.provider_error_code = provider_error_code


_REFUSALS: tuple[type[LastroError], ...] = (
    *DecisionHistoryError.__subclasses__(),
    AgentDecisionProviderSchemaViolation,
)
BY_CODE: Mapping[str, type[LastroError]] = {kind.code: kind for kind in _REFUSALS}
"""The refusals by their code, as they travel."""
