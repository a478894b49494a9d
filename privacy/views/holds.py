"""Legal holds over HTTP (PR-16)."""

from datetime import datetime
from uuid import UUID

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from privacy.errors import NotPossibleNow
from privacy.selectors import holds as selectors
from privacy.serializers import HoldAnswer, HoldList, HoldWish, LiftWish
from privacy.services import holds as services
from privacy.types import Target
from workspaces import access, errors
from workspaces.http.openapi import EXAMPLE_ID, cursor, example, idempotency_key, operation
from workspaces.http.permissions import Needs
from workspaces.http.views import ApiView
from workspaces.models import Hold
from workspaces.paging import page
from workspaces.types import FieldProblem

_HELD = {
    "hold_id": EXAMPLE_ID,
    "status": "standing",
    "target": "profile",
    "target_id": EXAMPLE_ID,
    "reason": "Case 2026-117",
    "placed_by": "privacy@example.com",
    "placed_at": "2026-11-30T12:00:00Z",
    "ends_at": "2027-05-31T00:00:00Z",
    "lifted_by": None,
    "lifted_at": None,
    "lift_reason": None,
    "settled_at": None,
}
_WISH = {
    "target": "profile",
    "profile_id": EXAMPLE_ID,
    "reason": "Case 2026-117",
    "ends_at": "2027-05-31T00:00:00Z",
}


class HoldsView(ApiView):
    tag = "Privacy"
    needs = {
        "GET": Needs(one_of=("place_hold", "lift_hold", "view_audit")),
        "POST": Needs(permission="place_hold"),
    }

    @operation(
        summary="List the legal holds",
        answer=HoldList,
        refusals=(errors.InvalidInput,),
        parameters=(cursor(),),
        examples=(example("one hold", {"items": [_HELD], "next_cursor": None}),),
    )
    def get(self, request: Request) -> Response:
        """List the holds that stand and those that have ended, newest first."""
        listed = page(selectors.holds(), by="placed_at", older=request.query_params.get("cursor"))
        now = timezone.now()
        return Response(HoldList(items=[answer(hold, now) for hold in listed.rows], next_cursor=listed.older))

    @operation(
        summary="Place a legal hold",
        body=HoldWish,
        answer=HoldAnswer,
        status=201,
        refusals=(errors.NotFound, errors.Conflict, NotPossibleNow),
        parameters=(idempotency_key(),),
        examples=(example("on a person", _WISH, is_request=True), example("placed", _HELD)),
    )
    def post(self, request: Request) -> Response:
        """Keep everything about a person, or of a conversation or task, from being erased or lost (PR-16).

        It takes a person with the right. Agents read and write as before; what they overwrite is kept until the end.
        """
        shape = self.body(request, HoldWish)
        wish = services.HoldWish(target=_target(shape), reason=shape.reason, ends_at=shape.ends_at)
        return self.once(request, lambda: self._place(wish))

    def _place(self, wish: services.HoldWish) -> Response:
        now = timezone.now()
        hold = services.place_hold(
            workspace=self.caller.workspace,
            wish=wish,
            person_id=self.caller.person_id,
            actor=self.caller.actor,
            now=now,
        )
        return Response(answer(hold, now), status=201)


class HoldLiftView(ApiView):
    tag = "Privacy"
    needs = {"POST": Needs(permission="lift_hold")}

    @operation(
        summary="Lift a legal hold",
        body=LiftWish,
        answer=HoldAnswer,
        refusals=(errors.NotFound, errors.Conflict, NotPossibleNow),
        parameters=(idempotency_key(),),
        examples=(
            example("the case is closed", {"reason": "Case closed"}, is_request=True),
            example("lifted", {**_HELD, "status": "lifted", "lifted_at": "2026-12-01T09:00:00Z"}),
        ),
    )
    def post(self, request: Request, hold_id: UUID) -> Response:
        """End a hold before its time; erasures that waited for it go on (PR-16)."""
        shape = self.body(request, LiftWish)
        return self.once(request, lambda: self._lift(hold_id, shape.reason))

    def _lift(self, hold_id: UUID, reason: str) -> Response:
        now = timezone.now()
        services.lift_hold(
            hold_id=hold_id,
            reason=reason,
            person_id=self.caller.person_id,
            actor=self.caller.actor,
            now=now,
        )
        return Response(answer(access.one(selectors.holds(), id=hold_id), now))


def answer(hold: Hold, now: datetime) -> HoldAnswer:
    """Describe a hold on the wire."""
    return HoldAnswer(
        hold_id=str(hold.id),
        status=selectors.status_of(hold, now=now),
        target=hold.scope_kind or "profile",
        target_id=bytes(hold.scope_hash).hex() if hold.scope_hash is not None else str(hold.profile_id),
        reason=hold.reason,
        placed_by=hold.placed_by.email if hold.placed_by else "",
        placed_at=hold.placed_at,
        ends_at=hold.ends_at,
        lifted_by=hold.lifted_by.email if hold.lifted_by else None,
        lifted_at=hold.lifted_at,
        lift_reason=hold.lift_reason or None,
        settled_at=hold.settled_at,
    )


def _target(shape: HoldWish) -> Target:
    given = {
        "profile": shape.profile_id,
        "conversation": shape.conversation_id,
        "task": shape.task_id,
    }
    if [kind for kind, value in given.items() if value is not None] != [shape.target]:
        sentence = "Exactly the member that `target` names is given."
        raise errors.InvalidInput(errors=(FieldProblem(f"/{shape.target}_id", "required", sentence),))
    return Target(
        kind=shape.target,
        profile_id=shape.profile_id,
        scope_id=shape.conversation_id or shape.task_id or "",
    )
