"""The routes of whole sessions: reading, forking, freeing, deleting (HI-5, HI-6, HI-9)."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from history import errors as refusals
from history.documents import FEATURE
from history.selectors import windows
from history.serializers import (
    DeleteHistory,
    ForkHistory,
    ReadHistory,
    RecoverHistory,
    SessionDeleted,
    SessionRecovered,
    WindowHistory,
)
from history.services import reservations, sessions
from history.services.reservations import token_hash
from history.types import SessionHead, SessionRead, WindowRead, WindowWish
from history.views.base import EXAMPLE_HEAD, EXAMPLE_SESSION, NEEDS, HistoryView
from workspaces import errors
from workspaces.http.openapi import EXAMPLE_ID, example, idempotency_key, operation
from workspaces.http.permissions import Needs
from workspaces.types import FieldProblem

_MESSAGES = [{"role": "user", "content": "Two of the large ones, please."}]


class WindowView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Read what the next request carries",
        body=WindowHistory,
        answer=WindowRead,
        refusals=(
            errors.AgentNotAllowed,
            refusals.HistoryIdentityMissing,
            refusals.HistoryNotFound,
            refusals.HistoryMismatch,
            refusals.HistoryLimitExceeded,
            refusals.HistoryInvalid,
        ),
        examples=(
            example(
                "the last forty messages at most",
                {"session": EXAMPLE_SESSION, "max_messages": 40},
                is_request=True,
            ),
            example(
                "a window",
                {
                    "messages": _MESSAGES,
                    "items": ["m-7"],
                    "message_count": 1,
                    "bytes": 58,
                    "trimmed": True,
                    "omissions": [],
                    "changed": [],
                    "open_calls": [],
                    "summary": None,
                    "summary_refused": "",
                    "through": "m-6",
                },
            ),
        ),
    )
    def post(self, request: Request) -> Response:
        """Choose the longest tail of complete exchanges within the bounds; nothing is deleted by it (HI-9, HI-10)."""
        shape = self.body(request, WindowHistory)
        wish = WindowWish(
            provider=shape.provider or "",
            leaf=shape.leaf,
            max_messages=shape.max_messages,
            max_bytes=shape.max_bytes,
            repair=shape.repair,
            dialect=shape.dialect,
        )
        place, now = self.place(shape.session), timezone.now()
        holds = token_hash(shape.reservation) if shape.reservation else b""
        with sessions.noting_absence(place, now=now):
            found = windows.read_window(
                place=place, wish=wish, holds=holds, retention=self.retention, now=now
            )
        return Response(found)


class ReadView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Read a whole session",
        body=ReadHistory,
        answer=SessionRead,
        refusals=(
            errors.AgentNotAllowed,
            refusals.HistoryIdentityMissing,
            refusals.HistoryNotFound,
            refusals.HistoryBusy,
        ),
        examples=(
            example("by its invocation", {"session": EXAMPLE_SESSION}, is_request=True),
            example(
                "a session",
                {
                    "head": EXAMPLE_HEAD,
                    "items": [
                        {
                            "position": 7,
                            "id": "m-7",
                            "parent": "m-6",
                            "kind": "message",
                            "message": _MESSAGES[0],
                            "key": "turn-4",
                            "provisional": False,
                            "recorded_at": "2026-11-30T12:00:00Z",
                            "expires_at": None,
                        }
                    ],
                },
            ),
        ),
    )
    def post(self, request: Request) -> Response:
        """Give a copy of all that is kept, in the order of storing; it does not renew the idle time (HI-6)."""
        shape = self.body(request, ReadHistory)
        place, now = self.place(shape.session), timezone.now()
        with sessions.noting_absence(place, now=now):
            found = windows.read_session(place=place, retention=self.retention, now=now)
        return Response(found)


class ForkView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Begin another session with the same messages",
        body=ForkHistory,
        answer=SessionHead,
        refusals=(
            errors.AgentNotAllowed,
            refusals.HistoryIdentityMissing,
            refusals.HistoryNotFound,
            refusals.HistoryBusy,
            refusals.HistoryConflict,
            refusals.HistoryLimitExceeded,
            errors.Conflict,
        ),
        parameters=(idempotency_key(),),
        examples=(
            example(
                "up to a message",
                {"session": EXAMPLE_SESSION, "to": EXAMPLE_SESSION | {"run_id": "run-82"}, "at": "m-7"},
                is_request=True,
            ),
            example("made", EXAMPLE_HEAD),
        ),
    )
    def post(self, request: Request) -> Response:
        """Make a session that shares the messages from the root up to one, and goes on by itself (HI-21)."""
        shape = self.body(request, ForkHistory)
        return self.once(request, lambda: self._fork(shape))

    def _fork(self, shape: ForkHistory) -> Response:
        return Response(
            sessions.fork(
                place=self.place(shape.session),
                to=self.place(shape.to),
                at=shape.at,
                retention=self.retention,
                now=timezone.now(),
            )
        )


class DeleteView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Remove a session",
        body=DeleteHistory,
        answer=SessionDeleted,
        refusals=(
            errors.AgentNotAllowed,
            refusals.HistoryIdentityMissing,
            refusals.HistoryBusy,
            errors.Conflict,
        ),
        parameters=(idempotency_key(),),
        examples=(
            example("by its invocation", {"session": EXAMPLE_SESSION}, is_request=True),
            example("removed", {"deleted": True}),
        ),
    )
    def post(self, request: Request) -> Response:
        """Remove an idle session with its key; a second time is no error (HI-6)."""
        shape = self.body(request, DeleteHistory)
        return self.once(request, lambda: self._delete(shape))

    def _delete(self, shape: DeleteHistory) -> Response:
        deleted = sessions.delete(
            place=self.place(shape.session), retention=self.retention, now=timezone.now()
        )
        return Response(SessionDeleted(deleted))


class RecoverView(HistoryView):
    needs = {"POST": Needs(feature=FEATURE, scope="history", permission="recover_history")}

    @operation(
        summary="Free the reservation of a worker that has stopped",
        body=RecoverHistory,
        answer=SessionRecovered,
        refusals=(
            errors.AgentNotAllowed,
            refusals.HistoryIdentityMissing,
            refusals.HistoryNotFound,
            refusals.HistoryRecoveryRefused,
            errors.InvalidInput,
            errors.Conflict,
        ),
        parameters=(idempotency_key(),),
        examples=(
            example("of one's own", {"session": EXAMPLE_SESSION, "worker_stopped": True}, is_request=True),
            example("as a person", {"id": EXAMPLE_ID, "worker_stopped": True}, is_request=True),
            example("freed", {"recovered": True}),
        ),
    )
    def post(self, request: Request) -> Response:
        """Free a session: what its worker added is gone, whatever else the worker did stays done (HI-5). Audited."""
        shape = self.body(request, RecoverHistory)
        return self.once(request, lambda: Response(SessionRecovered(self._recover(shape))))

    def _recover(self, shape: RecoverHistory) -> bool:
        if self.caller.is_source:
            return self._recover_own(shape)
        if shape.id is None:
            raise _missing("/id")
        return reservations.recover_row(
            workspace=self.caller.workspace,
            session_id=shape.id,
            worker_stopped=shape.worker_stopped,
            actor=self.caller.actor,
            retention=self.retention,
            now=timezone.now(),
        )

    def _recover_own(self, shape: RecoverHistory) -> bool:
        if shape.session is None:
            raise _missing("/session")
        return reservations.recover(
            place=self.place(shape.session),
            worker_stopped=shape.worker_stopped,
            actor=self.caller.actor,
            retention=self.retention,
            now=timezone.now(),
        )


def _missing(pointer: str) -> errors.InvalidInput:
    return errors.InvalidInput(errors=(FieldProblem(pointer, "required", "This member is required."),))
