"""Keys of sources: shown once, rotated with an overlap, revoked by name (PL-3, CO-5)."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from tests import factories
from tests.api import InProcess
from tests.console.conftest import SignedIn
from workspaces import access
from workspaces.models import ApiKey, AuditEntry, Person
from workspaces.types import WorkspaceRef

NEW = {
    "source": "kiosk",
    "name": "agents",
    "scopes": ["agent_state"],
    "agents": "order-taker",
    "networks": "",
    "expires": 90,
    "reason": "A new kiosk",
}
SECRET = re.compile(r'<code id="secret">(lst_\w+)</code>')


@pytest.fixture
def client(security: Person, signed_in: SignedIn) -> Client:
    return signed_in(security)


def keys(workspace: WorkspaceRef, *rest: str) -> str:
    return "/".join([f"/console/w/{workspace.slug}/keys", *rest, ""])


def secret_in(answer: Any) -> str:
    found = SECRET.search(answer.content.decode())
    assert found
    return found[1]


def only_key(workspace: WorkspaceRef) -> ApiKey:
    with access.bound(workspace.id):
        return ApiKey.objects.select_related("source").latest("created_at")


def test_key_is_shown_once_and_works(aurora: WorkspaceRef, client: Client) -> None:
    """PL-3: the answer to the form holds the secret; the key does what it was made for and nothing else."""
    secret = secret_in(client.post(keys(aurora, "new"), NEW))
    assert InProcess(secret).write(factories.write()).status == 200
    assert InProcess(secret).write(factories.write(agent="closing")).code == "agent_not_allowed"
    listing = client.get(keys(aurora)).content.decode()
    assert f"lst_{only_key(aurora).key_id}…" in listing
    assert secret not in listing


def test_secret_is_in_no_message_session_header_and_log(
    aurora: WorkspaceRef, client: Client, written_log: Callable[[], str]
) -> None:
    """PL-3: the page that shows a secret is the only place where it ever stands."""
    made = client.post(keys(aurora, "new"), NEW)
    rotated = client.post(
        keys(aurora, str(only_key(aurora).id), "rotate"), {"overlap": 1, "reason": "Routine"}
    )
    pages = [
        client.get(address) for address in (keys(aurora), f"/console/w/{aurora.slug}/audit/", "/console/")
    ]
    with access.bound(aurora.id):
        entries = [str(entry.__dict__) for entry in AuditEntry.objects.all()]
    for answer in (made, rotated):
        parts = (secret_in(answer), secret_in(answer)[17:-6])
        places = [
            str(answer.headers),
            str(client.cookies),
            *(page.content.decode() for page in pages),
            *(str(session.get_decoded()) for session in Session.objects.all()),
            written_log(),
            *entries,
        ]
        assert not any(part in place for part in parts for place in places)
        assert "no-store" in answer["Cache-Control"]


def test_loading_the_page_again_makes_no_second_key(aurora: WorkspaceRef, client: Client) -> None:
    """PL-3: the page of a new key has an address at which there is only the empty form."""
    client.post(keys(aurora, "new"), NEW)
    assert SECRET.search(client.get(keys(aurora, "new")).content.decode()) is None


def test_rotation_keeps_both_for_the_overlap(aurora: WorkspaceRef, client: Client) -> None:
    """PL-3: the new secret works at once, the old one until the overlap is over, and the list shows both."""
    old = secret_in(client.post(keys(aurora, "new"), NEW))
    key = only_key(aurora)
    answer = client.post(keys(aurora, str(key.id), "rotate"), {"overlap": 2, "reason": "Routine"})
    new = secret_in(answer)
    assert "The old secret works until" in answer.content.decode()
    assert {InProcess(secret).write(factories.write()).status for secret in (old, new)} == {200}
    with access.bound(aurora.id):
        ApiKey.objects.filter(id=key.id).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert InProcess(old).write(factories.write()).code == "unauthenticated"
    rows = {row.prefix: row.status for row in client.get(keys(aurora)).context["keys"]}
    assert rows[f"lst_{key.key_id}"] == "expired"


def test_key_is_revoked_by_typing_its_name(aurora: WorkspaceRef, client: Client) -> None:
    """CO-5, PL-3: what cannot be undone asks for the name; then the key opens nothing, and the log says why."""
    secret = secret_in(client.post(keys(aurora, "new"), NEW))
    address = keys(aurora, str(only_key(aurora).id), "revoke")
    text = client.get(address).content.decode()
    assert "Revoke the key “agents” in Aurora?" in text
    assert "This cannot be undone." in text
    assert client.post(address, {"name": "agent", "reason": "Leaked"}).status_code == 422
    assert InProcess(secret).write(factories.write()).status == 200
    assert client.post(address, {"name": "agents", "reason": "Leaked"})["Location"] == keys(aurora)
    assert InProcess(secret).write(factories.write()).code == "unauthenticated"
    with access.bound(aurora.id):
        entry = AuditEntry.objects.filter(act="key.revoke").latest("seq")
    assert entry.reason == "Leaked"


def test_dead_key_offers_nothing_and_takes_nothing(aurora: WorkspaceRef, client: Client) -> None:
    """PL-3: a revoked key is listed as such, without buttons, and has no successor."""
    client.post(keys(aurora, "new"), NEW)
    key = only_key(aurora)
    client.post(keys(aurora, str(key.id), "revoke"), {"name": "agents", "reason": "Leaked"})
    row = client.get(keys(aurora, "")[:-1], {"state": "revoked"}).context["keys"][0]
    assert (row.status, row.rotate_url, row.revoke_url) == ("revoked", "", "")
    answer = client.post(keys(aurora, str(key.id), "rotate"), {"overlap": 2, "reason": "Routine"})
    assert 400 <= answer.status_code < 500
    with access.bound(aurora.id):
        assert ApiKey.objects.filter(name="agents").count() == 1


def test_filters_narrow_the_keys(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4: by state and by scope, each with its chip."""
    for scopes in (["agent_state"], ["admin"]):
        client.post(keys(aurora, "new"), {**NEW, "name": scopes[0], "scopes": scopes})
    page = client.get(keys(aurora), {"scope": "admin", "state": "active"})
    assert [row.name for row in page.context["keys"]] == ["admin"]
    text = page.content.decode()
    assert 'class="chip" href="' + keys(aurora) + '?scope=admin"' in text
    assert "No key fits these filters" in client.get(keys(aurora), {"state": "expired"}).content.decode()


