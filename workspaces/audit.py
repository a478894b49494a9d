"""Writing the audit (PR-21, PR-22): one entry, inside the transaction of the act, chained to the one before."""

import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from workspaces import documents
from workspaces.binding import bound_workspace_id
from workspaces.masking import mask_text, policy_from
from workspaces.models import (
    AuditEntry,
    AuditHead,
    DeploymentAuditEntry,
    DeploymentAuditHead,
)
from workspaces.models.audit import ChainedEntry, ChainHead
from workspaces.rules import chains
from workspaces.rules.chains import Base, ChainState
from workspaces.types import Actor, AuditObject

NOTHING = AuditObject(kind="", id="")
DEPLOYMENT = "deployment"
"""The name of the deployment's own chain; a workspace's is the workspace's id."""

# In the order that workspaces.rules.chains.Walk takes.
_COLUMNS = (
    "id::text, seq, at::text, act, actor_kind, actor_id, actor_name, to_json(actor_roles)::text, address, request_id,"
    " object_kind, object_id, reason, result, facts::text, previous_hash, hash"
)
_ROWS_AT_A_TIME = 5000


class ActWithoutTransaction(RuntimeError):
    """An audit entry outside the transaction of its act could stand without it, or it without the entry (PR-24)."""


def record(
    act: str,
    *,
    actor: Actor,
    now: datetime,
    on: AuditObject = NOTHING,
    reason: str = "",
    result: str = "done",
    facts: dict[str, Any] | None = None,
) -> AuditEntry:
    """Append an act to the bound workspace's chain.

    1. Lock the head of the chain, so that one writer appends at a time.
    2. Hash the entry together with the hash of the one before.
    3. Move the head.
    """
    _require_transaction()
    head = AuditHead.objects.select_for_update().get()
    reason = clean_reason(reason) if reason else ""
    entry = AuditEntry(act=act, at=now, reason=reason, result=result, facts=facts or {}, **_who(actor, on))
    _append(entry, head, chain=str(bound_workspace_id()))
    return entry


def record_outside(
    act: str,
    *,
    actor: Actor,
    now: datetime,
    on: AuditObject = NOTHING,
    result: str = "done",
    facts: dict[str, Any] | None = None,
) -> DeploymentAuditEntry:
    """Append an act that belongs to no workspace to the deployment's chain."""
    _require_transaction()
    DeploymentAuditHead.objects.bulk_create([DeploymentAuditHead(id=1)], ignore_conflicts=True)
    head = DeploymentAuditHead.objects.select_for_update().get(id=1)
    entry = DeploymentAuditEntry(act=act, at=now, result=result, facts=facts or {}, **_who(actor, on))
    _append(entry, head, chain=DEPLOYMENT)
    return entry


def clean_reason(reason: str) -> str:
    """Mask what the detectors find in a reason (PR-23): no entry of the audit holds a person's data."""
    body = documents.live("masking")["masking"].body
    # A key of this moment alone: nobody can guess a value against its hash, and no two reasons can be compared.
    masked, _ = mask_text(reason.strip(), policy=policy_from(body, hash_key=os.urandom(32)))
    return masked


def entry_hash(entry: ChainedEntry, *, chain: str) -> bytes:
    """Hash an entry over its canonical JSON (RFC 8785), the hash before it included."""
    return chains.hash_of(hashed_members(entry, chain=chain))


def hashed_members(entry: ChainedEntry, *, chain: str) -> dict[str, Any]:
    """Give what an entry is hashed over, so that who reads it can hash it again."""
    return chains.hashed_members(
        chain=chain,
        id=str(entry.id),
        seq=entry.seq,
        at=entry.at,
        act=entry.act,
        actor=[entry.actor_kind, entry.actor_id, entry.actor_name, *entry.actor_roles],
        address=entry.address,
        request_id=entry.request_id,
        on=[entry.object_kind, entry.object_id],
        reason=entry.reason,
        result=entry.result,
        facts=entry.facts,
        previous_hash=bytes(entry.previous_hash),
    )


