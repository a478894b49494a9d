"""The documents of a workspace over HTTP (PR-2)."""

from uuid import UUID

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from agentstate.types import TypeEffects
from privacy.rules import documents as rules
from privacy.serializers import ApproveChange, ChangeAnswer, LiveDocumentAnswer, ProposeChange
from privacy.services import documents as services
from privacy.types import ChangeWish
from workspaces import access, documents, errors
from workspaces.http.openapi import EXAMPLE_ID, choice, example, idempotency_key, operation
from workspaces.http.permissions import Needs, require_needs
from workspaces.http.views import ApiView
from workspaces.models import DocumentChange
from workspaces.rules.documents import KINDS, schema
from workspaces.types import FieldProblem

_ANYBODY = Needs(any_key=True, any_token=True)
_KIND = choice("kind", KINDS, "The kind of document.")
_CHANGE = {"diff_id": EXAMPLE_ID, "kind": "features", "replaces": 1, "effects": None}


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
    needs = {"POST": Needs(one_of=rules.PROPOSING)}

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
        """Propose a version; a person with the right then publishes it (PR-2)."""
        shape = self.body(request, ProposeChange)
        kind = shape.kind or shape.type
        if kind is None:
            raise errors.InvalidInput(errors=(FieldProblem("/kind", "required", "This member is required."),))
        require_needs(self.admitted, Needs(permission=rules.proposing_permission(kind)))
        return self.once(request, lambda: self._propose(request, kind, shape))

    def _propose(self, request: Request, kind: str, shape: ProposeChange) -> Response:
        replaces = shape.replaces if shape.replaces is not None else documents.live(kind)[kind].version
        wish = ChangeWish(
            kind=kind, document=shape.document, reason=shape.reason, replaces=replaces, drop=shape.drop
        )
        proposal = services.propose_change(
            wish=wish, author_id=self.caller.person_id, actor=self.caller.actor, now=timezone.now()
        )
        return Response(_answer(proposal.change, proposal.effects), status=201)


class DocumentApprovalView(ApiView):
    tag = "Documents"
    needs = {"POST": Needs(one_of=rules.PUBLISHING)}

    @operation(
        summary="Publish a proposed version",
        body=ApproveChange,
        is_body_optional=True,
        answer=ChangeAnswer,
        refusals=(
            errors.InvalidDocument,
            errors.WrongVersion,
            errors.Conflict,
            errors.HotStoreUnavailable,
            errors.OutcomeUnknown,
        ),
        parameters=(idempotency_key(),),
        examples=(
            example("nothing more to say", {}, is_request=True),
            example("published", {**_CHANGE, "status": "published", "version": 2}),
        ),
    )
    def post(self, request: Request, change_id: UUID) -> Response:
        """Publish a change; without four eyes the author may do so (PR-2)."""
        if self.raw:
            self.body(request, ApproveChange)
        return self.once(request, lambda: self._publish(request, change_id))

    def _publish(self, request: Request, change_id: UUID) -> Response:
        change = access.one(DocumentChange, id=change_id)
        require_needs(self.admitted, Needs(permission=rules.publishing_permission(change.kind)))
        services.publish_change(
            change_id=change_id,
            publisher_id=self.caller.person_id,
            actor=self.caller.actor,
            now=timezone.now(),
        )
        return Response(_answer(access.one(DocumentChange.objects.select_related("published"), id=change_id)))


def _answer(change: DocumentChange, effects: TypeEffects | None = None) -> ChangeAnswer:
    return ChangeAnswer(
        diff_id=str(change.id),
        kind=change.kind,
        status="published" if change.published else "proposed",
        replaces=change.replaces,
        version=change.published.version if change.published else None,
        effects=effects,
    )
