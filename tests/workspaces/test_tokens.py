"""Personal tokens: some of a person's permissions, for a while, in one workspace (PL-3)."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests import factories
from tests.api import InProcess
from tests.workspaces.cast import row_id
from workspaces import access
from workspaces.errors import InvalidInput, NotFound
from workspaces.models import Person, PersonalToken, Role
from workspaces.rules.credentials import _checksum
from workspaces.services import credentials, people
from workspaces.types import WorkspaceRef


@pytest.fixture
def ana(aurora: WorkspaceRef) -> Person:
    return factories.make_person(aurora, "security", "support")


def make_token(
    workspace: WorkspaceRef, person: Person, *permissions: str, life: timedelta = timedelta(days=1)
) -> str:
    with access.bound(workspace.id):
        return credentials.make_token(
            workspace=workspace,
            person=person,
            name="laptop",
            permissions=permissions,
            life=life,
            actor=factories.SYSTEM,
            now=timezone.now(),
        ).text


@pytest.mark.parametrize(
    "permissions",
    [(), ("place_hold",), ("find_profiles", "place_hold"), ("everything",), ("owner",)],
    ids=["none", "not held", "one of two", "unknown", "a role"],
)
def test_a_token_takes_only_what_its_owner_holds(
    aurora: WorkspaceRef, ana: Person, permissions: tuple[str, ...]
) -> None:
    """PL-3: a token has at least one permission and only such as its owner holds."""
    with pytest.raises(InvalidInput) as refused:
        make_token(aurora, ana, *permissions)
    assert [problem.pointer for problem in refused.value.errors] == ["/permissions"]
    with access.bound(aurora.id):
        assert not PersonalToken.objects.filter(person=ana).exists()


@pytest.mark.parametrize(
    ("life", "is_made"),
    [
        (timedelta(days=90), True),
        (timedelta(days=90, microseconds=1), False),
        (timedelta(seconds=1), True),
        (timedelta(0), False),
        (timedelta(days=-1), False),
    ],
)
def test_a_token_lives_at_most_90_days(
    aurora: WorkspaceRef, ana: Person, life: timedelta, is_made: Any
) -> None:
    """PL-3: a token expires within 90 days."""
    if is_made:
        made = row_id(make_token(aurora, ana, "find_profiles", life=life))
        with access.bound(aurora.id):
            token = PersonalToken.objects.get(id=made)
        assert token.expires_at == token.created_at + life
    else:
        with pytest.raises(InvalidInput):
            make_token(aurora, ana, "find_profiles", life=life)


def search(text: str) -> tuple[int, str | None]:
    answer = InProcess(text).post("/v1/profiles/search", {"query": "p_nobody"})
    return answer.status, answer.code


def test_a_token_has_the_permissions_it_names_and_no_others(aurora: WorkspaceRef, ana: Person) -> None:
    """PL-3: of its owner's permissions a token has the named ones, in the one workspace."""
    assert search(make_token(aurora, ana, "find_profiles")) == (200, None)
    assert search(make_token(aurora, ana, "manage_keys", "view_audit")) == (403, "permission_missing")


def test_a_token_does_not_reach_another_workspace(
    aurora: WorkspaceRef, boreal: WorkspaceRef, ana: Person
) -> None:
    """PL-3: a token names one workspace, even where its owner belongs to two."""
    with access.bound(boreal.id):
        people.join(person=ana, roles=["auditor"], actor=factories.SYSTEM, now=timezone.now())
    token = make_token(aurora, ana, "change_features")
    change = {"kind": "features", "document": {"enabled": []}, "reason": "For a test"}
    assert InProcess(token).post("/v1/config/diffs", change).status == 201
    with access.bound(boreal.id), pytest.raises(InvalidInput):
        credentials.make_token(
            workspace=boreal,
            person=ana,
            name="n",
            permissions=["change_features"],
            life=timedelta(days=1),
            actor=factories.SYSTEM,
            now=timezone.now(),
        )


def give_roles(workspace: WorkspaceRef, person: Person, *roles: str) -> None:
    owner = factories.make_person(workspace, "owner", name="Olivia")
    with access.bound(workspace.id):
        people.change_roles(
            person=person,
            roles=roles,
            changer=owner,
            reason="For a test",
            actor=factories.SYSTEM,
            now=timezone.now(),
        )


def test_a_token_dies_with_the_role(aurora: WorkspaceRef, ana: Person) -> None:
    """PL-3: a lost role ends every token that needs it, for good; tokens of the roles that stay go on."""
    finds = make_token(aurora, ana, "find_profiles")
    both = make_token(aurora, ana, "find_profiles", "manage_keys")
    keys = make_token(aurora, ana, "manage_keys")
    give_roles(aurora, ana, "security")
    assert search(finds) == search(both) == (401, "unauthenticated")
    assert search(keys) == (403, "permission_missing")
    give_roles(aurora, ana, "security", "support")
    assert search(finds) == search(both) == (401, "unauthenticated")
    give_roles(aurora, ana)
    assert search(keys) == (401, "unauthenticated")


def test_a_token_is_worth_no_more_than_its_owner_now(aurora: WorkspaceRef, ana: Person) -> None:
    """PL-3: rights are looked at on each call: whichever way a right was lost, the token has it no more."""
    both = make_token(aurora, ana, "find_profiles", "manage_keys")
    keys = make_token(aurora, ana, "manage_keys")
    with access.bound(aurora.id):
        ana.groups.remove(Role.objects.get(role="security").group)
    assert search(both) == (200, None)
    assert InProcess(both).get("/v1/config/features").status == 200
    assert InProcess(keys).get("/v1/config/features").status == 401


def test_a_token_dies_with_the_account(aurora: WorkspaceRef, ana: Person) -> None:
    """PL-3: a token of an account that is closed opens nothing."""
    token = make_token(aurora, ana, "find_profiles")
    Person.objects.filter(id=ana.id).update(is_active=False)
    assert search(token) == (401, "unauthenticated")
    Person.objects.filter(id=ana.id).update(is_active=True)
    assert search(token) == (200, None)


def test_a_token_is_revoked_by_its_owner_alone(aurora: WorkspaceRef, ana: Person) -> None:
    """PL-3: nobody finds somebody else's token to revoke, and a revoked one stops at once."""
    token, other = make_token(aurora, ana, "find_profiles"), factories.make_person(aurora, "owner")
    now = timezone.now()
    with access.bound(aurora.id):
        with pytest.raises(NotFound):
            credentials.revoke_token(token_id=row_id(token), person=other, actor=factories.SYSTEM, now=now)
        assert search(token) == (200, None)
        credentials.revoke_token(token_id=row_id(token), person=ana, actor=factories.SYSTEM, now=now)
    assert search(token) == (401, "unauthenticated")


def test_the_prefix_says_which_kind_of_credential_is_meant(aurora: WorkspaceRef, ana: Person) -> None:
    """PL-3: a token's secret under a key's prefix, with its checksum made anew, opens nothing."""
    token = make_token(aurora, ana, "find_profiles")
    head = "lst" + token[3:-6]
    assert InProcess(head + _checksum(head)).get("/v1/config/features").status == 401
