"""The documents of a workspace over HTTP (PR-2)."""

from uuid import UUID

import msgspec
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from agentstate.types import TypeEffects
from privacy.rules import documents as rules
from privacy.serializers import (
    ApproveChange,
    ChangeAnswer,
    ChangeDetail,
    DenyChange,
    LiveDocumentAnswer,
    ProposeChange,
    PublishChange,
)
from privacy.services import approvals
from privacy.services import documents as services
from workspaces import access, documents, errors
from workspaces.http.openapi import EXAMPLE_ID, choice, example, idempotency_key, operation
from workspaces.http.permissions import Needs, require_needs
from workspaces.http.views import ApiView
from workspaces.models import ChangeRequest
from workspaces.rules.approvals import needed, needed_for_any
from workspaces.rules.documents import KINDS, schema
from workspaces.selectors.approvals import content_digest, counting_approvals, takes_approval
from workspaces.services.approvals import deny_request, withdraw_request
from workspaces.types import ChangeWish, FieldProblem

_ANYBODY = Needs(any_key=True, any_token=True)
_KIND = choice("kind", KINDS, "The kind of document.")
_CHANGE = {"diff_id": EXAMPLE_ID, "kind": "features", "replaces": 1, "effects": None, "publish_at": None}
_PUBLICATION = (
    errors.InvalidDocument,
    errors.WrongVersion,
    errors.Conflict,
    errors.HotStoreUnavailable,
    errors.OutcomeUnknown,
)


class DocumentView(ApiView):
    tag = "Documents"
    needs = {"GET": _ANYBODY}

    @operation(
        summary="Read the live version of a document",
        answer=LiveDocumentAnswer,
        parameters=(_KIND,),
        examples=(
            example("features", {"kind": "features", "version": 2, "document": {"enabled": ["agent_state"]}}),
        ),
    )
    def get(self, request: Request, kind: str) -> Response:
        """Give the live version; `kind` is features, object-types, masking, retention or assembly-policy."""
        rules.require_kind(kind)
        live = documents.live(kind)[kind]
        return Response(LiveDocumentAnswer(kind=kind, version=live.version, document=dict(live.body)))


class DocumentSchemaView(ApiView):
    tag = "Documents"
    needs = {"GET": _ANYBODY}

    @operation(
        summary="Read the JSON Schema of a document",
        answer={"type": "object", "description": "A JSON Schema."},
        parameters=(_KIND,),
        examples=(example("features", schema("features")),),
    )
    def get(self, request: Request, kind: str) -> Response:
        """Give the JSON Schema (2020-12) by which documents of a kind are checked."""
        rules.require_kind(kind)
        return Response(schema(kind))


class DocumentChangesView(ApiView):
    tag = "Documents"
    needs = {"POST": Needs(one_of=needed_for_any("propose"))}

    @operation(
        summary="Propose a version of a document",
        body=ProposeChange,
        answer=ChangeAnswer,
        status=201,
        refusals=(errors.InvalidDocument, errors.WrongVersion, errors.Conflict),
        parameters=(idempotency_key(),),
        examples=(
            example("proposed", {**_CHANGE, "status": "proposed", "version": None}),
            example(
                "switch working memory on",
                {
                    "kind": "features",
                    "document": {"enabled": ["agent_state"]},
                    "reason": "Go-live",
                    "replaces": 1,
                },
                is_request=True,
            ),
        ),
    )
    def post(self, request: Request) -> Response:
        """Propose a version; a person with the right then publishes it, with four eyes after another approved it."""
        shape = self.body(request, ProposeChange)
        wish = _wish(shape)
        require_needs(self.admitted, Needs(one_of=needed("propose", wish.kind)))
        return self.once(request, lambda: self._propose(wish))

    def _propose(self, wish: ChangeWish) -> Response:
        proposal = services.propose_change(
            wish=wish, author_id=self.caller.person_id, actor=self.caller.actor, now=timezone.now()
        )
        return Response(_answer(proposal.change, proposal.effects), status=201)


