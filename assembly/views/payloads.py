"""The bytes of payloads over HTTP, streamed both ways (CA-4)."""

from collections.abc import Iterator
from uuid import UUID

from django.http import StreamingHttpResponse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from assembly.errors import PayloadAwaited, PayloadMismatch
from assembly.selectors.payloads import open_download
from assembly.serializers import PayloadAnswer
from assembly.services import payloads as services
from assembly.views.base import NEEDS
from workspaces import errors
from workspaces.http.lanes import outgoing
from workspaces.http.openapi import EXAMPLE_ID, Parameter, example, operation
from workspaces.http.views import StreamView

_ANY_BYTES = {"type": "string", "contentMediaType": "application/octet-stream"}
_ID = Parameter(
    "payload_id",
    "path",
    {"type": "string", "format": "uuid"},
    "The id that recording the artifact answered.",
    EXAMPLE_ID,
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}
_STORED = {
    "payload_id": EXAMPLE_ID,
    "bytes": 1_048_576,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "outcome": "stored",
}


class PayloadView(StreamView):
    tag = "Context"
    needs = {"PUT": NEEDS, "GET": NEEDS}

    @operation(
        summary="Send the bytes of an artifact",
        body={**_ANY_BYTES, "description": "The bytes, of whatever type."},
        answer=PayloadAnswer,
        refusals=(errors.NotFound, errors.Forbidden, PayloadMismatch),
        parameters=(_ID,),
        examples=(example("stored", _STORED),),
    )
    def put(self, request: Request, payload_id: UUID) -> Response:
        """Store the bytes that the record declared by size and SHA-256; of any others nothing is kept (CA-4)."""
        stored = services.store(
            caller=self.caller, payload_id=payload_id, parts=self.parts(request), now=timezone.now()
        )
        answer = PayloadAnswer(
            payload_id=str(stored.payload_id),
            bytes=stored.bytes,
            sha256=stored.sha256,
            outcome=stored.outcome,
        )
        return Response(answer)

    @operation(
        summary="Get the bytes of an artifact",
        answer={**_ANY_BYTES, "description": "The bytes, in the media type that was declared."},
        refusals=(errors.NotFound, errors.Forbidden, PayloadAwaited),
        parameters=(_ID,),
    )
    def get(self, request: Request, payload_id: UUID) -> StreamingHttpResponse:
        """Give the bytes as they were sent, to their source alone; others may not know of all of them (CA-4)."""
        download = open_download(self.caller, payload_id, now=timezone.now())
        parts: Iterator[bytes] = iter(())
        if request.method == "GET":
            parts = outgoing(
                download.parts,
                size_bytes=download.size_bytes,
                holder=self.caller.credential_id,
                caller=self.caller,
            )
        response = StreamingHttpResponse(parts, content_type=download.media_type, headers=_HEADERS)
        response.headers["Content-Disposition"] = f'attachment; filename="payload-{download.payload_id}"'
        response.headers["Content-Length"] = str(download.size_bytes)
        return response
