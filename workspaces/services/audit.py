"""Downloads of the audit are acts themselves (PR-21, PR-23)."""

from collections.abc import Iterator
from datetime import datetime

import msgspec
from django.db import transaction

from workspaces import access, audit
from workspaces.models import AuditEntry
from workspaces.selectors.audit import AuditFilter, entries
from workspaces.types import Actor, AuditObject, WorkspaceRef

_AT_A_TIME = 2000


@transaction.atomic
def export_entries(
    *, workspace: WorkspaceRef, filters: AuditFilter, form: str, actor: Actor, now: datetime
) -> Iterator[AuditEntry]:
    """Give the entries that pass a filter, newest first, and write down who took them with which filter.

    It is read while it is sent, in the bound workspace, which is bound again for that; entries after the download
    itself are not in it.
    """
    chosen = {name: str(value) for name, value in msgspec.structs.asdict(filters).items() if value}
    taken = audit.record(
        "audit.export",
        actor=actor,
        now=now,
        on=AuditObject("chain", str(workspace.id)),
        facts={"form": form, "filters": chosen},
    )
    return _read(workspace, filters, before=taken.seq)


def _read(workspace: WorkspaceRef, filters: AuditFilter, *, before: int) -> Iterator[AuditEntry]:
    with access.bound(workspace.id):
        yield from entries(filters).filter(seq__lt=before).iterator(chunk_size=_AT_A_TIME)
