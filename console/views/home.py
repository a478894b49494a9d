"""The overview of a person's own workspaces."""

from typing import Any

import msgspec
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.navigation import first_url
from console.pages import here, personal_page, see_other, workspace_page
from console.presenters.charts import chart_file
from console.presenters.features import TITLES
from console.presenters.lists import Table, show_list
from console.presenters.overview import Glance, glance, recent_changes, requests_of, tiles
from console.presenters.start import is_empty
from console.rights import role_titles
from workspaces import access, documents
from workspaces.models import Person
from workspaces.selectors.people import permissions_of, roles_of
from workspaces.types import WorkspaceRef


class MyWorkspace(msgspec.Struct, frozen=True):
    """One of the person's workspaces, as the overview lists it."""

    workspace: WorkspaceRef
    roles: list[str]
    features: list[str]
    url: str


class FeatureCell(msgspec.Struct, frozen=True):
    enabled: bool
    url: str


class FeatureRow(msgspec.Struct, frozen=True):
    workspace: WorkspaceRef
    cells: list[FeatureCell]


@personal_page
def home(request: Any) -> HttpResponse:
    """Show what waits in the person's workspaces, what was changed there and what was asked of them in 24 hours."""
    workspaces = access.workspaces_of(request.user)
    seen = [_glance(request.user, workspace) for workspace in workspaces]
    requests = requests_of(seen)
    context = {
        "memberships": [_membership(request.user, workspace) for workspace in workspaces],
        "cards": tiles(seen, requests),
        "changes": recent_changes(seen),
        "chart": requests,
        "is_hourly": True,
        "health_url": reverse("console:health") if any(one.operates for one in seen) else "",
        "exports": [
            {"label": _("CSV"), "url": reverse("console:home_export", args=["csv"])},
            {"label": _("JSON Lines"), "url": reverse("console:home_export", args=["jsonl"])},
        ],
    }
    return render(request, "console/home.html", context)


@require_safe
@personal_page
def home_export(request: Any, form: str) -> StreamingHttpResponse:
    """Download the requests of the last 24 hours, added up over the workspaces whose usage the person may see."""
    seen = [_glance(request.user, workspace) for workspace in access.workspaces_of(request.user)]
    return chart_file(requests_of(seen), name="requests-24h", form=form, now=timezone.now())


@workspace_page()
def workspace(request: Any) -> HttpResponse:
    """Lead to the first page of the workspace that the person may open; of an empty one, to the first steps."""
    if is_empty():
        return see_other(here(request, "start"))
    return see_other(first_url(request.workspace, request.may))


@personal_page
def features_matrix(request: Any) -> HttpResponseBase:
    """Show the features of all the person's workspaces."""
    rows = [_feature_row(workspace) for workspace in access.workspaces_of(request.user)]
    return show_list(
        request,
        "console/features_matrix.html",
        {"features": TITLES, "rows": rows},
        table=Table("features", ("workspace", *(title.key for title in TITLES)), rows, cells=_matrix_cells),
    )


def _matrix_cells(row: FeatureRow) -> list[str]:
    return [row.workspace.name, *("on" if cell.enabled else "off" for cell in row.cells)]


def _glance(person: Person, workspace: WorkspaceRef) -> Glance:
    with access.bound(workspace.id):
        may, zone = permissions_of(person, workspace), timezone.get_current_timezone()
        return glance(person, workspace, may, now=timezone.now(), zone=zone)


def _membership(person: Person, workspace: WorkspaceRef) -> MyWorkspace:
    with access.bound(workspace.id):
        features = documents.live("features")["features"]
        return MyWorkspace(
            workspace=workspace,
            roles=role_titles(roles_of(person)),
            features=[str(title.name) for title in TITLES if documents.is_on(features, title.key)],
            url=first_url(workspace, permissions_of(person, workspace)),
        )


def _feature_row(workspace: WorkspaceRef) -> FeatureRow:
    with access.bound(workspace.id):
        features = documents.live("features")["features"]
    url = reverse("console:features", args=[workspace.slug])
    cells = [FeatureCell(enabled=documents.is_on(features, title.key), url=url) for title in TITLES]
    return FeatureRow(workspace=workspace, cells=cells)
