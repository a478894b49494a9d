"""One erasure as its steps see it, and a worker's claim on it (PR-13)."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.db.models import Q, QuerySet
from django.utils import timezone

from privacy.models import ErasureRequest, ErasureStep
from workspaces.models import Erasure
from workspaces.types import Key, WorkspaceRef

Status = ErasureRequest.Status
LEASE = timedelta(seconds=60)


class Work(msgspec.Struct, frozen=True):
    """One erasure as its steps see it."""

    workspace: WorkspaceRef
    request: ErasureRequest
    erasure: Erasure
    key: Key
    now: datetime


class NotErased(RuntimeError):
    """Something that an erasure covers is still there: it is looked at again, and never reported as gone."""


def waiting(now: datetime) -> QuerySet[ErasureRequest]:
    """List the requests of the bound workspace that a worker may take up."""
    found = ErasureRequest.objects.filter(status__in=[Status.APPROVED, Status.RUNNING])
    return found.filter(Q(claimed_until=None) | Q(claimed_until__lt=now))


def claim(request_id: UUID) -> bool:
    """Take a request up, unless another worker has it; tell whether it was taken."""
    now = timezone.now()
    return waiting(now).filter(id=request_id).update(claimed_until=now + LEASE) == 1


def renew(request_id: UUID) -> bool:
    """Say that the worker lives; tell whether the claim still stands."""
    rows = ErasureRequest.objects.filter(id=request_id, claimed_until__isnull=False)
    return rows.update(claimed_until=timezone.now() + LEASE) == 1


def release(request_id: UUID) -> None:
    """Let another worker take a request up."""
    ErasureRequest.objects.filter(id=request_id).update(claimed_until=None)


def note_progress(work: Work, step: str, kind: str) -> None:
    """Keep how many things of a kind a step has removed."""
    done = work.erasure.items.filter(kind=kind).count()
    ErasureStep.objects.filter(request=work.request, name=step).update(done=done)
