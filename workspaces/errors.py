"""Every refusal that belongs to the ground floor: a class with a code, a status and a sentence (PL-8).

`CATALOGUE` in workspaces.http.exceptions collects these classes of every app; docs/reference/errors.md is made from it.
What the catcher does next decides the base class: a `Problem` is reported, an `Unavailable` may be tried again later.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from workspaces.types import Caller, FieldProblem


class Problem(Exception):
    """A refusal that is answered as an RFC 9457 problem; `members` are those that its kind alone has."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Something went wrong on the server"

    def __init__(
        self,
        detail: str = "",
        *,
        errors: tuple[FieldProblem, ...] = (),
        members: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(self.code)
        self.detail = detail
        self.errors = errors
        self.members = members


class Unavailable(Problem):
    code = "unavailable"
    status = 503
    title = "A store does not answer at the moment"
    retry_after_seconds: ClassVar[int] = 1


class HotStoreUnavailable(Unavailable):
    """A write that cannot mark the hot store stores nothing (WM-20)."""

    code = "hot_store_unavailable"
    title = "The hot store does not answer; nothing was stored"


class OutcomeUnknown(Unavailable):
    """A commit whose answer or publication was lost (WM-20)."""

    code = "outcome_unknown"
    title = "Whether the write was stored is not known; send it again or read"


class RateLimited(Problem):
    """A bucket of the key or of the address is empty (PL-5); `caller` is who would have been admitted, where known."""

    code = "rate_limited"
    status = 429
    title = "Too many requests"

    def __init__(self, spent: Any = None, caller: Caller | None = None) -> None:
        super().__init__()
        self.spent, self.caller = spent, caller


class InvalidJson(Problem):
    code = "invalid_json"
    status = 400
    title = "The body is not acceptable JSON"


class InvalidInput(Problem):
    code = "invalid_input"
    status = 422
    title = "The request does not have the documented form"


class Unauthenticated(Problem):
    code = "unauthenticated"
    status = 401
    title = "No valid key came with the request"


class Forbidden(Problem):
    code = "forbidden"
    status = 403
    title = "This key may not do that"


class ScopeMissing(Problem):
    code = "scope_missing"
    status = 403
    title = "The key lacks the scope that this route asks for"


class PermissionMissing(Problem):
    code = "permission_missing"
    status = 403
    title = "The person lacks the permission that this asks for"


class AgentNotAllowed(Problem):
    code = "agent_not_allowed"
    status = 403
    title = "The key lists its agents, and this one is not among them"


class NotFound(Problem):
    code = "not_found"
    status = 404
    title = "There is nothing here"


class FeatureOff(Problem):
    code = "feature_off"
    status = 404
    title = "The feature is off in this workspace"


class MethodNotAllowed(Problem):
    code = "method_not_allowed"
    status = 405
    title = "The route does not take this method"


class Conflict(Problem):
    code = "conflict"
    status = 409
    title = "The request contradicts an earlier one"


class SubjectErased(Problem):
    """What the write is about was erased, and the write is from before, or may be (PR-12)."""

    code = "subject_erased"
    status = 410
    title = "This was erased, and the write is older or does not say that it is newer"


class PayloadTooLarge(Problem):
    code = "payload_too_large"
    status = 413
    title = "The body is over the limit of the route"


class UnsupportedMediaType(Problem):
    code = "unsupported_media_type"
    status = 415
    title = "The body must be application/json"


class WrongVersion(Problem):
    code = "wrong_version"
    status = 412
    title = "The live version is another one than the request replaces"


class InvalidDocument(Problem):
    code = "invalid_document"
    status = 422
    title = "The document cannot be published as it is"


class ApprovalRequired(Problem):
    """Four eyes hold, and nobody else has approved exactly this (PR-2b)."""

    code = "approval_required"
    status = 409
    title = "This takes the approval of another person"


class OwnChange(Problem):
    """The author of a change never approves it (PR-2b)."""

    code = "own_change"
    status = 403
    title = "Nobody approves a change of their own"


class RoleNotAllowed(Problem):
    code = "role_not_allowed"
    status = 403
    title = "This change of roles is not allowed"


class SecondFactorStays(Problem):
    """Somebody's second factor is not theirs to take away (PL-4)."""

    code = "second_factor_stays"
    status = 403
    title = "This second factor stays"


class WorkspaceClosed(Problem):
    """Nothing is made or changed in a workspace that is closed (PL-5b)."""

    code = "workspace_closed"
    status = 409
    title = "The workspace is closed"


class InvitationInvalid(Problem):
    code = "invitation_invalid"
    status = 404
    title = "The invitation is unknown, used or expired"


class KeyDestroyed(Problem):
    """What the key sealed cannot be read any more, by anybody."""

    code = "key_destroyed"
    status = 410
    title = "What was stored here has been erased"


class Tampered(Problem):
    """A ciphertext does not belong where it stands."""

    code = "stored_data_damaged"
    status = 500
    title = "What is stored here does not verify"


class NotSigned(Exception):
    """A document's signature is not by a given key, or not over what the document says now (PR-20b)."""


class ChainDamaged(Exception):
    """An audit chain does not verify: nothing of it may be removed (PR-22)."""
