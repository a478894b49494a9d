"""Which states an erasure covers (PR-10)."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from agentstate.models import State
from workspaces.models import Erasure

_NAMED_BY_SEVERAL = ("conversation", "task")


def covered(erasure: Erasure) -> QuerySet[State]:
    """List the live states that an erasure covers (PR-10).

    Of a person: the states that name them, and in conversations and tasks that name nobody else those that name nobody.
    Of a conversation, task or object: all of its states.
    """
    live = State.objects.filter(life=State.Life.LIVE)
    if erasure.scope_hash is not None:
        return live.filter(scope_hash=erasure.scope_hash)
    naming = Q(handle_id__in=erasure.handle_ids)
    alone = scopes_alone(erasure).values("scope_hash")
    return live.filter(naming | Q(handle_id=None, scope_hash__in=alone))


def scopes_alone(erasure: Erasure) -> QuerySet[State]:
    """List the states in conversations and tasks that name the person and nobody else."""
    live = State.objects.filter(life=State.Life.LIVE)
    if not erasure.handle_ids:
        return live.none()
    same = live.filter(scope_hash=OuterRef("scope_hash"), handle_id__isnull=False)
    others = same.exclude(handle_id__in=erasure.handle_ids)
    own = live.filter(handle_id__in=erasure.handle_ids, scope_kind__in=_NAMED_BY_SEVERAL)
    return own.filter(~Exists(others))
