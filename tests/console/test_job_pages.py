"""Long work as one list over what each kind keeps: progress, who began it, receipt and cancel (CO-9)."""

from datetime import timedelta
from html import unescape
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentstate.models import SweepRun
from assembly.models import GraphSweep
from history.models import HistorySweep
from privacy.models import ErasureRequest
from privacy.selectors.jobs import KINDS, jobs
from privacy.services import erasing, erasures, holds
from privacy.services.erasures import Asker
from privacy.services.holds import HoldWish
from privacy.types import Target
from tests import factories
from tests.console.conftest import SignedIn
from tests.console.test_lists import links
from workspaces import access
from workspaces.models import Person
from workspaces.rules.rights import ROLES
from workspaces.types import WorkspaceRef


@pytest.fixture
def client(aurora: WorkspaceRef, signed_in: SignedIn) -> Client:
    return signed_in(factories.make_person(aurora, *ROLES, name="Eva"))


def page(workspace: WorkspaceRef, rest: str = "") -> str:
    return f"/console/w/{workspace.slug}/jobs/{rest}"


def erase(workspace: WorkspaceRef, *, run: bool, hold: bool = False) -> ErasureRequest:
    """Ask for an erasure of a conversation with a state, which may be held, and let it run to its end."""
    scope = factories.scope()
    factories.make_state(workspace, scope=scope)
    now = timezone.now()
    with access.bound(workspace.id):
        if hold:
            target = Target(kind="conversation", scope_id=scope["id"])
            wish = HoldWish(target=target, reason="Case 117", ends_at=now + timedelta(days=1))
            holds.place_hold(workspace=workspace, wish=wish, person_id=None, actor=factories.SYSTEM, now=now)
        asked = erasures.request_erasure(
            workspace=workspace,
            target=Target(kind="conversation", scope_id=scope["id"]),
            asker=Asker(factories.SYSTEM, is_verified=True),
            reason="For a test",
            now=now,
        )
    if run:
        assert erasing.run(workspace=workspace, request_id=asked.id)
    with access.bound(workspace.id):
        return ErasureRequest.objects.get(id=asked.id)


