"""The route that records (CA-3)."""

from collections.abc import Mapping, Sequence

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from assembly import errors as refusals
from assembly.errors import answered
from assembly.rules.payloads import contents_of
from assembly.serializers import RecordGraph
from assembly.services.payloads import staged
from assembly.services.recording import record
from assembly.types import Recorded, StagedBlob
from assembly.views.base import NEEDS, ContextView
from lastro.assembly.records import Record, parse_records
from workspaces import errors
from workspaces.http.openapi import EXAMPLE_ID, example, idempotency_key, operation

_PLACED = {"conversation": "c-81", "recorded_at": "2026-11-30T12:00:00Z"}
_OWNED = {**_PLACED, "branch": "main", "participant": "planner", "run": "run-1"}
_RECORDS = [
    {
        "type": "conversation",
        "id": "c-81",
        "conversation": "c-4711",
        "subject": [{"type": "phone_e164", "value": "+55 11 91234-5678"}],
    },
    {"type": "branch", "id": "main", **_PLACED},
    {"type": "participant", "id": "planner", "name": "planner", **_PLACED},
    {"type": "model_run", "id": "run-1", "route": "openai", "model": "gpt-4.1", **_OWNED, "run": None},
    {
        "type": "tool_call",
        "id": "call-1",
        "tool": "calendar.list",
        "arguments": {"value": {"day": "2026-12-01"}},
        **_OWNED,
    },
    {
        "type": "tool_artifact",
        "id": "artifact-1",
        "call": "call-1",
        "tool": "calendar.list",
        "status": "succeeded",
        "result": {"value": {"events": [{"at": "09:00", "title": "Dentist"}]}},
        **_OWNED,
    },
]
_STORED = {
    "records": [
        {
            "type": "tool_artifact",
            "id": "artifact-1",
            "outcome": "stored",
            "position": 6,
            "payload_id": EXAMPLE_ID,
            "payload": "stored",
            "arguments_payload_id": None,
        }
    ],
    "positions": {"c-81": 6},
}


class GraphView(ContextView):
    needs = {"POST": NEEDS}

    @operation(
        summary="Record what happened",
        body=RecordGraph,
        answer=Recorded,
        refusals=(
            refusals.UnknownReference,
            refusals.RecordConflict,
            refusals.SupersessionCycle,
            errors.SubjectErased,
            errors.Conflict,
        ),
        parameters=(idempotency_key(),),
        examples=(
            example("a call and its result", {"records": _RECORDS}, is_request=True),
            example("stored", _STORED),
        ),
    )
    def post(self, request: Request) -> Response:
        """Append up to 500 records to the runtime graph, all or none; one that is there already changes nothing."""
        shape = self.body(request, RecordGraph)
        with answered():
            records = parse_records(shape.records)
        # Around the transaction of `once`: the names of blobs are committed before their first byte.
        with staged(
            workspace=self.caller.workspace, contents=contents_of(records), now=timezone.now()
        ) as written:
            return self.once(request, lambda: self._record(records, written))

    def _record(self, records: Sequence[Record], written: Mapping[str, StagedBlob]) -> Response:
        recorded = record(
            caller=self.caller, records=records, written=written, bounds=self.bounds, now=timezone.now()
        )
        return Response(recorded)
