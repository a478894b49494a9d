"""Every route of the server."""

import sys

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.defaults import page_not_found, server_error
from django.views.generic import RedirectView

from console import docs, health
from workspaces.errors import NotFound, Problem
from workspaces.http.exceptions import plain_problem, problem_of

urlpatterns = [
    # First, since each route that stands before them is tried before them.
    path("", include("agentstate.urls")),
    path("", RedirectView.as_view(pattern_name="console:home"), name="root"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics_page, name="metrics"),
    path("v1/openapi.json", docs.OpenApiView.as_view(), name="openapi"),
    path("v1/docs", docs.docs, name="docs"),
    path("console/", include("console.page_urls")),
    path("", include("history.urls")),
    path("", include("assembly.urls")),
    path("", include("privacy.urls")),
    path("", include("workspaces.urls")),
]
if settings.LASTRO_ADMIN:
    from console.admin import site

    urlpatterns.append(path("admin/", site.urls))


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an unknown address: as a problem under /v1, as a page elsewhere."""
    if request.path_info.startswith("/v1/"):
        return plain_problem(request, NotFound())
    return page_not_found(request, exception)


def handler500(request: HttpRequest) -> HttpResponse:
    """Answer what no view caught, without content: 503 where a store is away; a problem under /v1, else a page."""
    error = sys.exc_info()[1]
    problem = problem_of(error) if isinstance(error, Exception) else Problem()
    if request.path_info.startswith("/v1/"):
        return plain_problem(request, problem)
    page = server_error(request)
    page.status_code = problem.status
    return page
