"""Signed checkpoints of the audit chains leave the database (PR-22), and tell of a restore (PR-15b).

A checkpoint is the head of a chain at a time, signed. Kept outside, it shows a tail that was rewritten with all its
hashes, and a database that was set back to a backup.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction

from workspaces import access, audit, outside, signing
from workspaces.audit import DEPLOYMENT
from workspaces.models import AuditEntry, AuditHead, DeploymentAuditEntry, DeploymentAuditHead
from workspaces.models.audit import ChainHead
from workspaces.rules import chains
from workspaces.rules import checkpoints as rules
from workspaces.rules.checkpoints import Checkpoint, Restored
from workspaces.types import Actor, AuditObject, WorkspaceRef

EVERY = timedelta(minutes=59)
"""After how long another checkpoint of a chain is due: looked for every minute, one leaves within the hour."""

log = logging.getLogger("lastro.audit")


class Lost(msgspec.Struct, frozen=True):
    """A chain that is behind what was delivered of it, or another one: the database was set back, or rewritten."""

    chain: str
    checkpoint: Checkpoint
    found_seq: int


@contextmanager
def of_chain(chain: str) -> Iterator[tuple[Any, Any]]:
    """Bind a chain's workspace, and give its heads and its entries; the deployment's is bound to none."""
    if chain == DEPLOYMENT:
        yield DeploymentAuditHead.objects.all(), DeploymentAuditEntry.objects.all()
        return
    with access.bound(UUID(chain)):
        yield AuditHead.objects.all(), AuditEntry.objects.all()


def is_chain(name: str) -> bool:
    """Tell whether a name may be that of a chain."""
    try:
        return name == DEPLOYMENT or name == str(UUID(name))
    except ValueError:
        return False


def every_chain() -> list[str]:
    """List the chains: the deployment's first."""
    return [DEPLOYMENT, *(str(workspace.id) for workspace in access.every_workspace())]


def make_checkpoints(*, now: datetime) -> int:
    """Make and hand over a checkpoint of every chain (PR-22); give how many.

    Nothing is made where no place is named for them, nor of a chain that is behind its last one: a fresh checkpoint of
    a database that was set back would hide that it was (PR-15b).
    """
    return sum(_follow(chain, now=now) for chain in every_chain()) if outside.is_set_up() else 0


def make_due_checkpoints(workspaces: Iterable[WorkspaceRef], *, now: datetime) -> int:
    """Make those of these workspaces and of the deployment whose last one is an hour old, or that have none (PR-22).

    The database says which are due: a restart of whoever asks makes none sooner, and none later. Gives how many.
    """
    chains_due = (DEPLOYMENT, *(str(found.id) for found in workspaces))
    return sum(_make_if_due(chain, now=now) for chain in chains_due) if outside.is_set_up() else 0


def lost_history() -> list[Lost]:
    """Compare the last checkpoint outside of each chain with the chain (PR-15b): what the database does not hold.

    It costs a file and two queries for each chain, and finds nothing where checkpoints leave by a webhook.
    """
    return [lost for lost in map(_lost, filter(is_chain, outside.groups(rules.KIND))) if lost is not None]


def accept_restore(*, actor: Actor, now: datetime, reason: str = "") -> list[Lost]:
    """Take the database as it is now after a restore (PR-15b); give the chains that had lost something.

    To be called when the erasures since the backup have been run again. Of each chain that is behind its checkpoints it
    writes an audit entry that says what is lost, and a checkpoint that gives the lost ones up, delivered before the
    answer where the place can be reached. Then the server is ready again.
    """
    found = lost_history()
    known = set(every_chain())
    with transaction.atomic():
        for lost in found:
            _accept(lost, is_known=lost.chain in known, actor=actor, now=now, reason=reason)
    if found:
        outside.deliver_waiting()
    return found


def signed_checkpoint(
    *, chain: str, seq: int, head_hash: bytes, at: datetime, restored: Restored | None = None
) -> dict[str, Any]:
    """Sign a checkpoint of one entry of a chain."""
    keys = signing.public_keys_with_current()
    return signing.sign(
        rules.document(chain=chain, seq=seq, head_hash=head_hash, at=at, keys=keys, restored=restored)
    )


