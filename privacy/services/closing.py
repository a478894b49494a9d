"""Closing a workspace: an erasure of all that it keeps, under one receipt, by steps that resume (PL-5b)."""

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from agentstate.services import closing as states
from assembly.services import closing as graphs
from assembly.services.removal import RECORDS
from history.services import closing as sessions
from history.services.erasures import SESSIONS
from privacy.models import ErasureRequest, ErasureStep, PackageChunk, PackageRun
from privacy.rules.erasures import CLOSING
from privacy.services.packages import erase_packages
from privacy.services.work import NotErased, Work, note_progress, renew
from workspaces import encryption
from workspaces.barriers import note_erased
from workspaces.encryption import retire_keys
from workspaces.errors import KeyDestroyed
from workspaces.models import (
    Erasure,
    Handle,
    HeldKey,
    Hold,
    Profile,
    RememberedAnswer,
    Tombstone,
    Workspace,
    WrappedKey,
)
from workspaces.services import credentials
from workspaces.types import Actor, WorkspaceRef

Status = ErasureRequest.Status
BATCH = 200
NOTED_EVERY_SECONDS = 5.0
DRAIN = timedelta(seconds=20)
"""How long a request that was let in before may still write: longer than any write may take (WM-20)."""
CLOSER = Actor(kind="system", id="close_workspace", name="close_workspace")
REASON = "The workspace is closed."


def begin(*, workspace: WorkspaceRef, request: ErasureRequest, now: datetime) -> bool:
    """Close the bound workspace to all that is new, and plan the steps, in the caller's transaction."""
    Workspace.objects.filter(id=workspace.id, closed_at=None).update(closed_at=now)
    request.erasure = Erasure.objects.create(id=request.id, began_at=now)
    request.save(update_fields=["erasure"])
    ErasureStep.objects.bulk_create(
        [ErasureStep(request=request, position=number, name=name) for number, name in enumerate(CLOSING)],
        ignore_conflicts=True,
    )
    try:
        under = encryption.workspace_key(workspace)
        encryption.make_key(workspace, key_id=request.id, purpose="erasure", under=under, now=now)
    except KeyDestroyed:
        # It was closed once, and its content was restored from a backup: the keys stay gone.
        return True
    return True


def reached(step: str) -> None:
    """Mark a point between two transactions, where a worker may end without warning."""


def last_keys(work: Work) -> list[UUID]:
    """List the workspace's own keys, which go with the receipt."""
    hashing = WrappedKey.objects.filter(purpose="hash").values_list("id", flat=True)
    return [work.workspace.key_id, *hashing]


def _stop_credentials(work: Work) -> bool:
    """Stop every key and token; and once no request that came before can write any more, those made meanwhile."""
    ErasureRequest.objects.filter(id=work.request.id, status=Status.APPROVED).update(status=Status.RUNNING)
    _revoke_all()
    left = work.erasure.began_at + DRAIN - timezone.now()
    if left > timedelta(0):
        time.sleep(min(left.total_seconds(), 1.0))
        return False
    _revoke_all()
    return True


def _revoke_all() -> None:
    while credentials.revoke_batch(reason=REASON, actor=CLOSER, now=timezone.now()):
        reached("credentials.batch")


def _take_states(work: Work) -> bool:
    return _until_done(
        work,
        "all_states",
        states.KIND,
        lambda: states.take_out_batch(workspace=work.workspace, erasure=work.erasure, key=work.key),
    )


def _take_sessions(work: Work) -> bool:
    return _until_done(
        work,
        "all_sessions",
        SESSIONS,
        lambda: sessions.take_out_batch(workspace=work.workspace, erasure=work.erasure, key=work.key),
    )


def _take_graphs(work: Work) -> bool:
    return _until_done(
        work,
        "all_graphs",
        RECORDS,
        lambda: graphs.take_out_batch(
            workspace=work.workspace, erasure=work.erasure, key=work.key, now=work.now
        ),
    )