class DocumentChangeView(ApiView):
    tag = "Documents"
    needs = {"GET": _ANYBODY, "PUT": Needs(one_of=needed_for_any("propose"))}

    @operation(
        summary="Read a change",
        answer=ChangeDetail,
        examples=(
            example(
                "it waits for an approval",
                {
                    **_CHANGE,
                    "status": "proposed",
                    "version": None,
                    "document": {"enabled": ["agent_state"]},
                    "drop": [],
                    "reason": "Go-live",
                    "proposed_at": "2026-11-30T12:00:00Z",
                    "publish_at": None,
                    "needs_approval": True,
                    "approvals": 0,
                    "digest": "0" * 64,
                    "failure": "",
                },
            ),
        ),
    )
    def get(self, request: Request, change_id: UUID) -> Response:
        """Give a change, what it says, and whether it is approved."""
        return Response(_detail(_change(change_id)))

    @operation(
        summary="Edit one's own change",
        body=ProposeChange,
        answer=ChangeAnswer,
        refusals=(errors.InvalidDocument, errors.WrongVersion, errors.Conflict, errors.OwnChange),
        parameters=(idempotency_key(),),
        examples=(
            example("edited", {**_CHANGE, "status": "proposed", "version": None}),
            example(
                "switch nothing on",
                {"kind": "features", "document": {"enabled": []}, "reason": "Not yet", "replaces": 1},
                is_request=True,
            ),
        ),
    )
    def put(self, request: Request, change_id: UUID) -> Response:
        """Say something else in a change that is not published; its approvals count no more (PR-2b)."""
        wish = _wish(self.body(request, ProposeChange))
        require_needs(self.admitted, Needs(one_of=needed("propose", wish.kind)))
        return self.once(request, lambda: self._edit(change_id, wish))

    def _edit(self, change_id: UUID, wish: ChangeWish) -> Response:
        edited = services.edit_change(
            change_id=_change(change_id).id, wish=wish, by=self.caller.decider, now=timezone.now()
        )
        return Response(_answer(edited.change, edited.effects))


class DocumentApprovalView(ApiView):
    tag = "Documents"
    needs = {"POST": Needs(one_of=needed_for_any("approve", "publish"))}

    @operation(
        summary="Approve a proposed version",
        body=ApproveChange,
        is_body_optional=True,
        answer=ChangeAnswer,
        refusals=(*_PUBLICATION, errors.OwnChange),
        parameters=(idempotency_key(),),
        examples=(
            example("nothing more to say", {}, is_request=True),
            example("published", {**_CHANGE, "status": "published", "version": 2}),
            example(
                "approved, for somebody else to publish", {**_CHANGE, "status": "approved", "version": None}
            ),
        ),
    )
    def post(self, request: Request, change_id: UUID) -> Response:
        """Approve a change, and publish it where that is all it takes (PR-2, PR-2b).

        Without four eyes it publishes at once and takes the right to publish; the author may do so. With four eyes it
        takes the right to approve and another person than the author; if they may publish too, it is published in the
        same call, else its status is `approved` and it waits for `/publish`. With `publish_at` it is `scheduled`.
        """
        shape = self.body(request, ApproveChange) if self.raw else ApproveChange()
        return self.once(request, lambda: self._approve(change_id, shape))

    def _approve(self, change_id: UUID, shape: ApproveChange) -> Response:
        approved = approvals.approve(
            change_id=_change(change_id).id,
            reason=shape.reason or "",
            seen=shape.digest or "",
            by=self.caller.decider,
            now=timezone.now(),
        )
        return Response(_answer(approved))


class DocumentDenialView(ApiView):
    tag = "Documents"
    needs = DocumentApprovalView.needs

    @operation(
        summary="Deny a proposed version",
        body=DenyChange,
        answer=ChangeAnswer,
        refusals=(errors.Conflict, errors.OwnChange),
        parameters=(idempotency_key(),),
        examples=(
            example("denied", {**_CHANGE, "status": "denied", "version": None}),
            example("a word about why", {"reason": "Not before the holidays"}, is_request=True),
        ),
    )
    def post(self, request: Request, change_id: UUID) -> Response:
        """End a change without publishing it; its author withdraws it instead."""
        shape = self.body(request, DenyChange)
        return self.once(request, lambda: self._deny(change_id, shape.reason))

    def _deny(self, change_id: UUID, reason: str) -> Response:
        denied = deny_request(
            request_id=_change(change_id).id, reason=reason, by=self.caller.decider, now=timezone.now()
        )
        return Response(_answer(denied))


