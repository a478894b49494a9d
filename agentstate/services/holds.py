"""Letting go of what a legal hold has kept, once it has ended (PR-16)."""

from django.db import transaction

from agentstate.models import KeptVersion
from workspaces.models import Hold

BATCH = 500


@transaction.atomic
def let_go(hold: Hold) -> int:
    """Delete a batch of the versions that a hold has kept; give how many. Another worker's are skipped."""
    free = KeptVersion.objects.filter(hold=hold).select_for_update(skip_locked=True)
    batch = list(free.order_by("id").values_list("id", flat=True)[:BATCH])
    KeptVersion.objects.filter(id__in=batch).delete()
    return len(batch)
