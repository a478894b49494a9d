"""Keys whose content is gone are destroyed, also when a crash came between the two databases (PR-15)."""

from django.db import transaction

from workspaces import encryption
from workspaces.models import HeldKey, RetiredKey
from workspaces.types import WorkspaceRef

BATCH = 1000


@transaction.atomic
def destroy_retired_keys(*, workspace: WorkspaceRef) -> int:
    """Destroy a batch of the bound workspace's retired keys; give how many. Another worker's are skipped.

    Those that a legal hold needs are left out, so that they never fill a batch (PR-16). The others go from the database
    of the keys before the rows that name them: a crash between is made good the next time.
    """
    free = RetiredKey.objects.exclude(key_id__in=HeldKey.objects.values("key_id"))
    rows = list(free.select_for_update(skip_locked=True)[:BATCH])
    encryption.destroy_retired(workspace, [row.key_id for row in rows])
    return len(rows)