class DocumentWithdrawalView(ApiView):
    tag = "Documents"
    needs = {"POST": Needs(one_of=needed_for_any("propose"))}

    @operation(
        summary="Withdraw one's own change",
        body=DenyChange,
        answer=ChangeAnswer,
        refusals=(errors.Conflict, errors.OwnChange),
        parameters=(idempotency_key(),),
        examples=(
            example("withdrawn", {**_CHANGE, "status": "withdrawn", "version": None}),
            example("a word about why", {"reason": "No longer needed"}, is_request=True),
        ),
    )
    def post(self, request: Request, change_id: UUID) -> Response:
        """Take back a change that is not published; only its author may."""
        shape = self.body(request, DenyChange)
        return self.once(request, lambda: self._withdraw(change_id, shape.reason))

    def _withdraw(self, change_id: UUID, reason: str) -> Response:
        withdrawn = withdraw_request(
            request_id=_change(change_id).id, reason=reason, by=self.caller.decider, now=timezone.now()
        )
        return Response(_answer(withdrawn))


class DocumentPublicationView(ApiView):
    tag = "Documents"
    needs = {"POST": Needs(one_of=needed_for_any("publish", "break_glass"))}

    @operation(
        summary="Publish a version that has what it takes",
        body=PublishChange,
        is_body_optional=True,
        answer=ChangeAnswer,
        refusals=(*_PUBLICATION, errors.ApprovalRequired),
        parameters=(idempotency_key(),),
        examples=(
            example("nothing more to say", {}, is_request=True),
            example(
                "without approval", {"break_glass": True, "reason": "The bot leaks orders"}, is_request=True
            ),
            example("published", {**_CHANGE, "status": "published", "version": 2}),
        ),
    )
    def post(self, request: Request, change_id: UUID) -> Response:
        """Publish an approved change, its author too; or break the glass, with a reason (PR-2b).

        A change with `publish_at` is `scheduled` and published at that time. To break the glass takes `break_glass`,
        for `features` also `change_features`; it publishes at once and tells every security person.
        """
        shape = self.body(request, PublishChange) if self.raw else PublishChange()
        if shape.break_glass and shape.reason is None:
            problem = FieldProblem("/reason", "required", "This member is required.")
            raise errors.InvalidInput(errors=(problem,))
        return self.once(request, lambda: self._publish(change_id, shape))

    def _publish(self, change_id: UUID, shape: PublishChange) -> Response:
        change, by, now, seen = (
            _change(change_id),
            self.caller.decider,
            timezone.now(),
            shape.digest or "",
        )
        if shape.break_glass:
            why = shape.reason or ""
            done = approvals.break_glass(change_id=change.id, reason=why, seen=seen, by=by, now=now)
        else:
            done = approvals.publish(
                change_id=change.id, reason=shape.reason or "", seen=seen, by=by, now=now
            )
        return Response(_answer(done))


def _wish(shape: ProposeChange) -> ChangeWish:
    kind = shape.kind or shape.type
    if kind is None:
        raise errors.InvalidInput(errors=(FieldProblem("/kind", "required", "This member is required."),))
    return ChangeWish(
        kind=kind,
        document=shape.document,
        reason=shape.reason,
        replaces=shape.replaces if shape.replaces is not None else documents.live(kind)[kind].version,
        drop=shape.drop,
        publish_at=shape.publish_at,
    )


def _change(change_id: UUID) -> ChangeRequest:
    """Give a change of a document; changes of four eyes and of roles are not on this way."""
    return access.one(ChangeRequest.objects.select_related("published"), id=change_id, kind__in=KINDS)


def _status(change: ChangeRequest) -> str:
    is_approved = change.status == ChangeRequest.Status.PROPOSED and bool(counting_approvals(change))
    return "approved" if is_approved else change.status


def _answer(change: ChangeRequest, effects: TypeEffects | None = None) -> ChangeAnswer:
    return ChangeAnswer(
        diff_id=str(change.id),
        kind=change.kind,
        status=_status(change),  # type: ignore[arg-type]
        replaces=change.replaces,
        version=change.published.version if change.published else None,
        effects=effects,
        publish_at=change.publish_at,
    )


def _detail(change: ChangeRequest) -> ChangeDetail:
    return ChangeDetail(
        **msgspec.structs.asdict(_answer(change)),
        document=change.body,
        drop=change.drop,
        reason=change.reason,
        proposed_at=change.proposed_at,
        needs_approval=takes_approval(change),
        approvals=len(counting_approvals(change)),
        digest=content_digest(change),
        failure=change.failure,
    )
