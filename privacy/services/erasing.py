"""Running an erasure, step by step; a worker that was killed is followed by another one (PR-13)."""

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from agentstate.models import State
from agentstate.services import erasures as states
from assembly.models import LooseBlob
from assembly.selectors.erasures import waiting as waiting_graphs
from assembly.services import erasures as graphs
from assembly.services import payloads
from history.models import Session
from history.services import erasures as sessions
from privacy.models import ErasureRequest, ErasureStep, PackageRun
from privacy.services import barriers, closing, receipts
from privacy.services.packages import Erased, erase_packages
from privacy.services.work import NotErased, Work, claim, note_progress, release, renew, waiting
from workspaces import access, encryption
from workspaces.barriers import digest_key, note_erased
from workspaces.encryption import retire_keys
from workspaces.errors import KeyDestroyed, Unavailable
from workspaces.models import ErasedItem, Erasure, Handle, Profile, WrappedKey
from workspaces.types import Key, WorkspaceRef

Status = ErasureRequest.Status
PAUSE_SECONDS = 0.05
PATIENCE = 100
NOTHING_LEFT = Erased()


def run(*, workspace: WorkspaceRef, request_id: UUID) -> bool:
    """Run an approved erasure to its end, or as far as it comes; tell whether it is complete (PR-13).

    1. Claim the request, so that one worker is at it; a claim ends by itself after a minute without a sign of life.
    2. Begin it, if a hold kept it until now.
    3. Do the steps that have not ended, each in transactions of its own that can be repeated.
    """
    with access.bound(workspace.id):
        if not claim(request_id):
            return False
        request = ErasureRequest.objects.select_related("erasure").get(id=request_id)
        if request.erasure is None and not barriers.begin(
            workspace=workspace, request=request, now=timezone.now()
        ):
            release(request_id)
            return False
        return _run_steps(workspace, request_id)


def run_to_the_end(*, workspace: WorkspaceRef, request_id: UUID) -> None:
    """Run an approved erasure until it is complete, beside any other worker that has it: for a command."""
    with access.bound(workspace.id):
        while ErasureRequest.objects.get(id=request_id).is_open:
            if not run(workspace=workspace, request_id=request_id):
                time.sleep(PAUSE_SECONDS)


def reached(step: str) -> None:
    """Mark a point between two transactions, where a worker may end without warning."""


def due(now: datetime) -> list[UUID]:
    """List the requests of the bound workspace that a worker may take up."""
    return list(waiting(now).order_by("approved_at").values_list("id", flat=True))


def _run_steps(workspace: WorkspaceRef, request_id: UUID) -> bool:
    request = ErasureRequest.objects.select_related("erasure").get(id=request_id)
    assert request.erasure is not None  # noqa: S101  (it has begun)
    work = Work(workspace, request, request.erasure, _digest_key(workspace, request), timezone.now())
    for step in request.steps.filter(ended_at=None).order_by("position"):
        _begin_step(step)
        reached(step.name)
        if not _STEPS[step.name](work):
            release(request_id)
            return False
        reached(f"{step.name}.done")
        _end_step(step)
        reached(f"{step.name}.ended")
    return True


def _stand(work: Work) -> bool:
    """Bar the keys, where the one who approved did not come to it."""
    barriers.stand(workspace=work.workspace, request_id=work.request.id)
    return True


def _erase_states(work: Work) -> bool:
    """Erase the marked states; what was written under the barred keys while they were marked is marked now."""
    return _in_batches(work, "working_memory", states.KIND, states.erase_batch, size=states.BATCH)


def _erase_sessions(work: Work) -> bool:
    """Erase the marked sessions, as the states."""
    return _in_batches(work, "history", sessions.SESSIONS, sessions.erase_batch, size=sessions.BATCH)


def _erase_graphs(work: Work) -> bool:
    """Take out what is marked of graphs, and seal anew what stays of them."""
    return _in_batches(work, "graph", graphs.RECORDS, graphs.erase_batch, size=graphs.BATCH)


def _in_batches(work: Work, step: str, kind: str, erase_batch: Callable[..., int], *, size: int) -> bool:
    barriers.mark_again(work.workspace, work.erasure)
    barriers.stand(workspace=work.workspace, request_id=work.request.id)
    for _ in range(PATIENCE):
        left = erase_batch(workspace=work.workspace, erasure=work.erasure, key=work.key)
        note_progress(work, step, kind)
        if not left:
            return True
        if not renew(work.request.id):
            return False
        reached(f"{step}.batch")
        time.sleep(PAUSE_SECONDS if left < size else 0)
    return False


def _erase_packages(work: Work) -> bool:
    """Remove the packages of everybody whom it names: what it removes is in them too."""
    named = work.erasure.named_profile_ids
    for run_id in PackageRun.objects.filter(profile_id__in=named).values_list("id", flat=True):
        note_erased(work.erasure, "packages", run_id, run_id.bytes, key=work.key)
    while erase_packages(workspace=work.workspace, profile_ids=named) != NOTHING_LEFT:
        if not renew(work.request.id):
            return False
    note_progress(work, "packages", "packages")
    return True


