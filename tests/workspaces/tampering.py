"""Changing an audit chain as somebody would who owns the database, each way that there is (PR-22)."""

from itertools import pairwise
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from tests.workspaces.acts import ACTOR, ENTRIES, settle
from workspaces import access, audit
from workspaces.models import AuditEntry, AuditHead
from workspaces.types import AuditObject, WorkspaceRef


def write(workspace: WorkspaceRef, number: int = 0, **members: Any) -> AuditEntry:
    on = AuditObject("thing", str(number))
    with access.bound(workspace.id), transaction.atomic():
        return audit.record("thing.do", actor=ACTOR, now=timezone.now(), on=on, **members)


def length(workspace: WorkspaceRef) -> int:
    with access.bound(workspace.id):
        return AuditEntry.objects.count()


def tamper(statement: str, *values: Any, table: str = ENTRIES) -> None:
    """Change a chain as somebody would who owns the database; `{}` stands for its table."""
    settle()
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(statement.format(table), values)
        settle()
        cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def alter(chain: WorkspaceRef, seq: int, change: str) -> None:
    """Change one entry."""
    tamper(f"UPDATE {{}} SET {change} WHERE workspace_id = %s AND seq = %s", chain.id, seq)  # noqa: S608


def remove(chain: WorkspaceRef, seq: int) -> None:
    """Remove one entry."""
    tamper("DELETE FROM {} WHERE workspace_id = %s AND seq = %s", chain.id, seq)


def rewrite_from(chain: WorkspaceRef, seq: int) -> None:
    """Alter an entry and hash it and all after it again, as a forger would who knows how."""
    with access.bound(chain.id):
        entries = list(AuditEntry.objects.filter(seq__gte=seq - 1).order_by("seq"))
    entries[1].actor_name = "bea@example.com"
    for before, entry in pairwise(entries):
        entry.previous_hash = bytes(before.hash)
        entry.hash = audit.entry_hash(entry, chain=str(chain.id))
        tamper(
            "UPDATE {} SET actor_name = %s, previous_hash = %s, hash = %s WHERE id = %s",
            entry.actor_name,
            entry.previous_hash,
            entry.hash,
            entry.id,
        )


def rewrite_to_the_head(chain: WorkspaceRef, seq: int) -> None:
    """Alter an entry, hash it and all after it again, and set the head to the new last hash."""
    rewrite_from(chain, seq)
    with access.bound(chain.id):
        AuditHead.objects.update(hash=AuditEntry.objects.latest("seq").hash)


def swap(chain: WorkspaceRef, seq: int) -> None:
    """Put an entry and the next one into each other's place."""
    for was, now in ((seq, 10**9), (seq + 1, seq), (10**9, seq + 1)):
        alter(chain, was, f"seq = {now}")


def cut_to(chain: WorkspaceRef, seq: int) -> None:
    """Remove the entries after one and set the head back to it, as a restored backup would."""
    tamper("DELETE FROM {} WHERE workspace_id = %s AND seq > %s", chain.id, seq)
    with access.bound(chain.id):
        last = AuditEntry.objects.filter(seq=seq).first()
        AuditHead.objects.update(seq=seq, hash=bytes(last.hash) if last else bytes(32))
