"""The Celery application. Apps declare `shared_task`s; only this module knows the application."""

import os

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings

from console.schedule import SCHEDULE

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

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
    from console import logging

    logging.configure(settings.LOG_LEVEL)
