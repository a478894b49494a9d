"""A workspace written into a folder, whole: for who takes it elsewhere before it is closed (PL-5b)."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import Model, QuerySet

from agentstate.selectors.whole import opened_states
from assembly.selectors.whole import opened_graphs
from history.selectors.whole import opened_sessions
from privacy.models import ErasureRequest
from workspaces import audit
from workspaces.errors import Conflict
from workspaces.models import AuditEntry, Document, Handle, Profile
from workspaces.types import Actor, AuditObject, WorkspaceRef

BATCH = 500
_AUDIT: tuple[str, ...] = (
    *(
        "id",
        "seq",
        "at",
        "act",
        "actor_kind",
        "actor_id",
        "actor_name",
        "actor_roles",
        "address",
        "request_id",
    ),
    *("object_kind", "object_id", "reason", "result", "facts", "previous_hash", "hash"),
)


class Written(msgspec.Struct, frozen=True):
    """One file of an export: how many lines it has, and its SHA-256."""

    lines: int
    sha256: str


def export_workspace(
    *, workspace: WorkspaceRef, folder: Path, actor: Actor, now: datetime
) -> dict[str, Written]:
    """Write the bound workspace into a new folder that its owner alone can read, as JSON Lines with a manifest.

    It holds the states' content in clear, as it is stored: masked at entry, without what has expired; and the messages
    of history and the records of the runtime graph as they were received, with their payloads. Identifiers of people,
    scopes and sessions are not in it but where a graph's own record says them, since only their keyed hashes are
    stored. What is kept is streamed: the memory that this takes does not grow with it. The audit says so before
    anything is written. Raises Conflict for a folder that is there already.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError as error:
        raise Conflict("The folder is there already.") from error
    _note(workspace, actor, now)
    files: dict[str, Iterable[dict[str, Any]]] = {
        "documents.jsonl": _rows(Document.objects.all(), "id", _document),
        "profiles.jsonl": _rows(Profile.objects.filter(erasure_id=None), "id", _profile),
        "states.jsonl": opened_states(workspace, now=now),
        "history.jsonl": opened_sessions(workspace, now=now),
        "graph.jsonl": opened_graphs(workspace, now=now),
        "erasures.jsonl": _rows(ErasureRequest.objects.all(), "id", _erasure),
        "audit.jsonl": _rows(AuditEntry.objects.all(), "seq", _entry),
    }
    written = {name: _write(folder / name, lines) for name, lines in files.items()}
    _write(folder / "manifest.json", [_manifest(workspace, written, now)])
    return written


@transaction.atomic
def _note(workspace: WorkspaceRef, actor: Actor, now: datetime) -> None:
    on = AuditObject("workspace", str(workspace.id))
    audit.record("workspace.export", actor=actor, now=now, on=on)


def _write(path: Path, lines: Iterable[dict[str, Any]]) -> Written:
    digest, count = hashlib.sha256(), 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for line in lines:
            text = msgspec.json.encode(line) + b"\n"
            digest.update(text)
            file.write(text)
            count += 1
    return Written(count, digest.hexdigest())


def _rows(rows: QuerySet[Any], by: str, described: Any) -> Iterator[dict[str, Any]]:
    """Describe rows in the order of a column, a batch in memory at a time."""
    found: list[Model] = list(rows.order_by(by)[:BATCH])
    while found:
        yield from map(described, found)
        found = list(rows.filter(**{f"{by}__gt": getattr(found[-1], by)}).order_by(by)[:BATCH])


def _document(row: Document) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "version": row.version,
        "document": row.body,
        "reason": row.reason,
        "drop": row.drop,
        "published_at": row.published_at,
    }


def _profile(row: Profile) -> dict[str, Any]:
    handles = Handle.objects.filter(profile=row, erasure_id=None).order_by("created_at", "id")
    return {
        "id": row.id,
        "pseudonym": row.pseudonym,
        "created_at": row.created_at,
        "last_seen_at": row.last_seen_at,
        "handles": [
            {"id": handle.id, "type": handle.type, "hint": handle.hint, "created_at": handle.created_at}
            for handle in handles
        ],
    }


def _erasure(row: ErasureRequest) -> dict[str, Any]:
    return {
        "id": row.id,
        "reference": row.reference,
        "status": row.status,
        "target": row.target,
        "requested_at": row.requested_at,
        "ended_at": row.ended_at,
        "receipt": row.receipt,
    }


def _entry(row: AuditEntry) -> dict[str, Any]:
    return {name: _plain(getattr(row, name)) for name in _AUDIT}


def _plain(value: Any) -> Any:
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else value


def _manifest(workspace: WorkspaceRef, files: dict[str, Written], now: datetime) -> dict[str, Any]:
    return {
        "kind": "workspace-export",
        "schema": 1,
        "workspace": {"id": workspace.id, "slug": workspace.slug, "name": workspace.name},
        "exported_at": now,
        "files": files,
    }
