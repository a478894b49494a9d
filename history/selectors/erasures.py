"""Which sessions an erasure covers (PR-10, HI-22)."""

from collections.abc import Collection, Sequence
from uuid import UUID

from django.db.models import Q, QuerySet

from history.models import Session
from workspaces.models import Erasure


def covered(erasure: Erasure, *, alone: Collection[bytes]) -> QuerySet[Session]:
    """List the sessions that an erasure covers (PR-10).

    Of a person: the sessions that name them, and in conversations that name nobody else (`alone`) those that name
    nobody. Of a conversation: all that name it. A session names no task and no object.
    """
    kept = _kept()
    if erasure.scope_hash is not None:
        return kept.filter(conversation_hash=erasure.scope_hash)
    return kept.filter(Q(handle_id__in=erasure.handle_ids) | Q(handle_id=None, conversation_hash__in=alone))


def scopes_naming(handle_ids: Sequence[UUID]) -> dict[bytes, UUID]:
    """Give the conversations whose sessions name a person: each keyed hash with the key that made it."""
    theirs = _kept().filter(handle_id__in=handle_ids, conversation_hash__isnull=False)
    found = theirs.values_list("conversation_hash", "conversation_key_id").distinct()
    return {bytes(scope): key for scope, key in found if scope is not None and key is not None}


def scopes_of_others(scopes: Collection[bytes], handle_ids: Sequence[UUID]) -> set[bytes]:
    """Tell in which of these conversations a session names somebody else."""
    others = _kept().filter(conversation_hash__in=scopes, handle_id__isnull=False)
    found = others.exclude(handle_id__in=handle_ids).values_list("conversation_hash", flat=True).distinct()
    return {bytes(scope) for scope in found if scope is not None}


def _kept() -> QuerySet[Session]:
    return Session.objects.exclude(life=Session.Life.ERASED)
