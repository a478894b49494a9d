"""The bounds of history in a workspace, and what it is counted to keep."""

from typing import Any

from history import access as door
from history.models import Item, Session
from tests import factories
from workspaces import access, documents
from workspaces.types import WorkspaceRef


def keep(workspace: WorkspaceRef, **bounds: Any) -> None:
    """Publish other bounds of history."""
    with access.bound(workspace.id):
        body = dict(documents.live("retention")["retention"].body)
    factories.publish(workspace, "retention", body | {"history": body["history"] | bounds})


def used(workspace: WorkspaceRef) -> tuple[int, int]:
    """Give how many sessions and bytes the workspace is counted to keep, after holding it against the rows."""
    with access.bound(workspace.id):
        live = list(Session.objects.filter(life="live"))
        assert door.usage() == (len(live), sum(row.stored_bytes for row in live))
        sizes = Item.objects.filter(session__life="live").values_list("item_bytes", flat=True)
        assert sum(sizes) == door.usage()[1]
        return door.usage()