def _make_if_due(chain: str, *, now: datetime) -> bool:
    with of_chain(chain) as (heads, _), transaction.atomic():
        # A time far ahead is no clock's: it would keep checkpoints back.
        due = heads.exclude(checkpoint_at__gt=now - EVERY, checkpoint_at__lt=now + EVERY)
        return due.update(checkpoint_at=now) == 1 and _follow(chain, now=now)


def _follow(chain: str, *, now: datetime) -> bool:
    """Make the next checkpoint of a chain, unless it is behind its last one."""
    if not _may_follow(chain):
        log.error("checkpoint.withheld", extra={"chain": chain})
        return False
    return _make_checkpoint(chain, now=now)


def _make_checkpoint(chain: str, *, now: datetime, restored: Restored | None = None) -> bool:
    """Hand over the head of a chain, locked, so that the checkpoints of a chain leave in its order."""
    with of_chain(chain) as (heads, _), transaction.atomic():
        head: ChainHead | None = heads.select_for_update().first()
        if head is None:
            return False
        _hand_over(chain, seq=head.seq, head_hash=bytes(head.hash), now=now, restored=restored)
        heads.update(checkpoint_at=now)
    return True


def _hand_over(
    chain: str, *, seq: int, head_hash: bytes, now: datetime, restored: Restored | None = None
) -> None:
    document = signed_checkpoint(chain=chain, seq=seq, head_hash=head_hash, at=now, restored=restored)
    outside.deliver(rules.KIND, f"{chain}/{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}-{seq}", document)


def _may_follow(chain: str) -> bool:
    """Tell whether a chain is not behind its last checkpoint; of one that cannot be read nobody knows."""
    try:
        return _lost(chain) is None
    except (OSError, ValueError):
        return False


def _lost(chain: str) -> Lost | None:
    kept = outside.last_kept(rules.KIND, under=chain)
    last = rules.read(kept.document) if kept else None
    if last is None or last.seq == 0:
        return None
    head = _head(chain)
    return None if _holds(chain, head, last) else Lost(chain, last, head.seq)


def _head(chain: str) -> ChainHead:
    with of_chain(chain) as (heads, _):
        return heads.first() or DeploymentAuditHead()


def _holds(chain: str, head: ChainHead, one: Checkpoint) -> bool:
    """Tell whether a chain holds the entry of a checkpoint; of removed ones the base answers."""
    if one.seq <= head.base_seq:
        return one.seq < head.base_seq or bytes(head.base_hash).hex() == one.hash
    with of_chain(chain) as (_, entries):
        stored = entries.filter(seq=one.seq).values_list("hash", flat=True).first()
    return one.seq <= head.seq and stored is not None and bytes(stored).hex() == one.hash


def _accept(lost: Lost, *, is_known: bool, actor: Actor, now: datetime, reason: str) -> None:
    restored = Restored(after=_last_agreed(lost.chain), lost=lost.checkpoint.seq)
    facts = {"after": restored.after, "lost": restored.lost, "found": lost.found_seq}
    on = AuditObject("chain", lost.chain)
    if not is_known:  # a workspace that was made after the backup
        audit.record_outside("restore.accept", actor=actor, now=now, on=on, facts=facts)
        _hand_over(lost.chain, seq=0, head_hash=chains.BEGINNING, now=now, restored=restored)
    elif lost.chain == DEPLOYMENT:
        audit.record_outside("restore.accept", actor=actor, now=now, on=on, facts=facts)
        _make_checkpoint(lost.chain, now=now, restored=restored)
    else:
        with of_chain(lost.chain):
            audit.record("restore.accept", actor=actor, now=now, on=on, reason=reason, facts=facts)
        _make_checkpoint(lost.chain, now=now, restored=restored)


def _last_agreed(chain: str) -> int:
    """Find the last checkpoint outside that the chain still holds."""
    head = _head(chain)
    for kept in reversed(list(outside.kept(rules.KIND, under=chain))):
        one = rules.read(kept.document)
        if _holds(chain, head, one):
            return one.seq
    return 0
