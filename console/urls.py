"""Every route of the server."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import RedirectView

from console import docs, health
from workspaces.errors import NotFound, Problem
from workspaces.http.exceptions import plain_problem

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="console:home"), name="root"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics_page, name="metrics"),
    path("v1/openapi.json", docs.OpenApiView.as_view(), name="openapi"),
    path("console/", include("console.page_urls")),
    path("", include("agentstate.urls")),
    path("", include("privacy.urls")),
    path("", include("workspaces.urls")),
]


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an unknown address: as a problem under /v1, as a page elsewhere."""
    if request.path_info.startswith("/v1/"):
        return plain_problem(request, NotFound())
    from django.views.defaults import page_not_found

    return page_not_found(request, exception)


def handler500(request: HttpRequest) -> HttpResponse:
    """Answer what nobody expected, without content: as a problem under /v1, as a page elsewhere."""
    if request.path_info.startswith("/v1/"):
        return plain_problem(request, Problem())
    from django.views.defaults import server_error

    return server_error(request)
