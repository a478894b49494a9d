"""Legal holds in the console, and the banner on a held profile (PR-16)."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from agentstate.models import KeptVersion, SweepRun
from agentstate.tasks import sweep_all
from tests import factories
from tests.console.conftest import SignedIn
from workspaces import access
from workspaces.models import AuditEntry, Hold, Person, Profile
from workspaces.types import WorkspaceRef

ANA = {"type": "email", "value": "ana@example.com"}
PLACED = {"ends_at": "2040-12-31", "reason": "Case 117"}


@pytest.fixture
def privacy(aurora: WorkspaceRef) -> Person:
    person = factories.make_person(aurora, "privacy", name="Petra")
    person.time_zone = "America/Sao_Paulo"
    person.save()
    return person


@pytest.fixture
def client(privacy: Person, signed_in: SignedIn) -> Client:
    return signed_in(privacy)


@pytest.fixture
def profile(aurora: WorkspaceRef) -> Profile:
    factories.make_state(aurora, subject=ANA)
    with access.bound(aurora.id):
        return Profile.objects.get()


def at(workspace: WorkspaceRef, *rest: Any) -> str:
    return "/".join([f"/console/w/{workspace.slug}", *map(str, rest), ""])


def test_a_profile_is_held_and_let_go(
    aurora: WorkspaceRef, client: Client, profile: Profile, privacy: Person
) -> None:
    """PR-16: the hold ends with the day where the person is; each tab says since when, until when, why and by whom."""
    page = at(aurora, "profiles", profile.id)
    assert 'id="erase"' in client.get(page).content.decode()
    assert client.post(page + "hold/", PLACED)["Location"] == page
    with access.bound(aurora.id):
        hold = Hold.objects.get()
    assert hold.ends_at == datetime(2041, 1, 1, tzinfo=ZoneInfo("America/Sao_Paulo"))
    assert hold.placed_by_id == privacy.id

    for tab in (page, page + "working-memory/"):
        answer = client.get(tab)
        text = answer.content.decode()
        assert answer.context["profile"].held.by == "Petra"
        for words in ("Legal hold since", "Case 117", "Erasure is disabled until", "Petra"):
            assert words in text
        assert 'id="erase"' not in text
        assert 'aria-describedby="held"' in text
    (row,) = client.get(at(aurora, "profiles")).context["profiles"]
    assert row.held
    (row,) = client.get(at(aurora, "holds")).context["holds"]
    assert (row.on_id, row.status, row.on_url) == (profile.pseudonym, "standing", page)

    assert client.post(at(aurora, "holds", hold.id, "lift"), {"reason": "Closed"}).status_code == 303
    assert client.post(at(aurora, "holds", hold.id, "lift"), {"reason": "Closed"}).status_code == 409
    assert client.get(page).context["profile"].held is None
    (row,) = client.get(at(aurora, "holds"), {"state": "ended"}).context["holds"]
    assert (row.status, row.lift_reason, row.lifted_by) == ("lifted", "Closed", "Petra")
    assert client.get(at(aurora, "holds"), {"state": "standing"}).context["holds"] == []
    with access.bound(aurora.id):
        acts = AuditEntry.objects.filter(object_kind="hold").order_by("seq")
        assert list(acts.values_list("act", flat=True)) == ["hold.place", "hold.lift"]


def test_who_only_looks_sees_the_banner_and_no_way(
    aurora: WorkspaceRef, client: Client, profile: Profile, support: Person, signed_in: SignedIn
) -> None:
    """PR-16, PL-2: support sees why a profile is held, and neither lifts the hold nor asks for an erasure."""
    page = at(aurora, "profiles", profile.id)
    client.post(page + "hold/", PLACED)
    text = signed_in(support).get(page).content.decode()
    assert "Legal hold since" in text
    for absent in ("Lift the hold", "Request erasure", 'id="hold"', "/holds/"):
        assert absent not in text


def test_a_person_is_named_by_a_handle(aurora: WorkspaceRef, client: Client, profile: Profile) -> None:
    """PR-16, CO-3: a handle typed by hand finds the person and is on no page and in no entry after."""
    form = {"target": "profile", "named": ANA["value"], **PLACED}
    assert client.post(at(aurora, "holds", "new"), form).status_code == 303
    refused = client.post(at(aurora, "holds", "new"), {**form, "reason": ""})
    assert ANA["value"] not in refused.content.decode()
    with access.bound(aurora.id):
        assert Hold.objects.get().profile_id == profile.id


def test_a_conversation_is_named_by_its_id(aurora: WorkspaceRef, client: Client) -> None:
    """PR-16: its id is kept as a keyed hash alone, and what happens in it is kept."""
    form = {"target": "conversation", "named": "c-4711", **PLACED}
    assert client.post(at(aurora, "holds", "new"), form).status_code == 303
    assert "c-4711" not in client.get(at(aurora, "holds")).content.decode()
    for step in ("cart", "done"):
        factories.make_state(aurora, scope=factories.scope("c-4711"), body={"step": step})
    with access.bound(aurora.id):
        hold = Hold.objects.get()
        assert KeptVersion.objects.filter(hold=hold).count() == 1
    lifting = client.get(at(aurora, "holds", hold.id, "lift"))
    assert lifting.context["kept"] == 1


def test_retention_shows_the_periods_and_what_was_swept(aurora: WorkspaceRef, client: Client) -> None:
    """PR-20: the live document's values, what is due now, and the last run by kind of what it removed."""
    factories.make_state(aurora, now=datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")))
    page = client.get(at(aurora, "retention")).context
    assert (page["backlog"], page["runs"]) == (1, [])
    periods = {period.name: period.value for period in page["periods"]}
    assert periods["tombstones"] == "400d"
    assert periods["history.idle"]
    sweep_all()
    page = client.get(at(aurora, "retention")).context
    (run,) = page["runs"]
    assert (run.states, run.fields, run.tombstones, run.backlog) == (1, 0, 0, 0)
    assert page["backlog"] == 0
    with access.bound(aurora.id):
        assert SweepRun.objects.count() == 1
