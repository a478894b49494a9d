"""The routes that read a session (HI-6, HI-9)."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from history import errors as refusals
from history.selectors import windows
from history.serializers import ReadHistory, WindowHistory
from history.services.reservations import token_hash
from history.types import SessionRead, WindowRead, WindowWish
from history.views.base import EXAMPLE_HEAD, EXAMPLE_SESSION, NEEDS, HistoryView
from workspaces.http.openapi import example, operation

_MESSAGES = [{"role": "user", "content": "Two of the large ones, please."}]


class WindowView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Read what the next request carries",
        body=WindowHistory,
        answer=WindowRead,
        refusals=(
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
        return Response(
            windows.read_window(
                place=self.place(shape.session),
                wish=wish,
                holds=token_hash(shape.reservation) if shape.reservation else b"",
                retention=self.retention,
                now=timezone.now(),
            )
        )


class ReadView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Read a whole session",
        body=ReadHistory,
        answer=SessionRead,
        refusals=(
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
        return Response(
            windows.read_session(
                place=self.place(shape.session), retention=self.retention, now=timezone.now()
            )
        )
