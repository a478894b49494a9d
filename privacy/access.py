"""Questions of governance that no single workspace can answer (PL-1), and chunks on their way into the database."""

from collections.abc import Sequence
from datetime import date, datetime

from privacy.models import PackageRun
from workspaces.access import workspaces_with
from workspaces.postgresql.calls import ask
from workspaces.types import WorkspaceRef

_STORE_CHUNKS = (
    "INSERT INTO privacy_packagechunk (workspace_id, run_id, index, sealed)"
    " SELECT %s::uuid, %s::uuid, %s::int + place - 1, sealed"
    " FROM unnest(%s::bytea[]) WITH ORDINALITY AS chunks (sealed, place) RETURNING index"
)


def store_chunks(run: PackageRun, chunks: Sequence[bytes], *, first: int) -> None:
    """Store chunks in the transaction that is open, from a place on.

    As values beside a prepared statement: written into its text they would take several times their size in memory,
    and the driver keeps the last hundred texts.
    """
    ask(_STORE_CHUNKS, (run.workspace_id, run.id, first, list(chunks)))


def workspaces_with_packages_to_build(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which a package waits for a worker, or has lost the one that it had."""
    return workspaces_with("lastro_with_packages_to_build", now)


def workspaces_with_packages_to_sweep(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which a package is over and something of it is still stored (PR-20)."""
    return workspaces_with("lastro_with_packages_to_sweep", now)


def workspaces_of_link(token_hash: bytes) -> list[WorkspaceRef]:
    """Give the workspace whose package a link opens: its holder brings no key. None where it opens nothing."""
    return workspaces_with("lastro_with_package_link", token_hash)


def workspaces_with_erasures(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which an approved or running erasure waits for a worker."""
    return workspaces_with("lastro_with_erasures", now)


def workspaces_with_overdue(today: date) -> list[WorkspaceRef]:
    """List the workspaces in which a request is late, and nobody was told so today."""
    return workspaces_with("lastro_with_overdue_erasures", today)


def workspaces_with_ended_holds(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces that have holds to settle."""
    return workspaces_with("lastro_with_ended_holds", now)


def workspaces_with_due_changes(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which the time of a scheduled publication has come (PR-2b)."""
    return workspaces_with("lastro_with_due_changes", now)
