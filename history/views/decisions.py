"""The routes of a running decision: begin, append, commit, abort (HI-5, HI-21)."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from history import errors as refusals
from history.serializers import (
    AbortHistory,
    AppendHistory,
    BeginHistory,
    CommitHistory,
    SessionAborted,
    items_of,
    naming_of,
    pins_of,
)
from history.services import appends, commits, reservations
from history.services.sessions import noting_absence
from history.types import Appended, AppendWish, BeginWish, Begun, CommitWish
from history.views.base import EXAMPLE_HEAD, EXAMPLE_SESSION, EXAMPLE_TOKEN, NEEDS, HistoryView
from workspaces import errors
from workspaces.http.idempotency import key_of
from workspaces.http.openapi import example, idempotency_key, operation

_APPENDED = {"positions": [8, 9], "stored": 2, "count": 9, "bytes": 4890}
_ITEMS = [
    {
        "message": {"role": "user", "content": "Two of the large ones, please."},
        "key": "turn-4",
        "recorded_at": "2026-11-30T12:00:00Z",
    }
]
_EVERY_BEGIN = (
    errors.AgentNotAllowed,
    refusals.HistoryIdentityMissing,
    refusals.HistoryNotFound,
    refusals.HistoryMismatch,
    refusals.HistoryLimitExceeded,
    errors.Conflict,
)
_EVERY_WRITE = (
    *_EVERY_BEGIN,
    refusals.HistoryConflict,
    refusals.HistoryReservationLost,
    refusals.HistoryMessageInvalid,
    errors.SubjectErased,
)


class BeginView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Reserve a session for a decision",
        body=BeginHistory,
        answer=Begun,
        refusals=(*_EVERY_BEGIN, refusals.HistoryBusy),
        parameters=(idempotency_key(),),
        examples=(
            example(
                "the first decision of an invocation",
                {
                    "session": EXAMPLE_SESSION,
                    "create": True,
                    "conversation_id": "c-4711",
                    "subject": {"type": "phone_e164", "value": "+55 11 91234-5678"},
                    "worker": "chat-7",
                },
                is_request=True,
            ),
            example(
                "reserved",
                {
                    "reservation": EXAMPLE_TOKEN,
                    "since": "2026-11-30T12:00:00Z",
                    "is_new": False,
                    "head": EXAMPLE_HEAD,
                },
            ),
        ),
    )
    def post(self, request: Request) -> Response:
        """Give one worker the exclusive right to extend a session, until it commits or aborts (HI-5)."""
        shape = self.body(request, BeginHistory)
        wish = BeginWish(
            create=shape.create,
            naming=naming_of(shape.conversation_id, shape.subject),
            pins=pins_of(shape.pins),
            worker=shape.worker,
            idempotency_key=key_of(request),
            raw=self.raw,
        )
        place, now = self.place(shape.session), timezone.now()
        with noting_absence(place, now=now):
            begun = reservations.begin(place=place, wish=wish, retention=self.retention, now=now)
        return Response(begun)


class AppendView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Add messages to a session",
        body=AppendHistory,
        answer=Appended,
        refusals=(
            *_EVERY_WRITE,
            refusals.HistoryBusy,
        ),
        parameters=(idempotency_key(),),
        examples=(
            example(
                "a message outside of any decision",
                {"session": EXAMPLE_SESSION, "items": _ITEMS},
                is_request=True,
            ),
            example("stored", _APPENDED),
        ),
    )
    def post(self, request: Request) -> Response:
        """Add items behind the leaf; what a key stored before is not stored again (HI-21)."""
        shape = self.body(request, AppendHistory)
        return self.once(request, lambda: self._append(shape))

    def _append(self, shape: AppendHistory) -> Response:
        wish = AppendWish(
            items=items_of(shape.items),
            token=shape.reservation,
            create=shape.create,
            naming=naming_of(shape.conversation_id, shape.subject),
        )
        return Response(
            appends.append(
                place=self.place(shape.session), wish=wish, retention=self.retention, now=timezone.now()
            )
        )


class CommitView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="End a decision and keep what it added",
        body=CommitHistory,
        answer=Appended,
        refusals=(
            *_EVERY_WRITE,
            refusals.HistorySummaryInvalid,
        ),
        parameters=(idempotency_key(),),
        examples=(
            example(
                "the model's answer",
                {"session": EXAMPLE_SESSION, "reservation": EXAMPLE_TOKEN, "items": _ITEMS},
                is_request=True,
            ),
            example("stored", _APPENDED),
        ),
    )
    def post(self, request: Request) -> Response:
        """Add the decision's items, move the head and free the session, all at once (HI-3)."""
        shape = self.body(request, CommitHistory)
        return self.once(request, lambda: self._commit(shape))

    def _commit(self, shape: CommitHistory) -> Response:
        wish = CommitWish(
            token=shape.reservation,
            items=items_of(shape.items),
            leaf=shape.leaf,
            pins=pins_of(shape.pins),
            summary=shape.summary,
            naming=naming_of(shape.conversation_id, shape.subject),
        )
        return Response(
            commits.commit(
                place=self.place(shape.session), wish=wish, retention=self.retention, now=timezone.now()
            )
        )


class AbortView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Give a decision up",
        body=AbortHistory,
        answer=SessionAborted,
        refusals=(
            errors.AgentNotAllowed,
            refusals.HistoryIdentityMissing,
            refusals.HistoryNotFound,
            refusals.HistoryReservationLost,
            errors.Conflict,
            errors.SubjectErased,
        ),
        parameters=(idempotency_key(),),
        examples=(
            example("give up", {"session": EXAMPLE_SESSION, "reservation": EXAMPLE_TOKEN}, is_request=True),
            example("given up", {"aborted": True}),
        ),
    )
    def post(self, request: Request) -> Response:
        """Free the session; what was added under the reservation goes, and the record is as it was (HI-21)."""
        shape = self.body(request, AbortHistory)
        return self.once(request, lambda: self._abort(shape))

    def _abort(self, shape: AbortHistory) -> Response:
        reservations.abort(
            place=self.place(shape.session),
            token=shape.reservation,
            retention=self.retention,
            now=timezone.now(),
        )
        return Response(SessionAborted())
