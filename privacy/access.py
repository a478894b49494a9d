"""Questions about packages that no single workspace can answer (PL-1)."""

from datetime import datetime

from workspaces.access import workspaces_with
from workspaces.types import WorkspaceRef


def workspaces_with_packages_to_build(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which a package waits for a worker, or has lost the one that it had."""
    return workspaces_with("lastro_with_packages_to_build", now)


def workspaces_with_packages_to_sweep(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which a package is over and something of it is still stored (PR-20)."""
    return workspaces_with("lastro_with_packages_to_sweep", now)


def workspaces_of_link(token_hash: bytes) -> list[WorkspaceRef]:
    """Give the workspace whose package a link opens: its holder brings no key. None where it opens nothing."""
    return workspaces_with("lastro_with_package_link", token_hash)
