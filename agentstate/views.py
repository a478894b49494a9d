"""Working memory over HTTP (WM-7 to WM-23)."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from agentstate.access import place_of
from agentstate.errors import AgentStateConflict, InvalidFieldValue, ScopeKindNotDeclared, SubjectMismatch
from agentstate.hotstates import Look, look_for
from agentstate.selectors.states import read_state
from agentstate.serializers import DeleteState, ProfileStates, ReadState, WriteState, state_write
from agentstate.services import profiles, states
from agentstate.services.erasures import note_read
from agentstate.types import StateDeletion, StateRead, StoredState
from workspaces import errors
from workspaces.hotstore import COMMIT_WITHIN_SECONDS, Name
from workspaces.http.hot import HotView
from workspaces.http.idempotency import key_of
from workspaces.http.openapi import EXAMPLE_ID, cursor, example, idempotency_key, operation
from workspaces.http.permissions import Needs
from workspaces.http.views import ApiView
from workspaces.rules.agents import require_agent
from workspaces.scopes import scope_of
from workspaces.types import WorkspaceRef

_AGENT_STATE = Needs(feature="agent_state", scope="agent_state")
_SCOPE = {"kind": "conversation", "id": "c-4711"}
_EPOCH = "pq8xK2vTz1Wb"


class AgentStateView(HotView):
    shape = WriteState
    # Nobody waits for a write that must not commit any more (WM-20).
    seconds = COMMIT_WITHIN_SECONDS
    tag = "Working memory"
    needs = {"PUT": _AGENT_STATE}

    @operation(
        summary="Write a state",
        body=WriteState,
        answer=StoredState,
        refusals=(
            errors.AgentNotAllowed,
            AgentStateConflict,
            InvalidFieldValue,
            SubjectMismatch,
            ScopeKindNotDeclared,
            errors.Conflict,
            errors.SubjectErased,
            errors.HotStoreUnavailable,
            errors.OutcomeUnknown,
        ),
        parameters=(idempotency_key(),),
        examples=(
            example(
                "merge one field",
                {
                    "scope": _SCOPE,
                    "agent": "order-taker",
                    "mode": "merge_by_key",
                    "body": {"step": "cart"},
                    "subject": {"type": "phone_e164", "value": "+55 11 91234-5678"},
                },
                is_request=True,
            ),
            example(
                "create the whole state",
                {
                    "scope": _SCOPE,
                    "agent": "order-taker",
                    "mode": "cas",
                    "if_version": 0,
                    "body": {"step": "cart", "cart": []},
                },
                is_request=True,
            ),
            example("stored", {"stored": True, "version": 3, "reason": None, "masked": {}, "epoch": _EPOCH}),
            example(
                "not stored: a field that the type does not declare",
                {
                    "stored": False,
                    "version": 3,
                    "reason": "not_declared_field",
                    "masked": {},
                    "epoch": _EPOCH,
                },
            ),
        ),
    )
    def put(self, request: HttpRequest, form: WriteState) -> StoredState:
        """Store the whole state at a version (`cas`) or replace single fields (`merge_by_key`) (WM-7, WM-8)."""
        require_agent(self.caller, form.agent)
        write = state_write(form, raw=self.raw, idempotency_key=key_of(request))
        return states.store_state(
            caller=self.caller, write=write, now=timezone.now(), documents_seen=self.documents
        )


class AgentStateReadView(HotView):
    _look: Look | None = None
    shape = ReadState
    seconds = settings.READ_WITHIN_SECONDS
    tag = "Working memory"
    needs = {"POST": _AGENT_STATE}

    @operation(
        summary="Read a state",
        body=ReadState,
        answer=StateRead,
        refusals=(errors.AgentNotAllowed,),
        examples=(
            example("by scope and agent", {"scope": _SCOPE, "agent": "order-taker"}, is_request=True),
            example(
                "a state",
                {
                    "body": {"step": "cart"},
                    "version": 3,
                    "updated_at": "2026-11-30T12:00:00Z",
                    "valid_until": "2026-12-30T12:00:00Z",
                    "epoch": _EPOCH,
                    "expires": {"phone": "2026-12-01T12:00:00Z"},
                },
            ),
            example(
                "never written",
                {
                    "body": {},
                    "version": 0,
                    "updated_at": None,
                    "valid_until": None,
                    "epoch": "none",
                    "expires": {},
                },
            ),
        ),
    )
    def post(self, request: HttpRequest, form: ReadState) -> StateRead:
        """Read a state; one that was never written is empty at version 0 (WM-17)."""
        require_agent(self.caller, form.agent)
        look = self._look or _look(self.caller.workspace, form)
        now = timezone.now()
        return read_state(
            look,
            self.documents,
            now=now,
            seen=self.seen,
            on_erased=partial(note_read, caller=self.caller, now=now),
        )

    def wanted(self, workspace: WorkspaceRef, form: ReadState) -> Sequence[Name]:
        """Look at the state, and at the keys that it had when this process read it last."""
        self._look = _look(workspace, form)
        return self._look.names


class AgentStateDeleteView(ApiView):
    tag = "Working memory"
    needs = {"POST": _AGENT_STATE}

    @operation(
        summary="Remove a state",
        body=DeleteState,
        answer=StateDeletion,
        refusals=(
            errors.AgentNotAllowed,
            AgentStateConflict,
            errors.Conflict,
            errors.HotStoreUnavailable,
            errors.OutcomeUnknown,
        ),
        parameters=(idempotency_key(),),
        examples=(
            example("at any version", {"scope": _SCOPE, "agent": "order-taker"}, is_request=True),
            example("removed", {"deleted": True, "version": 0, "epoch": "none"}),
        ),
    )
    def post(self, request: Request) -> Response:
        """Remove a whole state; it reads as never written afterwards (WM-16b)."""
        shape = self.body(request, DeleteState)
        require_agent(self.caller, shape.agent)
        return self.once(request, lambda: self._delete(request, shape))

    def _delete(self, request: Request, shape: DeleteState) -> Response:
        scope = scope_of(self.caller.workspace, kind=shape.scope.kind, id=shape.scope.id)
        deletion = states.delete_state(
            caller=self.caller,
            scope=scope,
            agent=shape.agent,
            if_version=shape.if_version,
            now=timezone.now(),
        )
        return Response(deletion)


class ProfileStatesView(ApiView):
    tag = "Working memory"
    needs = {"GET": Needs(feature="agent_state", scope="admin", permission="view_state_metadata")}

    @operation(
        summary="See which states name a person",
        answer=ProfileStates,
        refusals=(errors.InvalidInput,),
        parameters=(cursor(),),
        examples=(
            example(
                "one state",
                {
                    "items": [
                        {
                            "agent": "order-taker",
                            "scope_kind": "conversation",
                            "source_id": EXAMPLE_ID,
                            "source": "chat backend",
                            "bytes": 412,
                            "version": 3,
                            "type": "order",
                            "schema_version": "1",
                            "created_at": "2026-11-30T11:58:12Z",
                            "updated_at": "2026-11-30T12:00:00Z",
                            "valid_until": "2026-12-30T12:00:00Z",
                            "fields": 4,
                        }
                    ],
                    "next_cursor": None,
                },
            ),
        ),
    )
    def get(self, request: Request, profile_id: UUID) -> Response:
        """List size, version and dates, never content; the view is audited (WM-23)."""
        page = profiles.show_states(
            profile_id=profile_id,
            older=request.query_params.get("cursor"),
            actor=self.caller.actor,
            now=timezone.now(),
        )
        return Response(ProfileStates(items=page.rows, next_cursor=page.older))


def _look(workspace: WorkspaceRef, form: ReadState) -> Look:
    scope = scope_of(workspace, kind=form.scope.kind, id=form.scope.id)
    return look_for(place_of(workspace, scope, form.agent))