def test_key_that_ends_soon_is_marked(aurora: WorkspaceRef, client: Client) -> None:
    """PL-3: fourteen days before its end a key says so."""
    client.post(keys(aurora, "new"), {**NEW, "expires": 13})
    assert client.get(keys(aurora)).context["keys"][0].status == "expiring"
    assert "Expires soon" in client.get(keys(aurora)).content.decode()


def test_auditor_reads_the_keys_and_changes_none(aurora: WorkspaceRef, signed_in: SignedIn) -> None:
    """PL-2: who reads only has no button."""
    factories.make_key(aurora)
    auditor = signed_in(factories.make_person(aurora, "auditor", name="Alba"))
    page = auditor.get(keys(aurora))
    assert (page.context["new_url"], page.context["keys"][0].rotate_url) == ("", "")


def test_key_of_another_workspace_is_not_there(
    aurora: WorkspaceRef, boreal: WorkspaceRef, client: Client
) -> None:
    """PL-1: an id of elsewhere is no id here."""
    factories.make_key(boreal)
    foreign = str(only_key(boreal).id)
    for act in ("rotate", "revoke"):
        assert client.get(keys(aurora, foreign, act)).status_code == 404
        form = {"name": "tests", "reason": "x", "overlap": 1}
        assert client.post(keys(aurora, foreign, act), form).status_code == 404
    assert only_key(boreal).revoked_at is None
