"""No route is in use that no table of rights knows (PL-2)."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from tests.tables.rights import OPEN_PAGES, OPERATORS, PAGES, PERSONAL, PERSONAL_ACTS, PUBLIC, ROUTES
from workspaces.http.views import ApiView

HANDLERS = ("get", "post", "put", "patch", "delete")


def routes(resolver: URLResolver, namespace: str = "") -> Iterator[tuple[str, URLPattern]]:
    """List every route of the server by its full name."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from routes(pattern, inner)
        else:
            yield f"{namespace}{pattern.name}", pattern


def view_of(pattern: URLPattern) -> Any:
    return getattr(pattern.callback, "view_class", pattern.callback)


ALL = list(routes(get_resolver()))
VIEWS = {name: view_of(pattern) for name, pattern in ALL}
API = {
    name: view
    for name, view in VIEWS.items()
    if isinstance(view, type) and issubclass(view, ApiView) and name not in PUBLIC
}


def test_every_route_has_a_name_of_its_own() -> None:
    """PL-2: a route is known in the tables by its name."""
    names = [name for name, _ in ALL]
    assert not [name for name in names if name.endswith("None")]
    assert len(names) == len(set(names))


def test_every_route_stands_in_a_table() -> None:
    """PL-2: a route in no table fails here, and so does a row of a route that is gone."""
    personal = PERSONAL.keys() | PERSONAL_ACTS.keys()
    pages = {page.name for page in PAGES} | personal | OPERATORS.keys() | OPEN_PAGES.keys()
    listed = {route.name for route in ROUTES} | PUBLIC.keys() | pages
    assert {name for name, _ in ALL} == listed


def test_every_method_of_the_api_stands_in_the_table() -> None:
    """PL-2, PL-3: each method that a view of /v1 takes has a row, and a need that is checked before it."""
    needed = {(method, name) for name, view in API.items() for method in view.needs}
    handled = {
        (method.upper(), name) for name, view in API.items() for method in HANDLERS if hasattr(view, method)
    }
    assert needed == handled == {(route.method, route.name) for route in ROUTES}


def test_every_other_route_below_v1_checks_its_caller() -> None:
    """PL-3: below /v1 a view that asks for no key is on the list of public ones, and none is replaced in part."""
    below = {name for name, pattern in ALL if str(pattern.pattern).startswith("v1/")}
    assert below - PUBLIC.keys() == API.keys()
    for view in API.values():
        assert view.authentication_classes == ApiView.authentication_classes
        assert view.permission_classes == ApiView.permission_classes


def test_features_are_named_as_in_the_table() -> None:
    """PR-1: the routes of a feature are those that the table says."""
    needed = {
        (name, method): need.feature or ""
        for name, view in API.items()
        for method, need in view.needs.items()
    }
    assert needed == {(route.name, route.method): route.feature for route in ROUTES}
