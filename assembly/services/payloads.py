"""The bytes of payloads: stored as they come, shared within a graph, removed with their records (CA-4).

A blob is loose from before its first byte on until the commit of the payload that takes it, and again from the commit
on that gives it up: so a process may end anywhere, and what nobody has is removed by `sweep_blobs`.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from assembly import access, blobs, encryption
from assembly.errors import PayloadMismatch
from assembly.models import LooseBlob, Payload
from assembly.rules.payloads import INLINE_BYTES
from assembly.selectors.payloads import own_payload
from assembly.services.measures import measure_again
from assembly.types import PayloadOutcome, StagedBlob, StoredPayload
from workspaces.access import bound
from workspaces.binding import bound_workspace_id
from workspaces.errors import NotFound, Unavailable
from workspaces.types import Caller, Key, WorkspaceRef

WRITTEN_WITHIN = timedelta(days=1)
"""How long a blob may take to be written: it is nobody's until then, and left alone."""
BATCH = 100

_STORED = Payload.State.STORED


def store(*, caller: Caller, payload_id: UUID, parts: Iterable[bytes], now: datetime) -> StoredPayload:
    """Store the bytes of a payload that its record declared, byte for byte, as they come (CA-4).

    1. Check them as they pass: size and digest are those of the record, or nothing is kept.
    2. Write them into a blob where they are over 64 KiB, unless the graph has the same already.
    3. Have the row take them, in one transaction under the graph's lock.

    Raises NotFound, Forbidden, PayloadMismatch, and Unavailable where the blob store does not answer. Of two at once
    the first to end stores, and the other finds it there.
    """
    payload = own_payload(caller, payload_id, now=now)
    key, digest = encryption.graph_key(caller.workspace, payload.graph), hashlib.sha256()
    checked = _checked(parts, payload, key, digest)
    if payload.size_bytes <= INLINE_BYTES:
        outcome = _finish(caller, payload_id, content=b"".join(checked), now=now)
    elif payload.state == _STORED or _twin(payload) is not None:
        for _ in checked:
            pass
        outcome = _finish(caller, payload_id, now=now)
    else:
        outcome = _store_blob(caller, payload, checked, now=now)
    return StoredPayload(payload_id, payload.size_bytes, digest.hexdigest(), outcome)


@contextmanager
def staged(
    *, workspace: WorkspaceRef, contents: Iterable[bytes], now: datetime
) -> Iterator[Mapping[str, StagedBlob]]:
    """Write what is over 64 KiB into blobs, by SHA-256, around the transaction that will `store_inline` it (CA-4).

    What no payload has taken by the end goes again. Raises Unavailable.
    """
    large = {hashlib.sha256(one).hexdigest(): one for one in contents if len(one) > INLINE_BYTES}
    with _loose({sha256: _new_blob(sha256) for sha256 in large}, now=now) as made:
        for sha256, blob in made.items():
            blobs.write(workspace.id, blob.name, blob.key, [large[sha256]])
        yield made


def store_inline(
    *,
    workspace: WorkspaceRef,
    payloads: Sequence[tuple[Payload, bytes]],
    written: Mapping[str, StagedBlob],
    key: Key,
) -> None:
    """Put contents into the unsaved rows of payloads of one locked graph: into the row itself, or into a blob (CA-4).

    `written` are the staged blobs. What the graph has already is shared. Two queries at most. Raises Unavailable for a
    blob that is staged no more.
    """
    for payload, content in payloads:
        payload.state = _STORED
        if len(content) <= INLINE_BYTES:
            encryption.seal_payload(workspace, payload, content, key)
    large = [(payload, content) for payload, content in payloads if len(content) > INLINE_BYTES]
    known = _known_blobs(workspace, [payload for payload, _ in large], key)
    taken = []
    for payload, content in large:
        address = bytes(payload.address)
        if address not in known:
            known[address] = written[hashlib.sha256(content).hexdigest()]
            taken.append(known[address])
        _place(workspace, payload, known[address], key)
    _take(taken)


@transaction.atomic
def remove(payloads: QuerySet[Payload], *, now: datetime) -> int:
    """Remove payloads of locked graphs; their blobs go once this has committed, but those that others share (CA-21).

    Give how many. A crash after the commit leaves the blobs loose, for `sweep_blobs`. To be called before the records
    of the payloads are removed.
    """
    rows = list(payloads.values_list("id", "blob"))
    Payload.objects.filter(id__in=[id for id, _ in rows]).delete()
    names = {blob for _, blob in rows if blob}
    names -= set(Payload.objects.filter(blob__in=names).values_list("blob", flat=True)) if names else set()
    if names:
        LooseBlob.objects.bulk_create([LooseBlob(name=name, due_at=now) for name in sorted(names)])
        transaction.on_commit(partial(_remove_given_up, bound_workspace_id(), names), robust=True)
    return len(rows)


def sweep_blobs(*, now: datetime) -> int:
    """Remove a batch of the bound workspace's blobs that nobody has, or has ever taken; give how many (PR-20)."""
    return _remove_loose(LooseBlob.objects.filter(due_at__lte=now))


