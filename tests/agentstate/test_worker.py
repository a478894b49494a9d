"""The periodic work runs in a real Celery worker, by a real broker."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from agentstate.models import State
from console.celery import app
from console.schedule import SCHEDULE
from tests import factories
from tests.server import database_urls_of_tests
from workspaces import access


@pytest.fixture
def worker(committed: None, tmp_path: Path) -> Iterator[str]:
    """A worker over this test's database, on a queue of its own."""
    queue = f"tests-{os.getpid()}"
    command = [sys.executable, "-m", "celery", "-A", "console", "worker", "--pool", "solo", "-Q", queue]
    environment = {**os.environ, **database_urls_of_tests()}
    with (tmp_path / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=Path.cwd()
        )
    yield queue
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_worker_removes_what_has_expired(worker: str) -> None:
    """WM-21, PR-20: the task that beat sends every minute turns an expired state into its tombstone."""
    workspace = factories.make_ready_workspace()
    factories.make_state(workspace, now=timezone.now() - timedelta(days=31))
    app.send_task(str(SCHEDULE["states.sweep"]["task"]), queue=worker)
    deadline = time.monotonic() + 60
    with access.bound(workspace.id):
        while (state := State.objects.get()).life == State.Life.LIVE and time.monotonic() < deadline:
            time.sleep(0.1)
        assert state.life == State.Life.EXPIRED
        assert state.body is None


def test_every_scheduled_task_exists() -> None:
    """PR-20: what beat sends by name is a task that a worker knows."""
    app.loader.import_default_modules()
    assert {str(entry["task"]) for entry in SCHEDULE.values()} <= set(app.tasks)