def sweep(workspace: WorkspaceRef, count: int) -> None:
    """Note so many runs of each sweep, two of them at each moment."""
    now = timezone.now()
    models: tuple[Any, ...] = (SweepRun, HistorySweep, GraphSweep)
    with access.bound(workspace.id):
        for model in models:
            model.objects.bulk_create(
                model(began_at=now, ended_at=now - timedelta(minutes=number // 2), removed={"states": number})
                for number in range(count)
            )


def test_a_job_of_an_erasure_shows_its_steps_and_leads_to_its_receipt(
    aurora: WorkspaceRef, client: Client
) -> None:
    """CO-9: steps with counts, who began it, the request and the receipt; what has ended moves no more."""
    request = erase(aurora, run=True)
    answer = client.get(page(aurora, f"erasure-{request.id}/"))
    text = unescape(answer.content.decode())
    assert [step.badge for step in answer.context["steps"]] == ["success"] * len(answer.context["steps"])
    assert {str(step.title): step.count for step in answer.context["steps"]}["Working memory"] == "1 of 1"
    assert answer.context["job"].by == factories.SYSTEM.name
    receipt = f"/console/w/{aurora.slug}/erasures/{request.id}/receipt.json"
    assert [link.title for link in answer.context["links"]] == ["The request", "Receipt"]
    assert f'href="{receipt}"' in text
    assert client.get(receipt).status_code == 200
    assert "hx-trigger" not in text


def test_a_job_that_moves_is_asked_for_again_and_can_be_cancelled_before_it_begins(
    aurora: WorkspaceRef, client: Client
) -> None:
    """CO-9: an approved erasure polls, survives a reload, and is cancelled by the form of its refusal."""
    request = erase(aurora, run=False, hold=True)
    address = page(aurora, f"erasure-{request.id}/")
    for _reload in range(2):
        answer = client.get(address)
        assert f'hx-get="{address}" hx-select="#progress"' in answer.content.decode()
    cancel = answer.context["links"][-1]
    assert (cancel.title, cancel.is_dialog) == ("Cancel", True)
    listed = client.get(page(aurora)).content.decode()
    assert f"#status-erasure-{request.id},#progress-erasure-{request.id}" in listed
    refusal = {"refusal": "identity_not_verified", "reason": "No answer"}
    assert client.post(cancel.url, refusal).status_code == 303
    assert client.get(page(aurora)).context["jobs"] == []


def test_an_erasure_that_has_begun_says_why_it_is_not_cancelled(aurora: WorkspaceRef, client: Client) -> None:
    """CO-9: half an erasure could not be undone."""
    request = erase(aurora, run=True)
    with access.bound(aurora.id):
        ErasureRequest.objects.filter(id=request.id).update(status="running", ended_at=None)
    answer = client.get(page(aurora, f"erasure-{request.id}/"))
    assert "Cancel" not in [link.title for link in answer.context["links"]]
    assert "carried to its end" in answer.content.decode()


def test_every_kind_stands_in_one_list(aurora: WorkspaceRef, client: Client) -> None:
    """CO-9: erasures and sweeps by their time, and a filter by the kind."""
    erase(aurora, run=True)
    sweep(aurora, 1)
    kinds = [job.name.partition("-")[0] for job in client.get(page(aurora)).context["jobs"]]
    assert sorted(kinds) == ["erasure", "graph", "history", "states"]
    only = client.get(page(aurora, "?kind=history")).context["jobs"]
    assert [str(job.title) for job in only] == ["Sweep of history"]
    assert client.get(page(aurora, only[0].url.rsplit("/", 2)[1] + "/")).status_code == 200


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pages_show_each_job_once_both_ways(aurora: WorkspaceRef, size: int) -> None:
    """CO-4, CO-9: at equal times and across kinds no job is left out or shown twice, older or newer."""
    sweep(aurora, 4)
    with access.bound(aurora.id):
        everything = [job.name for job in jobs(KINDS).rows]
        assert len(everything) == len(set(everything)) == 12
        pages = [jobs(KINDS, size=size)]
        while pages[-1].older:
            pages.append(jobs(KINDS, older=pages[-1].older, size=size))
        assert [job.name for one in pages for job in one.rows] == everything
        for later, one in pairwise(pages):
            assert [job.name for job in jobs(KINDS, newer=one.newer, size=size).rows] == [
                job.name for job in later.rows
            ]


def test_the_list_asks_as_much_for_many_as_for_one(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4, CO-13: one query a kind, however many jobs there are."""

    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(page(aurora)).status_code == 200
        return len(captured)

    sweep(aurora, 1)
    erase(aurora, run=True)
    few = asked()
    sweep(aurora, 60)
    erase(aurora, run=True)
    assert asked() == few
    assert list(links(client.get(page(aurora)).content.decode())) == ["Older"]


@pytest.mark.parametrize("cursor", ["x", "AAAA", "ÿ", "a" * 4000, "kdlvAAAAAAA="])
def test_a_cursor_that_no_list_gave_is_refused(aurora: WorkspaceRef, client: Client, cursor: str) -> None:
    """CO-4: a torn address is answered with a page of ours."""
    assert client.get(page(aurora), {"older": cursor}).status_code == 422


@pytest.mark.parametrize(
    "name", ["nothing-1", "states-0", "states-x", "erasure-1", "states", "states-" + "9" * 40]
)
def test_a_job_that_does_not_exist_is_not_found(aurora: WorkspaceRef, client: Client, name: str) -> None:
    """CO-9: whatever an address names, it is a job or there is no such page."""
    assert client.get(page(aurora, f"{name}/")).status_code == 404


@pytest.mark.parametrize(
    ("role", "kinds"),
    [
        ("engineer", {"states", "history", "graph"}),
        ("auditor", {"states", "history", "graph", "export"}),
        ("privacy", {"states", "history", "graph", "export", "erasure", "package"}),
    ],
)
def test_a_role_sees_the_jobs_that_are_its_own(
    aurora: WorkspaceRef, signed_in: SignedIn, role: str, kinds: set[str]
) -> None:
    """PL-2, CO-8: what somebody may not see is neither offered nor listed, and its address names the permission."""
    request = erase(aurora, run=True)
    person: Person = factories.make_person(aurora, role, name="Role")
    client = signed_in(person)
    answer = client.get(page(aurora))
    assert {value for value, _label in answer.context["filters"][0].choices} == kinds
    shown = {job.name.partition("-")[0] for job in answer.context["jobs"]}
    assert shown == ({"erasure"} if role == "privacy" else set())
    found = client.get(page(aurora, f"erasure-{request.id}/"))
    assert found.status_code == (200 if role == "privacy" else 403)
    assert role == "privacy" or "<code>request_erasure</code>" in found.content.decode()
