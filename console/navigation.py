"""The navigation: what a person may not open is absent from it."""

import msgspec
from django.urls import reverse
from django.utils.translation import gettext as _

from workspaces.types import WorkspaceRef


class Item(msgspec.Struct, frozen=True):
    title: str
    url: str
    icon: str
    current: bool
    count: int = 0


class Group(msgspec.Struct, frozen=True):
    title: str | None
    items: list[Item]


class Place(msgspec.Struct, frozen=True):
    """A page of the navigation and the permissions of which one opens it (none: every member)."""

    name: str
    icon: str
    any_of: tuple[str, ...] = ()


_READ_DOCUMENTS = ("propose_documents", "approve_documents", "publish_documents", "view_audit")

PLACES: dict[str, tuple[Place, ...]] = {
    "support": (Place("profiles", "users", ("find_profiles",)),),
    "control": (
        Place("features", "toggle-right"),
        Place("types", "braces", _READ_DOCUMENTS),
        Place("keys", "key-round", ("manage_keys", "view_audit")),
        Place("people", "user-cog", ("manage_people",)),
        Place("audit", "scroll-text", ("view_audit",)),
    ),
}


def navigation(path: str, workspace: WorkspaceRef | None, may: frozenset[str]) -> list[Group]:
    """Give the groups of the navigation for one person in one workspace."""
    groups = [Group(None, [_item(path, "home", _("Overview"), "gauge", [])])]
    if workspace is None:
        return groups
    titles = {
        "profiles": _("Profiles"),
        "features": _("Features"),
        "types": _("Object types"),
        "keys": _("API keys"),
        "people": _("People and roles"),
        "audit": _("Audit log"),
    }
    for title, key in ((_("Support"), "support"), (_("Control"), "control")):
        open_places = [place for place in PLACES[key] if not place.any_of or may & set(place.any_of)]
        items = [
            _item(path, place.name, titles[place.name], place.icon, [workspace.slug]) for place in open_places
        ]
        if items:
            groups.append(Group(title, items))
    return groups


def first_url(workspace: WorkspaceRef, may: frozenset[str]) -> str:
    """Give the first page of a workspace that a person may open; Features is open to every member."""
    places = [place for group in PLACES.values() for place in group]
    name = next(place.name for place in places if not place.any_of or may & set(place.any_of))
    return reverse(f"console:{name}", args=[workspace.slug])


def _item(path: str, name: str, title: str, icon: str, arguments: list[str]) -> Item:
    url = reverse(f"console:{name}", args=arguments)
    current = path == url if name == "home" else path.startswith(url)
    return Item(title=title, url=url, icon=icon, current=current)
