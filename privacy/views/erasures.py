"""Erasure over HTTP (PR-9)."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from privacy.models import ErasureRequest
from privacy.rules import erasures as rules
from privacy.selectors import erasures as selectors
from privacy.serializers import ErasureAnswer, ForgetWish
from privacy.services import erasures as services
from privacy.services.erasures import Asker
from privacy.types import Target
from workspaces import access, errors
from workspaces.http.openapi import EXAMPLE_ID, example, idempotency_key, operation
from workspaces.http.permissions import Needs
from workspaces.http.serializers import handle_value
from workspaces.http.views import ApiView
from workspaces.types import FieldProblem

_NEEDS = Needs(scope="admin", permission="request_erasure")
_ASKED: dict[str, Any] = {
    "request_id": EXAMPLE_ID,
    "reference": "ER-2026-0142",
    "status": "running",
    "blocked_by": None,
    "refusal": None,
    "duplicate_of": None,
    "target_kind": "profile",
    "target_id": EXAMPLE_ID,
    "requested_at": "2026-11-30T12:00:00Z",
    "due_on": "2026-12-30",
    "completed_at": None,
    "erased": {},
    "export_run_ids": [],
    "receipt_hash": None,
    "receipt": None,
}


class ForgetView(ApiView):
    tag = "Privacy"
    needs = {"POST": _NEEDS}

    @operation(
        summary="Ask for an erasure",
        body=ForgetWish,
        answer=ErasureAnswer,
        status=202,
        refusals=(errors.Conflict, errors.HotStoreUnavailable, errors.OutcomeUnknown),
        parameters=(idempotency_key(),),
        examples=(
            example("a person", {"target": "profile", "profile_id": EXAMPLE_ID}, is_request=True),
            example(
                "whom a handle names",
                {"target": "handle", "handle": {"type": "email", "value": "ana@example.com"}},
                is_request=True,
            ),
            example("taken", _ASKED),
        ),
    )
    def post(self, request: Request) -> Response:
        """Erase a profile, a handle, a conversation, a task or an object, and all that is kept of it (PR-9, PR-10).

        Unless the workspace asks for an approval, reads of it answer as if it never existed from this answer on.
        """
        shape = self.body(request, ForgetWish)
        target = _target(shape)
        return self.once(request, lambda: self._ask(target, shape.reason))

    def _ask(self, target: Target, reason: str) -> Response:
        now = timezone.now()
        asked = services.request_erasure(
            workspace=self.caller.workspace,
            target=target,
            asker=Asker(self.caller.actor),
            reason=reason,
            now=now,
        )
        return Response(answer(asked), status=202)


class ForgetStatusView(ApiView):
    tag = "Privacy"
    needs = {"GET": _NEEDS}

    @operation(
        summary="Follow an erasure",
        answer=ErasureAnswer,
        examples=(
            example("under way", _ASKED),
            example(
                "complete",
                {
                    **_ASKED,
                    "status": "completed",
                    "completed_at": "2026-11-30T12:00:03Z",
                    "erased": {"agent_states": 6, "handles": 2, "profiles": 1},
                    "receipt_hash": "9f0c" * 16,
                    "receipt": {"kind": "erasure-receipt"},
                },
            ),
        ),
    )
    def get(self, request: Request, request_id: UUID) -> Response:
        """Give a request, what it waits for, and once it is complete its signed receipt (PR-9, PR-14)."""
        return Response(answer(access.one(ErasureRequest, id=request_id)))


def answer(request: ErasureRequest) -> ErasureAnswer:
    """Describe a request on the wire."""
    return ErasureAnswer(
        request_id=str(request.id),
        reference=request.reference,
        status=rules.wire_status(request.status),
        blocked_by=selectors.blocked_by(request, now=timezone.now()),
        refusal=_refusal(request),
        duplicate_of=str(request.duplicate_of_id) if request.duplicate_of_id else None,
        target_kind=request.target,
        target_id=request.target_id,
        requested_at=request.requested_at,
        due_on=request.due_on.isoformat(),
        completed_at=request.ended_at if request.status == ErasureRequest.Status.COMPLETED else None,
        erased=request.erased,
        receipt_hash=request.receipt_hash or None,
        receipt=request.receipt,
    )


def _refusal(request: ErasureRequest) -> rules.Refusal | None:
    return next((word for word in rules.REFUSALS if word == request.refusal), None)


def _target(shape: ForgetWish) -> Target:
    given = {
        "profile": shape.profile_id,
        "handle": shape.handle,
        "conversation": shape.conversation_id,
        "task": shape.task_id,
        "object": shape.object_id,
    }
    members = {kind: "handle" if kind == "handle" else f"{kind}_id" for kind in given}
    if [kind for kind, value in given.items() if value is not None] != [shape.target]:
        sentence = "Exactly the member that `target` names is given."
        raise errors.InvalidInput(errors=(FieldProblem(f"/{members[shape.target]}", "required", sentence),))
    return Target(
        kind=shape.target,
        profile_id=shape.profile_id,
        handle=handle_value(shape.handle, "/handle") if shape.handle else None,
        scope_id=shape.conversation_id or shape.task_id or shape.object_id or "",
    )