def _store_blob(
    caller: Caller, payload: Payload, checked: Iterable[bytes], *, now: datetime
) -> PayloadOutcome:
    digest = bytes(payload.address).hex()
    with _loose({digest: _new_blob(digest)}, now=now) as made:
        blob = made[digest]
        blobs.write(caller.workspace.id, blob.name, blob.key, checked)
        return _finish(caller, payload.id, blob=blob, now=now)


@transaction.atomic
def _finish(
    caller: Caller,
    payload_id: UUID,
    *,
    content: bytes | None = None,
    blob: StagedBlob | None = None,
    now: datetime,
) -> PayloadOutcome:
    """Have a payload take its content or its blob, or that of a payload of its graph with the same content."""
    payload = _locked(caller, payload_id, now=now)
    if payload.state == _STORED:
        return "unchanged"
    key = encryption.graph_key(caller.workspace, payload.graph)
    payload.state = _STORED
    if content is not None:
        encryption.seal_payload(caller.workspace, payload, content, key)
    else:
        known = _known_blobs(caller.workspace, [payload], key)
        found = known.get(bytes(payload.address), blob)
        if found is None:
            # The one that it was to share has gone since.
            raise Unavailable
        _place(caller.workspace, payload, found, key)
        _take([found] if found is blob else [])
    payload.save(update_fields=["state", "body", "blob", "blob_key"])
    measure_again(caller.workspace, payload, key)
    return "stored"


def _locked(caller: Caller, payload_id: UUID, *, now: datetime) -> Payload:
    """Give a payload of which nothing changes until the transaction ends: its graph is locked."""
    graph = access.live_graph(own_payload(caller, payload_id, now=now).graph.name, is_locked=True)
    payload = own_payload(caller, payload_id, now=now)
    if graph is None or payload.graph_id != graph.id:
        raise NotFound
    payload.graph = graph
    return payload


def _checked(parts: Iterable[bytes], payload: Payload, key: Key, digest: Any) -> Iterator[bytes]:
    """Pass bytes on as they come; the last leave only if all are what the record declares. Raises PayloadMismatch."""
    size = 0
    for part in parts:
        size += len(part)
        if size > payload.size_bytes:
            raise PayloadMismatch
        digest.update(part)
        yield part
    is_said = encryption.address(key, digest.hexdigest()) == bytes(payload.address)
    if size != payload.size_bytes or not is_said:
        raise PayloadMismatch


def _twin(payload: Payload) -> Payload | None:
    return _in_blobs([payload]).first()


def _in_blobs(payloads: Sequence[Payload]) -> QuerySet[Payload]:
    """List the payloads that have blobs with the contents of some others of their graph."""
    addresses = [bytes(payload.address) for payload in payloads]
    stored = Payload.objects.filter(state=_STORED, record__erasure_id=None).exclude(blob="")
    graphs = {payload.graph_id for payload in payloads}
    return stored.filter(graph_id__in=graphs, address__in=addresses)


def _known_blobs(workspace: WorkspaceRef, payloads: Sequence[Payload], key: Key) -> dict[bytes, StagedBlob]:
    """Give the blobs of a graph that have what some payloads have, by address."""
    if not payloads:
        return {}
    return {
        bytes(twin.address): StagedBlob(twin.blob, encryption.open_blob_key(workspace, twin, key))
        for twin in _in_blobs(payloads)
    }


def _place(workspace: WorkspaceRef, payload: Payload, blob: StagedBlob, key: Key) -> None:
    payload.blob = blob.name
    encryption.seal_blob_key(workspace, payload, blob.key, key)


def _new_blob(digest: str) -> StagedBlob:
    key = encryption.make_blob_key()
    return StagedBlob(encryption.blob_name(key, digest), key)


@contextmanager
def _loose(made: dict[str, StagedBlob], *, now: datetime) -> Iterator[Mapping[str, StagedBlob]]:
    """Have the names of blobs noted before they are written; those that no payload has taken at the end go again."""
    names = [blob.name for blob in made.values()]
    if not names:
        yield made
        return
    # Durable: a name that a rollback takes back would leave its blob unknown.
    with transaction.atomic(durable=True):
        LooseBlob.objects.bulk_create([LooseBlob(name=name, due_at=now + WRITTEN_WITHIN) for name in names])
    try:
        yield made
    finally:
        # Where the store does not answer, the sweep will remove them.
        with suppress(Unavailable):
            _remove_loose(LooseBlob.objects.filter(name__in=names))


def _take(written: Collection[StagedBlob]) -> None:
    """Make blobs those of payloads, with this transaction; one that was removed meanwhile is nobody's to take."""
    if written:
        taken, _ = LooseBlob.objects.filter(name__in=[blob.name for blob in written]).delete()
        if taken != len(written):
            raise Unavailable


def _remove_given_up(workspace_id: UUID, names: Collection[str]) -> None:
    """Remove blobs whose payloads have gone, by now outside of what bound the workspace."""
    with bound(workspace_id):
        _remove_loose(LooseBlob.objects.filter(name__in=names))


@transaction.atomic
def _remove_loose(blobs_of: QuerySet[LooseBlob]) -> int:
    """Remove a batch of loose blobs, and then their names; what another worker holds is skipped."""
    rows = list(blobs_of.select_for_update(skip_locked=True).order_by("id")[:BATCH])
    for row in rows:
        blobs.remove(row.name)
    LooseBlob.objects.filter(id__in=[row.pk for row in rows]).delete()
    return len(rows)
