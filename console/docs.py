"""The API described for machines and for people, both from one document (PL-9)."""

from rest_framework.request import Request
from rest_framework.response import Response

from workspaces.http.openapi import document, operation
from workspaces.http.views import ApiView


class OpenApiView(ApiView):
    tag = "Platform"
    authentication_classes = ()
    permission_classes = ()

    @operation(
        summary="Read this description",
        answer={"type": "object", "description": "An OpenAPI 3.1 document."},
    )
    def get(self, request: Request) -> Response:
        """Give the OpenAPI document of all routes; it takes no key."""
        return Response(document())
