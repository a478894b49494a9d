"""The navigation: what a person may not open is absent from it."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from django.urls import resolve, reverse
from django.utils.translation import gettext_lazy as _

from workspaces.types import WorkspaceRef


class Item(msgspec.Struct, frozen=True):
    title: Any
    url: str
    icon: str
    current: bool
    count: int = 0


class Group(msgspec.Struct, frozen=True):
    title: Any
    items: list[Item]


class Place(msgspec.Struct, frozen=True):
    """A page of a workspace that the navigation leads to. The page itself says which permissions open it.

    `rest` are the arguments of its address, and `parts` the other places below the workspace that belong to it. A place
    that is `shared` lies below no workspace.
    """

    name: str
    icon: str
    title: Any
    rest: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    shared: bool = False


PLACES: tuple[tuple[Any, tuple[Place, ...]], ...] = (
    (
        _("Support"),
        (Place("profiles", "users", _("Profiles")), Place("assemblies", "layers", _("Assemblies"))),
    ),
    (
        _("Privacy"),
        (
            Place("erasures", "circle-user-round", _("Erasure requests")),
            Place("holds", "lock", _("Legal holds")),
            Place("retention", "clock", _("Retention")),
            Place("packages", "inbox", _("Subject packages")),
            Place("approvals", "inbox", _("Approvals")),
        ),
    ),
    (
        _("Control"),
        (
            Place("features", "toggle-right", _("Features")),
            Place("types", "braces", _("Object types"), parts=("documents/object-types/",)),
            Place(
                "document",
                "file-text",
                _("Documents"),
                rest=("masking",),
                parts=("documents/retention/", "documents/assembly-policy/"),
            ),
            Place("keys", "key-round", _("API keys")),
            Place("people", "user-cog", _("People and roles")),
            Place("audit", "scroll-text", _("Audit log")),
        ),
    ),
    (
        _("System"),
        (
            Place("usage", "chart-line", _("Usage")),
            Place("jobs", "list-checks", _("Jobs")),
            Place("health", "activity", _("Health"), shared=True),
            Place("reservations", "clock", _("Running decisions")),
        ),
    ),
)


def navigation(
    path: str, workspace: WorkspaceRef | None, may: frozenset[str], counts: Mapping[str, int]
) -> list[Group]:
    """Give the groups of the navigation for one person in one workspace, with the counts of what waits by place."""
    home = reverse("console:home")
    overview = Item(title=_("Overview"), url=home, icon="gauge", current=path == home)
    groups = [Group(title=None, items=[overview])]
    if workspace is None:
        return groups
    for title, places in PLACES:
        items = [
            _item(path, place, url, workspace, counts.get(place.name, 0))
            for place, url in _open_places(places, workspace, may)
        ]
        if items:
            groups.append(Group(title=title, items=items))
    return groups


def first_url(workspace: WorkspaceRef, may: frozenset[str]) -> str:
    """Give the first page of a workspace that a person may open; Features is open to every member."""
    return next(url for _title, places in PLACES for _place, url in _open_places(places, workspace, may))


def _open_places(
    places: tuple[Place, ...], workspace: WorkspaceRef, may: frozenset[str]
) -> Iterator[tuple[Place, str]]:
    for place in places:
        of_workspace = [] if place.shared else [workspace.slug]
        url = reverse(f"console:{place.name}", args=[*of_workspace, *place.rest])
        any_of = resolve(url).func.any_of  # type: ignore[attr-defined]
        if not any_of or may & set(any_of):
            yield place, url


def _item(path: str, place: Place, url: str, workspace: WorkspaceRef, count: int) -> Item:
    ground = reverse("console:workspace", args=[workspace.slug])
    own = (url, *(ground + part for part in place.parts))
    return Item(title=place.title, url=url, icon=place.icon, current=path.startswith(own), count=count)
