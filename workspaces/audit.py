"""Writing the audit (PR-21, PR-22): one entry, inside the transaction of the act, chained to the one before."""

import hashlib
import os
from datetime import UTC, datetime
from typing import Any

import msgspec
import orjson
import rfc8785
from django.db import connection
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
from workspaces.models.audit import ChainedEntry
from workspaces.types import Actor, AuditObject

NOTHING = AuditObject(kind="", id="")


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
    _append(entry, head, chain="deployment")
    return entry


def clean_reason(reason: str) -> str:
    """Mask what the detectors find in a reason (PR-23): no entry of the audit holds a person's data."""
    body = documents.live("masking")["masking"].body
    # A key of this moment alone: nobody can guess a value against its hash, and no two reasons can be compared.
    masked, _ = mask_text(reason.strip(), policy=policy_from(body, hash_key=os.urandom(32)))
    return masked


def entry_hash(entry: ChainedEntry, *, chain: str) -> bytes:
    """Hash an entry over its canonical JSON (RFC 8785), the hash before it included."""
    return hashlib.sha256(rfc8785.dumps(_hashed(entry, chain))).digest()


class ChainState(msgspec.Struct, frozen=True):
    """What a walk along a chain found: how many entries verify, and the number of the first that does not."""

    entries: int
    first_bad: int | None = None


def verify_chain() -> ChainState:
    """Walk the bound workspace's chain to its head (PR-22); entries that are appended meanwhile are left alone."""
    return _walk(AuditEntry.objects.all(), AuditHead.objects.all(), chain=str(bound_workspace_id()))


def verify_deployment_chain() -> ChainState:
    """Walk the deployment's chain to its head (PR-22)."""
    return _walk(DeploymentAuditEntry.objects.all(), DeploymentAuditHead.objects.all(), chain="deployment")


def _walk(entries: QuerySet[Any], heads: QuerySet[Any], *, chain: str) -> ChainState:
    head = heads.first()
    end, previous, seq = (head.seq, bytes(head.hash)) if head else (0, bytes(32)), bytes(32), 0
    for entry in entries.filter(seq__lte=end[0]).order_by("seq").iterator(chunk_size=1000):
        seq += 1
        if not _follows(entry, previous, seq, chain):
            return ChainState(entries=seq - 1, first_bad=seq)
        previous = bytes(entry.hash)
    has_strays = entries.filter(seq__gt=Coalesce(heads.values("seq")[:1], 0)).exists()
    is_whole = (seq, previous) == end and not has_strays
    return ChainState(entries=seq, first_bad=None if is_whole else seq + 1)


def _follows(entry: ChainedEntry, previous: bytes, seq: int, chain: str) -> bool:
    in_place = entry.seq == seq and bytes(entry.previous_hash) == previous
    return in_place and _is_hashed(entry, chain)


def _is_hashed(entry: ChainedEntry, chain: str) -> bool:
    """Compare the hash: first over a writer ten times as fast, whose text is the same for all but odd numbers."""
    stored = bytes(entry.hash)
    try:
        text = orjson.dumps(_hashed(entry, chain), option=orjson.OPT_SORT_KEYS)
        return stored == hashlib.sha256(text).digest() or stored == entry_hash(entry, chain=chain)
    except (TypeError, rfc8785.CanonicalizationError):  # what has no canonical form was not written by us
        return False


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


def _hashed(entry: ChainedEntry, chain: str) -> dict[str, Any]:
    return {
        "chain": chain,
        "id": str(entry.id),
        "seq": entry.seq,
        "at": entry.at.astimezone(UTC).isoformat(),
        "act": entry.act,
        "actor": [entry.actor_kind, entry.actor_id, entry.actor_name, *entry.actor_roles],
        "address": entry.address,
        "request_id": entry.request_id,
        "object": [entry.object_kind, entry.object_id],
        "reason": entry.reason,
        "result": entry.result,
        "facts": entry.facts,
        "previous_hash": bytes(entry.previous_hash).hex(),
    }
