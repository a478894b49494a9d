"""Health, for who operates the deployment: parts, scheduled work and evidence (PL-11, PR-22)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from console.celery import app
from console.schedule import SCHEDULE, SCHEDULED
from tests import factories
from tests.console.conftest import SignedIn
from workspaces import outside
from workspaces.models import Outgoing, ScheduledRun
from workspaces.services import chains, runs
from workspaces.types import WorkspaceRef

app.loader.import_default_modules()
FORGET = "workspaces.tasks.forget_answers"


@pytest.fixture(autouse=True)
def _no_other_runs(db: None) -> None:
    """Begin without the runs that workers of other tests noted."""
    ScheduledRun.objects.all().delete()


@pytest.fixture
def client(aurora: WorkspaceRef, signed_in: SignedIn) -> Client:
    return signed_in(factories.make_person(aurora, "engineer", name="Eli"))


def seen(client: Client) -> Any:
    answer = client.get("/console/health/")
    assert answer.status_code == 200
    return answer.context


def note(name: str, *, ago: timedelta, is_done: bool = True) -> None:
    at = timezone.now() - ago
    runs.note_run(name=name, sent_at=at - timedelta(seconds=3), began_at=at, is_done=is_done, now=at)


def test_parts_and_versions_are_named(client: Client) -> None:
    """PL-11: what /readyz asks is there for people too, with the versions of what answers."""
    context = seen(client)
    badges = {str(part.title): part.badge for part in context["parts"]}
    assert badges["Database of the content"] == badges["Hot store"] == badges["Broker"] == "there"
    assert all(context["versions"].values())
    assert isinstance(context["waiting"], int)


def test_a_part_that_is_away_is_said_and_the_page_comes(client: Client, settings: Settings) -> None:
    """PL-11: without hot store and broker the page says so."""
    settings.HOT_STORE_URL, settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0", "redis://127.0.0.1:1/1"
    context = seen(client)
    badges = {str(part.title): part.badge for part in context["parts"]}
    assert (badges["Hot store"], badges["Broker"], badges["Database of the content"]) == (
        "missing",
        "missing",
        "there",
    )
    assert (context["waiting"], context["versions"]["Valkey"]) == (None, "")


def test_every_scheduled_task_has_a_line(client: Client) -> None:
    """PL-11: a task that has not run yet is not said to be well."""
    tasks = {task.name: task.badge for task in seen(client)["tasks"]}
    assert tasks == {str(entry["task"]): "never_seen" for entry in SCHEDULE.values()}


def test_runs_that_are_late_or_failed_are_said(client: Client) -> None:
    """PL-11: late is who has missed three turns; who failed last says so, and when it went well last."""
    often, seldom, failed = "privacy.tasks.run_erasures", FORGET, "history.tasks.sweep_history"
    note(often, ago=timedelta(minutes=10))
    note(seldom, ago=timedelta(minutes=100))
    note(failed, ago=timedelta(seconds=50))
    note(failed, ago=timedelta(seconds=5), is_done=False)
    context = seen(client)
    tasks = {task.name: task for task in context["tasks"]}
    assert (tasks[often].badge, tasks[seldom].badge, tasks[failed].badge) == ("late", "success", "failed")
    assert tasks[failed].done_at < tasks[failed].ended_at
    assert tasks[often].waited_seconds == pytest.approx(3)
    badges = {str(part.title): part.badge for part in context["parts"]}
    assert badges["Workers"] == badges["Scheduler (beat)"] == "there"


def test_workers_that_do_nothing_for_minutes_are_missing(client: Client) -> None:
    """PL-11: nothing sent and nothing done for two minutes, though much is due every ten seconds."""
    note("privacy.tasks.run_erasures", ago=timedelta(minutes=3))
    badges = {str(part.title): part.badge for part in seen(client)["parts"]}
    assert badges["Workers"] == badges["Scheduler (beat)"] == "missing"


def test_a_worker_notes_each_scheduled_run(db: None) -> None:
    """PL-11: the end of a task is noted with when it was sent, and a failure as one; other tasks are not."""
    before, task = datetime.now(UTC), app.tasks[FORGET]
    task.apply(headers={"sent_at": (before - timedelta(seconds=8)).timestamp()})
    run = ScheduledRun.objects.get(name=FORGET)
    assert run.is_done
    assert before <= run.began_at <= run.ended_at == run.done_at
    assert ScheduledRun.objects.count() == 1


def test_a_task_that_fails_is_noted_as_failed(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-11: what went well before stays in its own column."""
    task = app.tasks[FORGET]
    task.apply()
    well = ScheduledRun.objects.get(name=FORGET).done_at
    monkeypatch.setattr("workspaces.tasks.access.workspaces_with", lambda *_: 1 / 0)
    task.apply()
    run = ScheduledRun.objects.get(name=FORGET)
    assert (run.is_done, run.done_at) == (False, well)


def test_the_names_of_the_schedule_are_tasks(db: None) -> None:
    """PL-11: every entry of the schedule names a task that a worker knows."""
    assert SCHEDULED.keys() <= app.tasks.keys()


def test_chains_say_what_their_last_verification_found(
    aurora: WorkspaceRef, boreal: WorkspaceRef, client: Client
) -> None:
    """PR-22: the deployment's chain and those of the person's own workspaces, and of no other."""
    chains.verify_and_note(str(aurora.id), now=timezone.now())
    rows = seen(client)["chains"]
    assert [row.title for row in rows] == ["The deployment", "Aurora"]
    assert rows[1].badge == "verified"
    assert rows[1].verified_seq > 0


def test_evidence_that_waits_is_said(client: Client, settings: Settings, tmp_path: Any) -> None:
    """PR-22: how much waits to leave, since when, and that nothing leaves where no place is named."""
    settings.CHECKPOINTS_URL = ""
    assert seen(client)["leaving"].badge == "off"
    settings.CHECKPOINTS_URL = f"file://{tmp_path}"
    assert not Outgoing.objects.exists() or Outgoing.objects.all().delete()
    assert seen(client)["leaving"].badge == "success"
    at = timezone.now() - outside.LATE_AFTER - timedelta(seconds=1)
    Outgoing.objects.create(kind="checkpoint", name="x/1", document={}, made_at=at, attempts=3)
    leaving = seen(client)["leaving"]
    assert (leaving.badge, leaving.waiting, leaving.oldest_at, leaving.attempts) == ("late", 1, at, 3)
