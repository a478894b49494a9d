"""Taking out all that a closed workspace keeps of working memory, in bounded batches (PL-5b)."""

from django.db import transaction

from agentstate import access
from agentstate.models import KeptVersion, State
from workspaces import barriers, coherence
from workspaces.encryption import retire_keys
from workspaces.models import Erasure
from workspaces.types import Key, WorkspaceRef

BATCH = 100
KIND = "agent_states"


@transaction.atomic
def take_out_batch(*, workspace: WorkspaceRef, erasure: Erasure, key: Key) -> bool:
    """Take out a batch of the bound workspace's states and tombstones; tell whether any is left.

    Live ones are noted with their digest. A row that somebody holds is left to the next batch.
    """
    gone = []
    for row in State.objects.select_for_update(skip_locked=True).order_by("id")[:BATCH]:
        name = access.hot_name(workspace, bytes(row.scope_hash), row.agent)
        if not coherence.try_lock(name):
            continue
        coherence.changing_locked(name)
        if row.body is not None:
            parts = (row.id.bytes, row.version.to_bytes(8, "big"), bytes(row.body))
            barriers.note_erased(erasure, KIND, row.id, *parts, key=key)
        retire_keys(workspace, row.data_key_id)
        gone.append(row.id)
    State.objects.filter(id__in=gone).delete()
    return is_anything_left()


@transaction.atomic
def take_out_kept_versions(*, erasure: Erasure, key: Key) -> bool:
    """Take out a batch of the versions that ended holds have kept; tell whether any is left."""
    rows = list(KeptVersion.objects.select_for_update().order_by("id")[:BATCH])
    for row in rows:
        parts = (row.state_id.bytes, row.version.to_bytes(8, "big"), bytes(row.body))
        barriers.note_erased(erasure, "kept_versions", row.state_id, *parts, key=key)
    KeptVersion.objects.filter(id__in=[row.id for row in rows]).delete()
    return KeptVersion.objects.exists()


def is_anything_left() -> bool:
    """Tell whether the bound workspace keeps any state, alive or not."""
    return State.objects.exists()
