"""Who may do what: the table of roles, and every route tried by everybody (PL-2, PL-3)."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from guardian.models import UserObjectPermission
from guardian.shortcuts import assign_perm, get_perms, remove_perm

from tests import factories
from tests.api import Answer, InProcess
from tests.tables import rights as table
from tests.tables.rights import ROUTES, Route
from tests.workspaces.cast import Cast
from workspaces import access
from workspaces.models import Role, Workspace
from workspaces.rules import rights
from workspaces.selectors import people
from workspaces.types import WorkspaceRef

LIVE = [*(f"role:{role}" for role in table.ROLES), *(f"key:{scope}" for scope in table.SCOPES)]
DEAD = (
    "nobody",
    "revoked key",
    "expired key",
    "revoked token",
    "expired token",
    "malformed key",
    "not a key",
    "wrong checksum",
    "wrong secret",
    "key of nobody",
)

each_route = pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.title)


def send(api: InProcess, route: Route, cast: Cast) -> Answer:
    """Send a row of the table."""
    places = {
        "profile": cast.profile,
        "erasure": cast.erasure,
        "hold": cast.hold,
        "package": cast.package,
        "assembly": cast.assembly,
    }
    path = route.path.format(**places, **cast.changes)
    return api.call(route.method, path, route.body)


def groups_of(workspace: WorkspaceRef) -> dict[str, frozenset[str]]:
    """Read from guardian what each role's group may do in a workspace."""
    with access.bound(workspace.id):
        roles = list(Role.objects.select_related("group"))
    return {role.role: frozenset(get_perms(role.group, Workspace(id=workspace.id))) for role in roles}


def test_the_roles_hold_what_the_clause_lists() -> None:
    """PL-2: the code's table of roles is the clause's, permission by permission."""
    assert {name: tuple(rights.roles_with(name)) for name in rights.PERMISSIONS} == table.HELD
    assert tuple(rights.ROLES) == table.ROLES == tuple(rights.ROLE_TITLES)
    assert tuple(rights.KEY_SCOPES) == table.SCOPES


def test_roles_add_up() -> None:
    """PL-2: who holds several roles may do what any of them may; who holds none may do nothing."""
    both = rights.permissions_of(["owner", "support"])
    assert both == rights.ROLES["owner"] | rights.ROLES["support"]
    assert rights.permissions_of([]) == frozenset()


def test_role_groups_hold_exactly_the_table(aurora: WorkspaceRef) -> None:
    """PL-2: the roles are groups whose object permissions on the workspace equal the table."""
    assert groups_of(aurora) == rights.ROLES


def test_rights_count_in_their_own_workspace_only(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-2: a role of one workspace is worth nothing in another."""
    person = factories.make_person(aurora, *rights.ROLES)
    assert people.permissions_of(person, aurora) == rights.PERMISSIONS.keys()
    assert people.permissions_of(person, boreal) == frozenset()


def test_a_person_without_a_role_may_do_nothing(aurora: WorkspaceRef) -> None:
    """PL-2: membership alone gives no permission, and nobody has one but by a role."""
    assert people.permissions_of(factories.make_person(aurora), aurora) == frozenset()
    assert not UserObjectPermission.objects.exists()


def test_sync_rights_brings_the_groups_back_to_the_table(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-2: after an upgrade `sync_rights` takes what is too much, gives what is missing, and touches no other."""
    with access.bound(aurora.id):
        support = Role.objects.get(role="support").group
    row = Workspace.objects.get(id=aurora.id)
    assign_perm("workspaces.view_audit", support, row)
    remove_perm("workspaces.find_profiles", support, row)
    assert groups_of(aurora)["support"] == {"view_audit", "view_state_metadata"}
    call_command("sync_rights", verbosity=0)
    assert groups_of(aurora) == groups_of(boreal) == rights.ROLES


def test_sync_rights_ends_a_role_that_the_table_no_longer_has(aurora: WorkspaceRef) -> None:
    """PL-2: a group of a role that is gone keeps no right on the workspace."""
    with access.bound(aurora.id):
        Group.objects.filter(workspace_role=Role.objects.get(role="support")).update(name="retired")
        Role.objects.filter(role="support").update(role="retired")
    call_command("sync_rights", verbosity=0)
    assert groups_of(aurora) == rights.ROLES | {"retired": frozenset()}


def test_no_django_permission_gives_anything(aurora: WorkspaceRef) -> None:
    """PL-2: only the rights of the table exist on our tables, and there is no superuser."""
    names = set(
        Permission.objects.filter(content_type__app_label="workspaces").values_list("codename", flat=True)
    )
    assert names == rights.PERMISSIONS.keys()
    assert not factories.make_person(aurora, "owner").is_superuser


@each_route
@pytest.mark.parametrize("caller", LIVE)
def test_every_route_as_everybody(db: None, cast: Cast, route: Route, caller: str) -> None:
    """PL-2, PL-3: a route opens to the scopes and roles of its row and answers everybody else 403."""
    answer = send(cast.api(caller), route, cast)
    assert (answer.status, answer.code) == route.answer_to(caller)


@each_route
@pytest.mark.parametrize("caller", DEAD)
def test_every_route_without_a_live_credential(db: None, cast: Cast, route: Route, caller: str) -> None:
    """PL-3: no key, and each kind of dead or broken key, gets 401 on every route, whatever it was worth."""
    answer = send(cast.api(caller), route, cast)
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


@each_route
def test_every_route_from_outside_the_networks_of_a_key(db: None, cast: Cast, route: Route) -> None:
    """PL-3: a key with networks is refused from elsewhere, before anything is looked at."""
    answer = send(cast.api("key outside its networks"), route, cast)
    assert (answer.status, answer.code) == (403, "forbidden")


def test_dead_credentials_are_refused_alike(db: None, cast: Cast) -> None:
    """PL-3: the answer never tells why a key opens nothing."""
    answers = [
        cast.api(caller).get("/v1/sources/me", **{"X-Request-Id": "same"})
        for caller in DEAD
        if caller != "nobody"
    ]
    assert len({(answer.status, repr(answer.body)) for answer in answers}) == 1


@pytest.fixture(scope="module")
def switched_off(cast: Cast, django_db_blocker: pytest.FixtureRequest) -> Iterator[Cast]:
    """The cast with every feature off."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        for feature in ("agent_state", "history", "context"):
            factories.switch(cast.workspace, feature, on=False)
    yield cast
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        for feature in ("agent_state", "history", "context"):
            factories.switch(cast.workspace, feature, on=True)


@pytest.mark.parametrize("route", [route for route in ROUTES if route.feature], ids=lambda route: route.title)
@pytest.mark.parametrize("caller", LIVE)
def test_a_route_of_a_feature_that_is_off(db: None, switched_off: Cast, route: Route, caller: str) -> None:
    """PR-1: a route of a feature that is off answers 404 feature_off, to every key and every role."""
    answer = send(switched_off.api(caller), route, switched_off)
    assert (answer.status, answer.code) == (404, "feature_off")
