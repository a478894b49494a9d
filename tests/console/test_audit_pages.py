"""The audit log: filtered by choices, turned both ways, entry by entry (PR-23, CO-4)."""

import csv
import hashlib
import json
from datetime import datetime
from io import StringIO
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import rfc8785
from django.test import Client
from django.utils import timezone

from tests import factories
from tests.console.conftest import SignedIn
from workspaces import access, audit
from workspaces.models import AuditEntry, AuditHead, Person
from workspaces.selectors.audit import known_acts, known_object_kinds
from workspaces.services import chains
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


def download(client: Client, workspace: WorkspaceRef, form: str, **filters: str) -> Any:
    return client.get(f"{log(workspace)}export/{form}/", filters)


def body(answer: Any) -> str:
    return b"".join(answer.streaming_content).decode()


def test_download_gives_exactly_the_filtered_rows(
    aurora: WorkspaceRef, boreal: WorkspaceRef, client: Client, security: Person
) -> None:
    """PR-23, CO-4: CSV and JSON Lines have the rows that the filters leave on screen, in their order, and no others."""
    for _ in range(60):
        note(aurora, "feature.tested")
    note(aurora, "other.tested")
    note(boreal, "feature.tested")
    answer = download(client, aurora, "csv", action="feature.tested")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Cache-Control"] == "no-store"
    assert f'attachment; filename="audit-{aurora.slug}-' in answer["Content-Disposition"]
    assert answer.streaming
    head, *table = csv.reader(StringIO(body(answer)))
    assert head == ["number", "time", "actor", "as", "action", "object", "reason", "result"]
    with access.bound(aurora.id):
        numbers = list(
            AuditEntry.objects.filter(act="feature.tested").order_by("-seq").values_list("seq", flat=True)
        )
    assert [int(row[0]) for row in table] == numbers
    assert {(row[4], row[5]) for row in table} == {("feature.tested", "feature:agent_state")}
    lines = body(download(client, aurora, "jsonl", action="feature.tested")).splitlines()
    assert [json.loads(line)["seq"] for line in lines] == numbers


def test_downloaded_entries_can_be_verified_by_anybody(aurora: WorkspaceRef, client: Client) -> None:
    """PR-22, PR-23: a line of JSON is what its hash is over, with the hash beside it."""
    factories.switch(aurora, "history", on=True)
    lines = [json.loads(line) for line in body(download(client, aurora, "jsonl")).splitlines()]
    assert len(lines) > 3
    for line in lines:
        stored = line.pop("hash")
        assert hashlib.sha256(rfc8785.dumps(line)).hexdigest() == stored


def test_a_cell_is_no_formula(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4: what a spreadsheet would run begins with an apostrophe."""
    for name in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "plain"):
        note(aurora, "feature.tested", actor=Actor(kind="key", id="k", name=name))
    _, *table = csv.reader(StringIO(body(download(client, aurora, "csv", action="feature.tested"))))
    assert [row[2] for row in table] == ["plain", "'\t=1", "'@SUM(A1)", "'-1", "'+1", "'=1+1"]


def test_a_download_is_an_act_itself(aurora: WorkspaceRef, client: Client, security: Person) -> None:
    """PR-21, PR-23: who took which part of the audit, in which form, stands in it."""
    text = body(download(client, aurora, "csv", action="feature.*", object="feature:agent_state"))
    assert "audit.export" not in text
    with access.bound(aurora.id):
        entry = AuditEntry.objects.latest("seq")
    assert (entry.act, entry.actor_id, entry.object_id) == ("audit.export", str(security.id), str(aurora.id))
    assert entry.facts == {
        "form": "csv",
        "filters": {"act": "feature.*", "object_kind": "feature", "object_id": "agent_state"},
    }


def test_a_form_that_there_is_not(aurora: WorkspaceRef, client: Client) -> None:
    """PL-10: an unknown form is no page, and nothing is written down."""
    before = audit_length(aurora)
    assert download(client, aurora, "xlsx").status_code == 404
    assert audit_length(aurora) == before


def audit_length(workspace: WorkspaceRef) -> int:
    with access.bound(workspace.id):
        return AuditEntry.objects.count()


def test_the_last_verification_is_shown(aurora: WorkspaceRef, client: Client) -> None:
    """PR-22: the log says whether its chain was verified, up to where and when, and what did not hold."""
    assert "was not verified yet" in client.get(log(aurora)).content.decode()
    chains.verify_and_note(str(aurora.id), now=timezone.now())
    text = client.get(log(aurora)).content.decode()
    assert f"The chain holds up to entry {audit_length(aurora)}" in text
    with access.bound(aurora.id):
        AuditHead.objects.update(finding="entry 3 is the first that does not verify")
    text = client.get(log(aurora)).content.decode()
    assert "The chain does not hold: entry 3 is the first that does not verify." in text


def test_an_entry_shows_whether_it_is_in_its_place(aurora: WorkspaceRef, client: Client) -> None:
    """PR-22: the hash of an entry is computed when its page is shown, and compared with its neighbour's."""
    note(aurora, "feature.tested")
    with access.bound(aurora.id):
        entries = list(AuditEntry.objects.order_by("seq"))
        assert all(map(audit.is_in_place, entries))
        entries[1].reason = "altered"
        assert not audit.is_in_place(entries[1])
    page = client.get(f"{log(aurora)}{entries[-1].id}/").content.decode()
    assert "Place in the chain" in page
    assert "Verified" in page


@pytest.mark.parametrize("path", ["documents/masking/", "types/"])
def test_the_audit_stands_beside_a_document(aurora: WorkspaceRef, client: Client, path: str) -> None:
    """CO-7: beside a document stand its last five acts, and a link to the log with that filter."""
    kind = {"types/": "object-types"}.get(path, "masking")
    for number in range(7):
        with access.bound(aurora.id):
            audit.record(
                f"document.test{number}",
                actor=factories.SYSTEM,
                now=timezone.now(),
                on=AuditObject("document", kind),
            )
    page = client.get(f"/console/w/{aurora.slug}/{path}")
    assert [change.action for change in page.context["changes"]] == [
        f"document.test{number}" for number in (6, 5, 4, 3, 2)
    ]
    listed = client.get(page.context["audit_url"]).context["entries"]
    assert {row.object for row in listed} == {kind}