@transaction.atomic
def _erase_people(work: Work) -> bool:
    """Take the handles and the person out, and give the keys of the handles up (PR-15)."""
    handles = list(Handle.objects.select_for_update().filter(erasure_id=work.erasure.id))
    for handle in handles:
        parts = (handle.id.bytes, bytes(handle.hash))
        note_erased(work.erasure, "handles", handle.id, *parts, key=work.key)
    retire_keys(work.workspace, *(handle.id for handle in handles))
    Handle.objects.filter(id__in=[handle.id for handle in handles]).delete()
    for profile in Profile.objects.filter(erasure_id=work.erasure.id):
        note_erased(work.erasure, "profiles", profile.id, profile.id.bytes, key=work.key)
        profile.delete()
    note_progress(work, "people", "handles")
    return True


def _verify(work: Work) -> bool:
    """Look for anything that is left of it, in both databases."""
    left = {
        "states": State.objects.filter(erasure_id=work.erasure.id).count(),
        "sessions": Session.objects.filter(erasure_id=work.erasure.id).count(),
        "graphs": waiting_graphs(work.erasure).count(),
        "blobs": _blobs_left(),
        "handles": Handle.objects.filter(id__in=work.erasure.handle_ids).count(),
        "profiles": Profile.objects.filter(id__in=work.erasure.profile_ids).count(),
    }
    encryption.destroy_keys(work.workspace, *_barred(work))
    left["keys"] = len(_barred(work))
    if any(left.values()):
        raise NotErased(", ".join(name for name, count in left.items() if count))
    return True


def _blobs_left() -> int:
    """Remove the blobs that nobody has any more; count those that a store which is away has kept."""
    with suppress(Unavailable):
        while payloads.sweep_blobs(now=timezone.now()):
            pass
    return LooseBlob.objects.filter(due_at__lte=timezone.now()).count()


def _barred(work: Work) -> list[UUID]:
    return list(WrappedKey.objects.filter(barred_by=work.erasure.id).values_list("id", flat=True))


@transaction.atomic
def _complete(work: Work) -> bool:
    """Sign the receipt, chain it into the audit, and let go of the digests' key (PR-14)."""
    request = ErasureRequest.objects.select_for_update().get(id=work.request.id)
    if request.status == Status.COMPLETED:
        return True
    erased, digests = counted(work.erasure)
    request.status, request.ended_at, request.erased = Status.COMPLETED, timezone.now(), erased
    receipts.issue(work.workspace, request, digests=digests)
    request.claimed_until = None
    request.save()
    Erasure.objects.filter(id=work.erasure.id).update(ended_at=request.ended_at)
    ErasureStep.objects.filter(request=request, ended_at=None).update(ended_at=request.ended_at)
    ErasedItem.objects.filter(erasure=work.erasure).delete()
    last = closing.last_keys(work) if request.target == ErasureRequest.Target.WORKSPACE else []
    retire_keys(work.workspace, work.erasure.id, *last)
    return True


def counted(erasure: Erasure) -> tuple[dict[str, int], dict[str, str]]:
    """Count what an erasure removed by kind, and fold the digests of each kind into one."""
    erased: dict[str, int] = {}
    folded: dict[str, hashlib._Hash] = {}
    for kind, digest in erasure.items.order_by("kind", "item_id").values_list("kind", "digest").iterator():
        erased[kind] = erased.get(kind, 0) + 1
        folded.setdefault(kind, hashlib.sha256()).update(bytes(digest))
    return erased, {kind: digest.hexdigest() for kind, digest in folded.items()}


def _digest_key(workspace: WorkspaceRef, request: ErasureRequest) -> Key:
    """Give the key of the digests; where a workspace that was closed before is closed again, one of this run."""
    assert request.erasure is not None  # noqa: S101  (it has begun)
    try:
        return digest_key(workspace, request.erasure)
    except KeyDestroyed:
        if request.target != ErasureRequest.Target.WORKSPACE:
            raise
        return Key(id=request.id, secret=os.urandom(32))


def _begin_step(step: ErasureStep) -> None:
    ErasureStep.objects.filter(id=step.id, began_at=None).update(began_at=timezone.now())


def _end_step(step: ErasureStep) -> None:
    ErasureStep.objects.filter(id=step.id).update(ended_at=timezone.now())


_STEPS: Mapping[str, Callable[[Work], bool]] = {
    "barrier": _stand,
    "working_memory": _erase_states,
    "history": _erase_sessions,
    "graph": _erase_graphs,
    "packages": _erase_packages,
    "people": _erase_people,
    "verify": _verify,
    "receipt": _complete,
    **closing.STEPS,
}
