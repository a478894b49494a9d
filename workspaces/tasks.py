"""Periodic work of the ground floor."""

from celery import shared_task
from django.utils import timezone

from workspaces import access, outside
from workspaces.rules.usage import KEPT
from workspaces.services import answers, chains, checkpoints, encryption, lockouts, sessions, usage


@shared_task(name="workspaces.tasks.forget_answers")
def forget_answers() -> None:
    """Forget the remembered answers that are past their 24 hours, in every workspace that has some."""
    before = timezone.now() - answers.REMEMBERED_FOR
    for workspace in access.workspaces_with("lastro_with_old_answers", before):
        with access.bound(workspace.id):
            while answers.forget_old_answers(now=timezone.now()) == answers.BATCH:
                pass


@shared_task(name="workspaces.tasks.destroy_retired_keys")
def destroy_retired_keys() -> None:
    """Destroy the keys that a crash has left behind their content, in every workspace that has some (PR-15)."""
    for workspace in access.workspaces_with("lastro_with_retired_keys"):
        with access.bound(workspace.id):
            while encryption.destroy_retired_keys(workspace=workspace) == encryption.BATCH:
                pass


@shared_task(name="workspaces.tasks.deliver_outside")
def deliver_outside() -> None:
    """Deliver the signed documents that wait to leave the database (PR-15b, PR-22)."""
    outside.deliver_waiting()


@shared_task(name="workspaces.tasks.make_checkpoints")
def make_checkpoints() -> None:
    """Sign the head of every audit chain whose last checkpoint is an hour old, for the place outside (PR-22)."""
    now = timezone.now()
    due = access.workspaces_with("lastro_with_due_checkpoints", now, checkpoints.EVERY)
    checkpoints.make_due_checkpoints(due, now=now)


@shared_task(name="workspaces.tasks.verify_audit")
def verify_audit() -> None:
    """Verify every audit chain and note what was found, which the console shows (PR-22)."""
    for chain in checkpoints.every_chain():
        chains.verify_and_note(chain, now=timezone.now())


@shared_task(name="workspaces.tasks.forget_sessions")
def forget_sessions() -> None:
    """Forget the sessions that are over, and the networks from which nobody fails any more (PL-4)."""
    sessions.forget_expired(now=timezone.now())
    lockouts.forget_failures(now=timezone.now())


@shared_task(name="workspaces.tasks.forget_usage")
def forget_usage() -> None:
    """Forget the numbers of hours that are older than 92 days, in every workspace that has some (CO-10)."""
    now = timezone.now()
    for workspace in access.workspaces_with("lastro_with_old_usage", now - KEPT):
        with access.bound(workspace.id):
            while usage.forget_old_hours(now=now) == usage.FORGOTTEN_AT_ONCE:
                pass