def _take_packages(work: Work) -> bool:
    """Take out the packages of everybody, whoever asked for them."""
    while people := list(PackageRun.objects.values_list("profile_id", flat=True).distinct()[:BATCH]):
        for run_id in PackageRun.objects.filter(profile_id__in=people).values_list("id", flat=True):
            note_erased(work.erasure, "packages", run_id, run_id.bytes, key=work.key)
        erase_packages(workspace=work.workspace, profile_ids=people)
        reached("all_packages.batch")
        if not renew(work.request.id):
            return False
    note_progress(work, "all_packages", "packages")
    return True


def _take_people(work: Work) -> bool:
    return _until_done(work, "all_people", "handles", lambda: _take_handles(work)) and _until_done(
        work, "all_people", "handles", lambda: _take_profiles(work)
    )


@transaction.atomic
def _take_handles(work: Work) -> bool:
    handles = list(Handle.objects.select_for_update().order_by("id")[:BATCH])
    for handle in handles:
        note_erased(work.erasure, "handles", handle.id, handle.id.bytes, bytes(handle.hash), key=work.key)
    retire_keys(work.workspace, *(handle.id for handle in handles))
    Handle.objects.filter(id__in=[handle.id for handle in handles]).delete()
    return Handle.objects.exists()


@transaction.atomic
def _take_profiles(work: Work) -> bool:
    profiles = list(Profile.objects.select_for_update().order_by("id")[:BATCH])
    for profile in profiles:
        note_erased(work.erasure, "profiles", profile.id, profile.id.bytes, key=work.key)
    Profile.objects.filter(id__in=[profile.id for profile in profiles]).delete()
    return Profile.objects.exists()


def _take_remains(work: Work) -> bool:
    """Take out what is left beside the content: kept versions, ended holds, tombstones, remembered answers."""
    is_over = _until_done(
        work,
        "remains",
        "kept_versions",
        lambda: states.take_out_kept_versions(erasure=work.erasure, key=work.key),
    ) and _until_done(
        work,
        "remains",
        "kept_messages",
        lambda: sessions.take_out_kept_items(erasure=work.erasure, key=work.key),
    )
    for model in _REMAINS if is_over else ():
        while _delete_batch(model.objects.all()):
            reached("remains.batch")
    return is_over


def _destroy_keys(work: Work) -> bool:
    """Destroy every key but the last ones: what they sealed is gone for good."""
    while batch := list(_other_keys(work).values_list("id", flat=True)[:BATCH]):
        encryption.destroy_keys(work.workspace, *batch)
        reached("keys.batch")
        if not renew(work.request.id):
            return False
    return True


def _verify(work: Work) -> bool:
    """Look for anything that is left, in both databases."""
    left = {
        "states": states.is_anything_left(),
        "sessions": sessions.is_anything_left(),
        "graphs": graphs.is_anything_left(),
        "packages": PackageRun.objects.exists() or PackageChunk.objects.exists(),
        "people": Handle.objects.exists() or Profile.objects.exists(),
        "remains": any(model.objects.exists() for model in _REMAINS),
        "keys": _other_keys(work).exists(),
    }
    if any(left.values()):
        raise NotErased(", ".join(name for name, is_there in left.items() if is_there))
    return True


def _other_keys(work: Work) -> QuerySet[WrappedKey]:
    return WrappedKey.objects.exclude(id__in=[work.erasure.id, *last_keys(work)])


def _until_done(work: Work, step: str, kind: str, batch: Callable[[], bool]) -> bool:
    """Do batches until nothing is left; give up where the claim is lost."""
    is_left, noted = True, 0.0
    while is_left:
        is_left = batch()
        if not is_left or time.monotonic() - noted > NOTED_EVERY_SECONDS:
            note_progress(work, step, kind)
            noted = time.monotonic()
        reached(f"{step}.batch")
        if not renew(work.request.id):
            return False
    return True


def _delete_batch(rows: QuerySet[Model]) -> int:
    ids = list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])
    rows.filter(pk__in=ids).delete()
    return len(ids)


_REMAINS = (HeldKey, Hold, Tombstone, RememberedAnswer)

STEPS: Mapping[str, Callable[[Work], bool]] = {
    "credentials": _stop_credentials,
    "all_states": _take_states,
    "all_sessions": _take_sessions,
    "all_graphs": _take_graphs,
    "all_packages": _take_packages,
    "all_people": _take_people,
    "remains": _take_remains,
    "keys": _destroy_keys,
    "nothing_left": _verify,
}
