"""Building subject packages: a worker claims a run and writes its zip in sealed chunks (PR-18, PL-12).

A worker that is killed leaves a claim that ends, and another one begins again; what it had stored is dropped.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID, uuid4

import msgspec
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from privacy.access import store_chunks
from privacy.models import PackageRun
from privacy.selectors.packages import (
    Contents,
    chunk_context,
    counts_of,
    find_run,
    subject_of,
    token_hash,
    token_of,
)
from privacy.services.packages import CHUNKS_AT_ONCE, SWEPT_AT_ONCE, delete_chunks, note
from workspaces import documents, encryption
from workspaces.chunks import sealed_chunks
from workspaces.rules.documents import duration_seconds
from workspaces.types import Actor, Key, WorkspaceRef

log = logging.getLogger("lastro.privacy")

CLAIMED_FOR = timedelta(minutes=2)
"""Each batch of chunks that is stored begins this time anew."""
MAX_ATTEMPTS = 5
BUILDER = Actor(kind="system", id="packages", name="package builder")

_Status = PackageRun.Status


class ClaimLost(Exception):
    """Another worker has taken the run over, or it was revoked or erased: this one writes nothing more."""


def reached(step: str) -> None:
    """Mark a step of a build. It does nothing: tests end a worker here, as a crash would (PR-13)."""


def build_next(*, workspace: WorkspaceRef, now: datetime) -> bool:
    """Claim a package of the bound workspace that is due and build it; tell whether there was one."""
    run = _claim(workspace, now)
    if run is None:
        return False
    if run.status == _Status.BUILDING:
        try:
            _build(workspace, run, now)
        except ClaimLost:
            # Who took over has given up a key that this one may have made since.
            encryption.destroy_keys(workspace, run.data_key_id)
            log.info("package.claim_lost", extra={"workspace": str(workspace.id), "package": str(run.id)})
    return True


def _claim(workspace: WorkspaceRef, now: datetime) -> PackageRun | None:
    """Take the oldest run that waits, or whose worker has not been heard of, by an update of exactly one row.

    One that has failed too often is given up instead.
    """
    due = PackageRun.objects.filter(
        Q(status=_Status.WAITING) | Q(status=_Status.BUILDING, claimed_until__lt=now)
    )
    for run in due.order_by("asked_at")[:10]:
        with transaction.atomic():
            if due.filter(id=run.id, attempts=run.attempts).update(**_claimed(run, now)) == 1:
                encryption.retire_keys(workspace, run.data_key_id)
                claimed = find_run(run.id)
                if claimed.status == _Status.FAILED:
                    note("package.build", claimed, actor=BUILDER, now=now, result="failure")
                return claimed
    return None


def _claimed(run: PackageRun, now: datetime) -> dict[str, Any]:
    if run.attempts >= MAX_ATTEMPTS:
        return {"status": _Status.FAILED, "ended_at": now, "data_key_id": None, "claimed_until": None}
    return {
        "status": _Status.BUILDING,
        "attempts": run.attempts + 1,
        "claimed_until": now + CLAIMED_FOR,
        # Each attempt has a key of its own, so that no chunk of one before fits into it.
        "data_key_id": uuid4(),
        "step": "",
    }


def _build(workspace: WorkspaceRef, run: PackageRun, now: datetime) -> None:
    """Build a package that is claimed, in many small transactions.

    1. Make its key, which the row already names: a crash leaves none that nothing names.
    2. Remove the chunks of an attempt before.
    3. Write the zip, sealed as it comes; each batch is stored only while the claim holds, and keeps it.
    4. Make it ready, with its audit entry, in one transaction.
    """
    reached("claimed")
    under = encryption.workspace_key(workspace)
    key = encryption.make_key(workspace, key_id=_key_id(run), purpose="package", under=under, now=now)
    reached("key made")
    while _drop_chunks(run):
        pass
    contents = Contents(
        subject_of(workspace, run.profile_id, now=now), package_id=run.id, language=run.language
    )
    digest = hashlib.sha256()
    sealed = sealed_chunks(key, _digested(contents.parts(), digest), context=chunk_context(run))
    first, size_bytes = 0, 0
    while batch := list(islice(sealed, CHUNKS_AT_ONCE)):
        _store(run, batch, first=first, step=contents.step)
        first += len(batch)
        size_bytes += sum(len(chunk) - encryption.SEAL_BYTES for chunk in batch)
        reached("stored")
    reached("all stored")
    _finish(run, key, contents, sha256=digest.hexdigest(), size_bytes=size_bytes)
    reached("finished")


def _key_id(run: PackageRun) -> UUID:
    assert run.data_key_id is not None  # noqa: S101  (a claimed run names its key)
    return run.data_key_id


def _digested(parts: Iterable[bytes], digest: Any) -> Iterator[bytes]:
    for part in parts:
        digest.update(part)
        yield part


@transaction.atomic
def _drop_chunks(run: PackageRun) -> int:
    """Remove a batch of what an attempt before has stored."""
    _keep_claim(run)
    return delete_chunks([run.id], SWEPT_AT_ONCE)


def _keep_claim(run: PackageRun, **changes: Any) -> None:
    """Hold on to a claim, or find that it is lost; nobody else takes it until the transaction ends."""
    held = PackageRun.objects.filter(id=run.id, status=_Status.BUILDING, attempts=run.attempts)
    if held.update(claimed_until=timezone.now() + CLAIMED_FOR, **changes) != 1:
        raise ClaimLost


@transaction.atomic
def _store(run: PackageRun, batch: Sequence[bytes], *, first: int, step: str) -> None:
    size_bytes = F("size_bytes") + sum(map(len, batch)) if first else sum(map(len, batch))
    _keep_claim(run, chunks=F("chunks") + len(batch), size_bytes=size_bytes, step=step)
    store_chunks(run, batch, first=first)


@transaction.atomic
def _finish(run: PackageRun, key: Key, contents: Contents, *, sha256: str, size_bytes: int) -> None:
    now = timezone.now()
    kept = duration_seconds(documents.live("retention")["retention"].body["packages"])
    files = [msgspec.to_builtins(file) for file in contents.files]
    _keep_claim(
        run,
        status=_Status.READY,
        step="",
        built_at=now,
        expires_at=now + timedelta(seconds=kept),
        sha256=sha256,
        size_bytes=size_bytes,
        files=files,
        token_hash=token_hash(token_of(key, run)),
    )
    records = counts_of(find_run(run.id))
    note("package.build", run, actor=BUILDER, now=now, facts={"sha256": sha256, "records": records})
