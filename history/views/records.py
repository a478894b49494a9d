"""The routes of a session's items, another framework's records among them (HI-25)."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from history import errors as refusals
from history.selectors.records import list_items
from history.serializers import ListedItems, ListItems, RemoveRecords
from history.services.reservations import token_hash
from history.services.sessions import noting_absence, remove_records
from history.types import Appended, ListWish
from history.views.base import EXAMPLE_SESSION, NEEDS, HistoryView
from workspaces import errors
from workspaces.http.openapi import example, idempotency_key, operation


class RecordsView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="List a session's items",
        body=ListItems,
        answer=ListedItems,
        refusals=(
            errors.AgentNotAllowed,
            refusals.HistoryIdentityMissing,
            refusals.HistoryNotFound,
            refusals.HistoryBusy,
        ),
        examples=(
            example("the newest records", {"session": EXAMPLE_SESSION}, is_request=True),
            example("a whole path", {"session": EXAMPLE_SESSION, "of": "path"}, is_request=True),
            example(
                "one checkpoint",
                {
                    "items": [
                        {
                            "position": 9,
                            "id": "checkpoint-3",
                            "parent": "",
                            "kind": "opaque",
                            "message": {"checkpoint": "AAEC"},
                            "key": "",
                            "provisional": False,
                            "recorded_at": "2026-11-30T12:00:00Z",
                            "expires_at": None,
                        }
                    ],
                    "next_cursor": None,
                    "head": None,
                },
            ),
        ),
    )
    def post(self, request: Request) -> Response:
        """List items of one kind, such as the opaque records that were not removed, newest first (HI-25)."""
        shape = self.body(request, ListItems)
        place, now = self.place(shape.session), timezone.now()
        wish = ListWish(
            of=shape.of,
            leaf=shape.leaf,
            key=shape.key,
            cursor=int(shape.cursor) if shape.cursor else None,
            limit=shape.limit,
            holds=token_hash(shape.reservation) if shape.reservation else b"",
            with_head=shape.with_head,
        )
        with noting_absence(place, now=now):
            page = list_items(place=place, wish=wish, retention=self.retention, now=now)
        cursor = str(page.following) if page.following else None
        return Response(ListedItems(page.items, cursor, page.head))


class RemoveRecordsView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Remove a session's opaque records",
        body=RemoveRecords,
        answer=Appended,
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
            example("one of them", {"session": EXAMPLE_SESSION, "ids": ["checkpoint-3"]}, is_request=True),
            example("all of them", {"session": EXAMPLE_SESSION}, is_request=True),
            example("recorded", {"positions": [10], "stored": 1, "count": 10, "bytes": 5210}),
        ),
    )
    def post(self, request: Request) -> Response:
        """Record that they are gone: they are listed no more, and the sweep takes them out (HI-25)."""
        shape = self.body(request, RemoveRecords)
        return self.once(request, lambda: self._remove(shape))

    def _remove(self, shape: RemoveRecords) -> Response:
        return Response(
            remove_records(
                place=self.place(shape.session),
                ids=shape.ids,
                key=shape.key,
                retention=self.retention,
                now=timezone.now(),
            )
        )
