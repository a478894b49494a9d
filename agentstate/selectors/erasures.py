"""Which states an erasure covers (PR-10)."""

from collections.abc import Collection, Sequence
from uuid import UUID

from django.db.models import Q, QuerySet

from agentstate.models import State
from workspaces.models import Erasure

_NAMED_BY_SEVERAL = ("conversation", "task")


def covered(erasure: Erasure, *, alone: Collection[bytes]) -> QuerySet[State]:
    """List the live states that an erasure covers (PR-10).

    Of a person: the states that name them, and in conversations and tasks that name nobody else (`alone`) those that
    name nobody. Of a conversation, task or object: all of its states.
    """
    live = State.objects.filter(life=State.Life.LIVE)
    if erasure.scope_hash is not None:
        return live.filter(scope_hash=erasure.scope_hash)
    return live.filter(Q(handle_id__in=erasure.handle_ids) | Q(handle_id=None, scope_hash__in=alone))


def scopes_naming(handle_ids: Sequence[UUID]) -> dict[bytes, UUID]:
    """Give the conversations and tasks whose states name a person: each keyed hash with the key that made it."""
    live = State.objects.filter(life=State.Life.LIVE, scope_kind__in=_NAMED_BY_SEVERAL)
    found = live.filter(handle_id__in=handle_ids).values_list("scope_hash", "hash_key_id").distinct()
    return {bytes(scope): key for scope, key in found}


def scopes_of_others(scopes: Collection[bytes], handle_ids: Sequence[UUID]) -> set[bytes]:
    """Tell in which of these scopes a state names somebody else."""
    live = State.objects.filter(life=State.Life.LIVE, scope_hash__in=scopes, handle_id__isnull=False)
    others = live.exclude(handle_id__in=handle_ids)
    return {bytes(scope) for scope in others.values_list("scope_hash", flat=True).distinct()}
