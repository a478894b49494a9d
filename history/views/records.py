"""The routes of another framework's records (HI-25)."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from history import errors as refusals
from history.selectors.records import list_records
from history.serializers import ListRecords, Records, RemoveRecords
from history.services.sessions import remove_records
from history.types import Appended
from history.views.base import EXAMPLE_SESSION, NEEDS, HistoryView
from workspaces import errors
from workspaces.http.openapi import example, idempotency_key, operation


class RecordsView(HistoryView):
    needs = {"POST": NEEDS}

    @operation(
        summary="List a session's opaque records",
        body=ListRecords,
        answer=Records,
        refusals=(errors.AgentNotAllowed, refusals.HistoryIdentityMissing, refusals.HistoryNotFound),
        examples=(
            example("the newest", {"session": EXAMPLE_SESSION}, is_request=True),
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
                },
            ),
        ),
    )
    def post(self, request: Request) -> Response:
        """List the records that were appended as `opaque` and not removed, newest first (HI-25)."""
        shape = self.body(request, ListRecords)
        items, following = list_records(
            place=self.place(shape.session),
            before=int(shape.cursor) if shape.cursor else None,
            limit=shape.limit,
            retention=self.retention,
            now=timezone.now(),
        )
        return Response(Records(items, str(following) if following else None))


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
