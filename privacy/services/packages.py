"""Subject packages: asked for, opened by a link, revoked, swept and erased (PR-18, PR-19, PR-20)."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from privacy.access import workspaces_of_link
from privacy.models import PackageChunk, PackageRun
from privacy.selectors.packages import (
    chunk_context,
    token_hash,
    token_of,
)
from workspaces import access, audit, encryption
from workspaces.chunks import opened_chunks
from workspaces.errors import Conflict, KeyDestroyed, NotFound
from workspaces.models import Profile
from workspaces.rules.handles import Handle as HandleValue
from workspaces.selectors.profiles import known_handle
from workspaces.types import Actor, AuditObject, Key, Origin, WorkspaceRef

CHUNKS_AT_ONCE = 16
"""1 MiB in one statement."""
SWEPT_AT_ONCE = 200

_Status = PackageRun.Status


class Swept(msgspec.Struct, frozen=True):
    """How many packages a batch ended because their time was over, and how many chunks it removed."""

    expired: int = 0
    chunks: int = 0


class Erased(msgspec.Struct, frozen=True):
    """How many packages are gone after a batch, and how many of their chunks it removed."""

    packages: int = 0
    chunks: int = 0


class Download(msgspec.Struct, frozen=True):
    """A package that is on its way: its id, its length, and its bytes as they are verified."""

    run_id: UUID
    size_bytes: int
    parts: Iterator[bytes]


@transaction.atomic
def request_package(
    *,
    workspace: WorkspaceRef,
    profile_id: UUID | None = None,
    handle: HandleValue | None = None,
    reason: str = "",
    language: str = "",
    actor: Actor,
    now: datetime,
) -> PackageRun:
    """Ask for the package of a profile or of whom a handle names; a worker builds it, its page in a language (PR-18).

    Who asks while one of the same person is waiting or being built gets that one. Raises NotFound.
    """
    profile = _profile(workspace, profile_id, handle)
    run = PackageRun.objects.filter(profile=profile, status__in=PackageRun.OPEN).first()
    is_joined = run is not None
    if run is None:
        run = PackageRun.objects.create(
            profile=profile,
            asked_by=actor.name,
            reason=audit.clean_reason(reason) if reason else "",
            language=language,
            asked_at=now,
        )
    audit.record(
        "package.request",
        actor=actor,
        now=now,
        on=AuditObject("profile", str(profile.id)),
        reason=reason,
        facts={"package": str(run.id), "joined": is_joined},
    )
    return run


def _profile(workspace: WorkspaceRef, profile_id: UUID | None, handle: HandleValue | None) -> Profile:
    """Find the person, and let one request about them go at a time."""
    if handle is not None:
        known = known_handle(workspace, handle)
        profile_id = known.profile_id if known else None
    return access.one(Profile.objects.select_for_update(no_key=True).filter(erasure_id=None), id=profile_id)


def renew_link(
    *, workspace: WorkspaceRef, run_id: UUID, reason: str, actor: Actor, now: datetime
) -> PackageRun:
    """Make a fresh link of a package; the one before opens nothing any more. Raises NotFound and Conflict."""
    with transaction.atomic():
        run = access.one(PackageRun.objects.select_for_update(), id=run_id)
        _require_ready(run, now)
        run.link += 1
        try:
            run.token_hash = token_hash(token_of(encryption.open_key(workspace, run.data_key_id), run))
        except KeyDestroyed as error:
            raise Conflict("The package is gone.") from error
        run.save(update_fields=["link", "token_hash"])
        note("package.link", run, actor=actor, now=now, reason=reason, facts={"link": run.link})
    return run


@transaction.atomic
def revoke_package(
    *, workspace: WorkspaceRef, run_id: UUID, reason: str, actor: Actor, now: datetime
) -> None:
    """Revoke a package, built or not: its link and its key are gone at once, its chunks with the next sweeps (PR-19).

    Raises NotFound, and Conflict for one that is over already.
    """
    run = access.one(PackageRun.objects.select_for_update(), id=run_id)
    if run.status_at(now) in PackageRun.ENDED:
        raise Conflict("The package is over already.")
    _end(workspace, run, _Status.REVOKED, now)
    note("package.revoke", run, actor=actor, now=now, reason=reason)


@transaction.atomic
def end_packages(*, workspace: WorkspaceRef, profile_ids: Sequence[UUID], now: datetime) -> None:
    """End every package of some people, built or not: with this transaction no link opens one any more (PR-11)."""
    runs = PackageRun.objects.select_for_update().filter(profile_id__in=profile_ids)
    for run in runs.exclude(status__in=PackageRun.ENDED):
        _end(workspace, run, _Status.REVOKED, now)


def open_download(*, run_id: UUID, token: str, origin: Origin, now: datetime) -> Download:
    """Open a package for who holds its link, and write the download to the audit before a byte of it leaves (PR-19).

    The first chunk is verified here; every other one before it is given. Raises NotFound for a link that is unknown,
    expired or revoked, or whose workspace is closed (PL-5b), and Tampered for a package that does not verify.
    """
    hashed = token_hash(token)
    for workspace in workspaces_of_link(hashed):
        if workspace.is_closed:
            continue
        with access.bound(workspace.id):
            run, key = _opened(workspace, run_id, hashed, origin, now)
            parts = opened_chunks(key, _sealed(workspace, run), context=chunk_context(run))
            return Download(run.id, run.size_bytes, _after(next(parts), parts))
    raise NotFound


@transaction.atomic
def _opened(
    workspace: WorkspaceRef, run_id: UUID, hashed: bytes, origin: Origin, now: datetime
) -> tuple[PackageRun, Key]:
    rows = PackageRun.objects.select_for_update().filter(token_hash=hashed)
    run = access.one(rows, id=run_id, status=_Status.READY, expires_at__gt=now)
    try:
        key = encryption.open_key(workspace, run.data_key_id)
    except KeyDestroyed as error:
        raise NotFound from error
    run.downloads += 1
    run.save(update_fields=["downloads"])
    holder = Actor(
        kind="link",
        id=str(run.id),
        name="holder of the link",
        address=origin.address,
        request_id=origin.request_id,
    )
    note("package.download", run, actor=holder, now=now, facts={"link": run.link, "number": run.downloads})
    return run, key


def _sealed(workspace: WorkspaceRef, run: PackageRun) -> Iterator[bytes]:
    """Read the chunks in order, a megabyte at a time, as long as the package is neither expired nor revoked.

    Nor is its workspace closed (PL-5b).
    """
    for first in range(0, run.chunks, CHUNKS_AT_ONCE):
        # Bound for each batch alone: between two of them the thread serves whoever asks for the next.
        with access.bound(workspace.id):
            batch = PackageChunk.objects.filter(
                run_id=run.id,
                index__gte=first,
                index__lt=min(first + CHUNKS_AT_ONCE, run.chunks),
                run__status=_Status.READY,
                run__expires_at__gt=timezone.now(),
                workspace__closed_at=None,
            )
            found = list(batch.order_by("index").values_list("sealed", flat=True))
        yield from map(bytes, found)


def _after(first: bytes, parts: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from parts


@transaction.atomic
def sweep_packages(*, workspace: WorkspaceRef, now: datetime) -> Swept:
    """End a batch of the bound workspace's packages whose time is over, and remove a batch of chunks of ended ones.

    Rows that another worker holds are skipped (PR-20).
    """
    due = PackageRun.objects.filter(status=_Status.READY, expires_at__lte=now)
    expired = list(due.select_for_update(skip_locked=True)[:SWEPT_AT_ONCE])
    for run in expired:
        _end(workspace, run, _Status.EXPIRED, now)
    over = PackageRun.objects.filter(status__in=PackageRun.ENDED, chunks__gt=0)
    ids = list(over.select_for_update(skip_locked=True).values_list("id", flat=True)[:SWEPT_AT_ONCE])
    return Swept(expired=len(expired), chunks=delete_chunks(ids, SWEPT_AT_ONCE))


@transaction.atomic
def erase_packages(
    *, workspace: WorkspaceRef, profile_ids: Sequence[UUID], limit: int = SWEPT_AT_ONCE
) -> Erased:
    """Remove a batch of what these people's packages are: their keys first, then chunks, then the runs themselves.

    A package counts once, when its run goes. Call it until both counts are 0; a build that is under way finds that
    its claim is gone. Nothing is left of a package afterwards but what the audit says (PR-10).
    """
    rows = PackageRun.objects.select_for_update().filter(profile_id__in=profile_ids)
    runs = list(rows.order_by("id")[:limit])
    for run in runs:
        if run.status not in PackageRun.ENDED:
            _end(workspace, run, _Status.REVOKED, timezone.now())
    chunks = delete_chunks([run.id for run in runs], limit)
    bare = PackageRun.objects.filter(id__in=[run.id for run in runs], chunks=0)
    packages, _ = bare.delete()
    return Erased(packages=packages, chunks=chunks)


def delete_chunks(run_ids: Sequence[UUID], limit: int) -> int:
    """Remove chunks of some runs, whose rows are held, and count them off there; no content is read."""
    rows = PackageChunk.objects.filter(run_id__in=run_ids).order_by("id")
    found = list(rows.values_list("id", "run_id")[:limit])
    PackageChunk.objects.filter(id__in=[chunk for chunk, _ in found]).delete()
    for run_id in {run for _, run in found}:
        count = sum(run == run_id for _, run in found)
        PackageRun.objects.filter(id=run_id).update(chunks=F("chunks") - count)
    return len(found)


def _require_ready(run: PackageRun, now: datetime) -> None:
    if run.status_at(now) != _Status.READY:
        raise Conflict("Only a package that is ready has a link.")


def _end(workspace: WorkspaceRef, run: PackageRun, status: PackageRun.Status, now: datetime) -> None:
    """End a package: what opens it goes now, and the sweep removes the rest."""
    encryption.retire_keys(workspace, run.data_key_id)
    run.status, run.ended_at = status, now
    run.data_key_id = run.token_hash = run.claimed_until = None
    run.save(update_fields=["status", "ended_at", "data_key_id", "token_hash", "claimed_until"])


def note(
    act: str,
    run: PackageRun,
    *,
    actor: Actor,
    now: datetime,
    reason: str = "",
    result: str = "done",
    facts: dict[str, Any] | None = None,
) -> None:
    """Write an act on a package to the audit: ids and counts, never what is in it (PR-21)."""
    beside = {"profile": str(run.profile_id), **(facts or {})}
    on = AuditObject("package", str(run.id))
    audit.record(act, actor=actor, now=now, on=on, reason=reason, result=result, facts=beside)
