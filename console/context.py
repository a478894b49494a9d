"""What every page of the console shows around its content: who, where, and what they may open."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from console.navigation import navigation
from privacy.selectors import erasures
from workspaces import access
from workspaces.models import Person
from workspaces.selectors.people import permissions_of
from workspaces.types import WorkspaceRef

ERASURE_READERS = frozenset({"request_erasure", "approve_erasure"})
COUNTED_UP_TO = 999
THEMES = ("auto", "light", "dark")


def shell(request: HttpRequest) -> dict[str, Any]:
    """Give the shell's variables; the theme comes from a cookie, so that no page flashes."""
    theme = request.COOKIES.get("theme", "auto")
    context: dict[str, Any] = {
        "theme": theme if theme in THEMES else "auto",
        "environment": settings.LASTRO_ENVIRONMENT,
        "time_zone": "UTC",
        "person": None,
        "workspace": None,
        "workspaces": [],
        "nav": [],
        "may": frozenset(),
    }
    person = getattr(request, "user", None)
    if isinstance(person, Person):
        context |= _of_person(request, person)
    return context


def _of_person(request: HttpRequest, person: Person) -> dict[str, Any]:
    own = access.workspaces_of(person)
    workspace: WorkspaceRef | None = getattr(request, "workspace", None)
    may: frozenset[str] = getattr(request, "may", frozenset())
    if workspace is None and len(own) == 1:
        # Pages of no workspace lead on into the only one that there is.
        workspace = own[0]
        may = permissions_of(person, workspace)
    return {
        "time_zone": person.time_zone,
        "person": person,
        "workspace": workspace,
        "workspaces": own,
        "nav": navigation(request.path, workspace, may, _counts(workspace, may)),
        "may": may,
    }


def _counts(workspace: WorkspaceRef | None, may: frozenset[str]) -> dict[str, int | str]:
    """Count what waits for somebody, capped, where they may see it: one query."""
    if workspace is None or may.isdisjoint(ERASURE_READERS):
        return {}
    with access.bound(workspace.id):
        count = erasures.open_requests()[: COUNTED_UP_TO + 1].count()
    return {"erasures": f"{COUNTED_UP_TO:,}+" if count > COUNTED_UP_TO else count}
