"""What is still named under a hash key that was replaced (PL-12)."""

from typing import Any

from django.db.models import Q, QuerySet

from agentstate.models import KeptVersion, State
from assembly.models import Graph
from history.models import KeptItem, Session
from privacy.models import ErasureRequest
from workspaces.models import Handle, Hold, RememberedAnswer, Tombstone
from workspaces.types import WorkspaceRef


def names_under_previous(workspace: WorkspaceRef) -> dict[str, int]:
    """Count, by kind, what in the bound workspace is named under its hash key before; no kind without any.

    What does not say under which key it was named was named before there were two, and may be.
    """
    before = workspace.previous_hash_key_id
    if before is None:
        return {}
    named = Q(hash_key_id=before)
    unsaid = named | Q(hash_key_id=None, scope_hash__isnull=False)
    kept: dict[str, QuerySet[Any]] = {
        "states": State.objects.filter(named),
        "handles": Handle.objects.filter(named),
        "tombstones": Tombstone.objects.filter(named),
        "open erasures": ErasureRequest.objects.filter(named, ended_at=None, scope_hash__isnull=False),
        "holds": Hold.objects.filter(unsaid, settled_at=None),
        "kept versions": KeptVersion.objects.filter(unsaid),
        "sessions": Session.objects.filter(named | Q(conversation_key_id=before)),
        # A live graph is found by its name, and hashed under the key of now when it ends.
        "graphs": Graph.objects.filter(
            Q(conversation_key_id=before) | Q(named & ~Q(life=Graph.Life.LIVE, erasure_id=None))
        ),
        "kept messages": KeptItem.objects.filter(named, conversation_hash__isnull=False),
        "remembered answers": RememberedAnswer.objects.filter(named),
    }
    counts = {kind: rows.count() for kind, rows in kept.items()}
    return {kind: count for kind, count in counts.items() if count}
