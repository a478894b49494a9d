"""Periodic work of the ground floor."""

from celery import shared_task
from django.utils import timezone

from workspaces import access
from workspaces.services import answers


@shared_task(name="workspaces.tasks.forget_answers")
def forget_answers() -> None:
    """Forget the remembered answers that are past their 24 hours, in every workspace."""
    for workspace in access.every_workspace():
        with access.bound(workspace.id):
            while answers.forget_old_answers(now=timezone.now()) == answers.BATCH:
                pass
