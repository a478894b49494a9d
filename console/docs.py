"""The API described for machines and for people, both from one document (PL-9)."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.views.decorators.http import require_safe
from rest_framework.request import Request
from rest_framework.response import Response

from console import reference
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


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Show every operation, shape and error code on one page that needs nothing else."""
    context = {"groups": reference.groups(), "shapes": reference.shapes(), "errors": reference.errors()}
    # The whole page is English, as the document is.
    with translation.override("en"):
        return render(request, "docs/reference.html", context)
