"""What every page of the console shows around its content: who, where, and what they may open."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from console.navigation import navigation
from console.presenters.overview import ERASURE_READERS, MAX_COUNT, waiting_for
from privacy.selectors import erasures
from workspaces import access
from workspaces.models import Person
from workspaces.selectors.people import permissions_of
from workspaces.types import WorkspaceRef

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
        "idle_seconds": settings.SESSION_COOKIE_AGE,
    }
    person = getattr(request, "user", None)
    if isinstance(person, Person):
        context |= _of_person(request, person)
    return context


def _counts(person: Person, workspace: WorkspaceRef | None, may: frozenset[str]) -> dict[str, int]:
    """Count what waits for somebody, where they may see it: no more than the navigation shows."""
    if workspace is None:
        return {}
    with access.bound(workspace.id):
        return _waiting_changes(person, may) | _open_erasures(may)


def _waiting_changes(person: Person, may: frozenset[str]) -> dict[str, int]:
    """Count the changes of others that the person may decide about."""
    waiting = waiting_for(person, may)
    return {} if waiting is None else {"approvals": waiting}


def _open_erasures(may: frozenset[str]) -> dict[str, int]:
    if may.isdisjoint(ERASURE_READERS):
        return {}
    return {"erasures": erasures.open_requests()[:MAX_COUNT].count()}


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
        "nav": navigation(request.path, workspace, may, _counts(person, workspace, may)),
        "may": may,
    }
