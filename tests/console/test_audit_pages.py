"""The audit log: filtered by choices, turned both ways, entry by entry (PR-23, CO-4)."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from tests import factories
from tests.console.conftest import SignedIn
from workspaces import access, audit
from workspaces.models import AuditEntry, Person
from workspaces.selectors.audit import known_acts, known_object_kinds
from workspaces.types import Actor, AuditObject, WorkspaceRef


@pytest.fixture
def client(security: Person, signed_in: SignedIn) -> Client:
    return signed_in(security)


def log(workspace: WorkspaceRef) -> str:
    return f"/console/w/{workspace.slug}/audit/"


def acts(client: Client, workspace: WorkspaceRef, **filters: str) -> list[str]:
    return [row.action for row in client.get(log(workspace), filters).context["entries"]]


def note(
    workspace: WorkspaceRef, act: str, *, actor: Actor = factories.SYSTEM, at: datetime | None = None
) -> None:
    with access.bound(workspace.id):
        audit.record(act, actor=actor, now=at or timezone.now(), on=AuditObject("feature", "agent_state"))


def test_log_is_filtered_by_act_actor_object_and_day(
    aurora: WorkspaceRef, client: Client, security: Person
) -> None:
    """PR-23: each filter narrows the log, alone and together."""
    ana = Actor(kind="person", id=str(security.id), name=security.email)
    note(aurora, "feature.disable", actor=ana)
    note(aurora, "feature.enable", actor=ana, at=datetime(2026, 1, 15, 12, tzinfo=ZoneInfo("UTC")))
    assert acts(client, aurora, action="feature.disable") == ["feature.disable"]
    assert set(acts(client, aurora, action="feature.*")) == {"feature.enable", "feature.disable"}
    assert acts(client, aurora, actor=str(security.id)) == ["feature.enable", "feature.disable"]
    assert "feature.enable" in acts(client, aurora, object="feature:agent_state")
    assert set(acts(client, aurora, object="person")) == {"person.join"}
    inside = {"from": "2026-01-15", "to": "2026-01-15"}
    assert acts(client, aurora, **inside) == ["feature.enable"]
    assert acts(client, aurora, **inside, action="feature.disable") == []
    assert acts(client, aurora, **{"from": "2026-01-16", "to": "2026-01-31"}) == []


def test_days_are_those_of_the_persons_zone(aurora: WorkspaceRef, client: Client, security: Person) -> None:
    """CO-11: a day begins when it begins for who reads."""
    note(aurora, "feature.disable", at=datetime(2026, 1, 15, 1, 30, tzinfo=ZoneInfo("UTC")))
    days = {"from": "2026-01-14", "to": "2026-01-14"}
    assert acts(client, aurora, **days) == []
    Person.objects.filter(id=security.id).update(time_zone="America/Sao_Paulo")
    assert acts(client, aurora, **days) == ["feature.disable"]


def test_filters_offer_choices_alone(aurora: WorkspaceRef, client: Client, security: Person) -> None:
    """CO-3, CO-4: nothing is typed into a filter, so that no handle gets into an address; every choice is there."""
    page = client.get(log(aurora), {"object": "feature:agent_state"})
    filters = {each.name: each for each in page.context["filters"]}
    assert {each.kind for each in filters.values()} == {"select", "date"}
    with access.bound(aurora.id):
        assert {value for value, _ in filters["action"].choices} >= set(known_acts())
        assert [value for value, _ in filters["object"].choices] == [
            "feature:agent_state",
            *known_object_kinds(),
        ]
    assert filters["actor"].choices == [(str(security.id), security.name)]
    assert filters["object"].shown == "agent_state"


def test_log_goes_both_ways_with_its_filters(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4: more than a page of entries is turned without losing one, and the count is capped in words."""
    for _ in range(60):
        note(aurora, "feature.tested")
    first: Any = client.get(log(aurora), {"action": "feature.tested"})
    older: Any = client.get(
        log(aurora), {"action": "feature.tested", "older": first.context["page"]["older"]}
    )
    back: Any = client.get(log(aurora), {"action": "feature.tested", "newer": older.context["page"]["newer"]})
    urls = [[row.url for row in page.context["entries"]] for page in (first, older, back)]
    assert [len(each) for each in urls] == [50, 10, 50]
    assert urls[0] == urls[2]
    assert not set(urls[0]) & set(urls[1])
    assert "Entries: 60, newest first" in first.content.decode()


def test_entry_shows_who_what_why_and_its_neighbours(
    aurora: WorkspaceRef, client: Client, security: Person
) -> None:
    """PR-21, CO-4: an entry has its facts and hashes; newer and older stay inside the filter, as does the way back."""
    for feature in ("history", "context"):
        factories.switch(aurora, feature, on=True)
        note(aurora, "key.tested")
    rows = client.get(log(aurora), {"action": "feature.*"}).context["entries"]
    page: Any = client.get(rows[1].url, {"action": "feature.*"})
    text = page.content.decode()
    with access.bound(aurora.id):
        entry = AuditEntry.objects.get(id=rows[1].url.rstrip("/").rpartition("/")[2])
    for words in ("feature.enable", "For a test", bytes(entry.hash).hex(), bytes(entry.previous_hash).hex()):
        assert words in text
    assert page.context["newer_url"] == f"{rows[0].url}?action=feature.%2A"
    assert page.context["older_url"] == f"{rows[2].url}?action=feature.%2A"
    assert page.context["list_url"] == f"{log(aurora)}?action=feature.%2A"
    assert client.get(page.context["list_url"]).status_code == 200
    assert client.get(rows[2].url, {"action": "feature.*"}).context["older_url"] == ""


def test_entry_of_another_workspace_is_not_there(
    aurora: WorkspaceRef, boreal: WorkspaceRef, client: Client
) -> None:
    """PL-1: an id of elsewhere is no id here."""
    with access.bound(boreal.id):
        foreign = AuditEntry.objects.all()[0].id
    assert client.get(f"{log(aurora)}{foreign}/").status_code == 404


def test_reason_with_personal_data_is_masked_before_it_is_kept(aurora: WorkspaceRef, client: Client) -> None:
    """PR-23: what the detectors find in a reason is not in the log."""
    form = {
        "version": client.get(f"/console/w/{aurora.slug}/features/agent_state/change/")
        .context["form"]["version"]
        .value()
    }
    reason = "Asked for by marta.silva@example.com, +55 11 91234-5678"
    answer = client.post(f"/console/w/{aurora.slug}/features/agent_state/change/", {**form, "reason": reason})
    assert answer.status_code == 303
    text = client.get(log(aurora)).content.decode()
    assert "Asked for by" in text
    assert "marta.silva" not in text
    assert "91234" not in text


def test_empty_filter_result_says_what_to_do(aurora: WorkspaceRef, client: Client) -> None:
    """CO-8: no entry fits, and the way out is one click."""
    text = client.get(log(aurora), {"action": "nothing.at_all"}).content.decode()
    assert "No entry fits these filters" in text
    assert f'href="{log(aurora)}">Clear all' in text
