"""The Celery application. Apps declare `shared_task`s; only this module knows the application."""

import logging
import os
from datetime import UTC, datetime
from typing import Any

from celery import Celery
from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun
from celery.states import SUCCESS
from django.conf import settings
from django.db import Error

from console.schedule import SCHEDULE, SCHEDULED

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

log = logging.getLogger("lastro.worker")

app = Celery("lastro")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    beat_schedule=SCHEDULE,
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    timezone="UTC",
)
if settings.CELERY_BROKER_URL.startswith("redis"):
    # A request that wakes a worker does not wait for a broker that does not answer.
    app.conf.broker_transport_options = {"socket_connect_timeout": 2}
app.autodiscover_tasks()


@setup_logging.connect
def _keep_our_logging(**_: object) -> None:
    """Keep Celery from replacing the content-free log lines with its own."""
    from console.logging import configure

    configure(settings.LOG_LEVEL)


@before_task_publish.connect
def _stamp(headers: dict[str, Any] | None = None, **_: object) -> None:
    """Say when a task was sent, so that it is known how long it waited."""
    if headers is not None:
        headers["sent_at"] = datetime.now(UTC).timestamp()


@task_prerun.connect
def _begin(task: Any = None, **_: object) -> None:
    task.request.began_at = datetime.now(UTC)


@task_postrun.connect
def _end(task: Any = None, state: str | None = None, **_: object) -> None:
    """Note when a scheduled task ran last (PL-11); a database that is away stops no work for it."""
    if task.name not in SCHEDULED:
        return
    from workspaces.services.runs import note_run

    sent_at, now = getattr(task.request, "sent_at", None), datetime.now(UTC)
    try:
        note_run(
            name=task.name,
            sent_at=datetime.fromtimestamp(sent_at, UTC) if sent_at else None,
            began_at=getattr(task.request, "began_at", now),
            is_done=state == SUCCESS,
            now=now,
        )
    except Error as error:
        log.warning("run.not_noted", extra={"task": task.name, "error": type(error).__name__})
