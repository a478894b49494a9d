"""The audit beside an object: its last five acts, and the way to the log (CO-7)."""

from typing import Any

from console.pages import here
from console.presenters.rows import Change, object_words
from workspaces.selectors.audit import AuditFilter, entries

SHOWN = 5


def changes_of(request: Any, filters: AuditFilter, **query: str) -> dict[str, Any]:
    """Give the variables of the partial `_changes.html`; who may not read the log gets no way to it."""
    may_read = "view_audit" in request.may
    rows = [
        Change(
            at=entry.at,
            actor=entry.actor_name,
            action=entry.act,
            object=object_words(entry),
            url=here(request, "audit_entry", entry.id) if may_read else "",
        )
        for entry in entries(filters)[:SHOWN]
    ]
    return {"changes": rows, "audit_url": here(request, "audit", **query) if may_read else ""}