def is_in_place(entry: AuditEntry) -> bool:
    """Tell whether one entry of the bound workspace has its hash, and the hash of the entry before it."""
    before = AuditEntry.objects.filter(seq=entry.seq - 1).values_list("hash", flat=True).first()
    head = AuditHead.objects.get()
    if before is None and entry.seq == head.base_seq + 1:
        before = head.base_hash
    is_hashed = bytes(entry.hash) == entry_hash(entry, chain=str(bound_workspace_id()))
    return is_hashed and before is not None and bytes(before) == bytes(entry.previous_hash)


def verify_chain(*, wanted: Iterable[int] = ()) -> ChainState:
    """Walk the bound workspace's chain to its head (PR-22); entries that are appended meanwhile are left alone.

    It begins behind the checkpoint that stands for removed entries. The hashes of the `wanted` entries are in the
    answer.
    """
    heads = AuditHead.objects.all()
    head = heads.first() or AuditHead()
    return _walk(AuditEntry.objects.all(), heads, head, str(bound_workspace_id()), frozenset(wanted))


def verify_deployment_chain(*, wanted: Iterable[int] = ()) -> ChainState:
    """Walk the deployment's chain to its head (PR-22)."""
    heads = DeploymentAuditHead.objects.all()
    head = heads.first() or DeploymentAuditHead()
    return _walk(DeploymentAuditEntry.objects.all(), heads, head, DEPLOYMENT, frozenset(wanted))


def _walk(
    entries: QuerySet[Any], heads: QuerySet[Any], head: ChainHead, chain: str, wanted: frozenset[int]
) -> ChainState:
    """Walk from the base to the head, and look for entries before the one and behind the other."""
    walk = chains.Walk(chain, Base(head.base_seq, bytes(head.base_hash)), wanted=wanted)
    rows = _rows(entries.model._meta.db_table, head, chain)  # noqa: SLF001  (Django's documented way)
    is_whole = (
        not entries.filter(seq__lte=head.base_seq).exists()
        and all(map(walk.step, rows))
        and (walk.seq, walk.hash) == (head.seq, bytes(head.hash))
        and not _has_strays(entries, heads)
    )
    return ChainState(
        entries=walk.seq - head.base_seq,
        first_bad=None if is_whole else walk.seq + 1,
        base=head.base_seq,
        hashes=walk.hashes,
    )


def _has_strays(entries: QuerySet[Any], heads: QuerySet[Any]) -> bool:
    """Find entries behind the head as it is now: what was appended since the walk began is none."""
    return entries.filter(seq__gt=Coalesce(heads.values("seq")[:1], 0)).exists()


def _rows(table: str, head: ChainHead, chain: str) -> Iterator[Any]:
    """Read a chain by a cursor of the server: tuples of text, in one query, a few thousand at a time."""
    of_workspace, whose = ("", []) if chain == DEPLOYMENT else (" AND workspace_id = %s", [chain])
    query = f"SELECT {_COLUMNS} FROM {table} WHERE seq > %s AND seq <= %s{of_workspace} ORDER BY seq"  # noqa: S608
    with transaction.atomic(), connection.chunked_cursor() as cursor:
        cursor.execute(query, [head.base_seq, head.seq, *whose])
        while rows := cursor.fetchmany(_ROWS_AT_A_TIME):
            yield from rows


def _require_transaction() -> None:
    if not connection.in_atomic_block:
        raise ActWithoutTransaction


def _who(actor: Actor, on: AuditObject) -> dict[str, Any]:
    return {
        "actor_kind": actor.kind,
        "actor_id": actor.id,
        "actor_name": actor.name,
        "actor_roles": list(actor.roles),
        "address": actor.address,
        "request_id": actor.request_id,
        "object_kind": on.kind,
        "object_id": on.id,
    }


def _append(entry: ChainedEntry, head: AuditHead | DeploymentAuditHead, *, chain: str) -> None:
    entry.seq, entry.previous_hash = head.seq + 1, bytes(head.hash)
    entry.hash = entry_hash(entry, chain=chain)
    entry.save(force_insert=True)
    head.seq, head.hash = entry.seq, entry.hash
    head.save(update_fields=["seq", "hash"])
