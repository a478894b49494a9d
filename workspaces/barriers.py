"""What was erased, is being erased or is held: every app asks here before it reads or writes (PR-11, PR-12, PR-16)."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from workspaces import encryption, locks
from workspaces.models import ErasedItem, Erasure, Hold, Tombstone
from workspaces.rules.barriers import require_made_after
from workspaces.types import Key, WorkspaceRef


def require_not_erased(names: Iterable[bytes], *, written_at: datetime | None) -> None:
    """Refuse what names a handle or a scope, by keyed hash, and says that it was made before that was erased (PR-12).

    What does not say when it was made is asked no further here: nothing of it was ever stored.
    """
    if written_at is not None:
        erased = Tombstone.objects.filter(hash__in=list(names)).order_by("-erased_at").first()
        if erased is not None:
            require_made_after(erased.erased_at, written_at=written_at)


def note_erased(erasure: Erasure, kind: str, item_id: UUID, *parts: bytes, key: Key) -> None:
    """Note that an erasure removed a thing, with the digest of what went; a second note changes nothing (PR-13)."""
    note_all_erased(erasure, kind, {item_id: parts}, key=key)


def note_all_erased(erasure: Erasure, kind: str, gone: Mapping[UUID, Iterable[bytes]], *, key: Key) -> None:
    """Note several things of a kind at once, each by its id and what it was made of."""
    noted = [
        ErasedItem(erasure=erasure, kind=kind, item_id=item_id, digest=_digest(parts, key))
        for item_id, parts in gone.items()
    ]
    ErasedItem.objects.bulk_create(noted, ignore_conflicts=True)


def digest_key(workspace: WorkspaceRef, erasure: Erasure) -> Key:
    """Give the key of an erasure's digests, which is destroyed with what it hashed (PR-14)."""
    return encryption.open_key(workspace, erasure.id)


def lock_holds() -> None:
    """Let no erasure begin while a hold is being placed, nor the other way round, until the transaction ends (PR-16).

    Taken after the entry of the audit, whose head both lock too: in the other order they could wait for each other.
    """
    locks.lock(locks.number(b"holds"))


def hold_people() -> None:
    """Keep who is one person as it is until the transaction ends: what is resolved to people stays so (PL-7)."""
    locks.lock_shared(locks.number(b"people"))


def hold_people_alone() -> None:
    """Wait until nobody acts on people as they were resolved, and keep others waiting: to link or unlink (PL-7)."""
    locks.lock(locks.number(b"people"))


def standing_holds(now: datetime) -> QuerySet[Hold]:
    """List the holds of the bound workspace that stand at a moment."""
    return Hold.objects.filter(lifted_at__isnull=True, ends_at__gt=now)


def holds_on(*, profile_ids: Iterable[UUID], scope_hashes: Iterable[bytes], now: datetime) -> QuerySet[Hold]:
    """List the holds that keep any of these people, conversations or tasks."""
    return standing_holds(now).filter(holding(profile_ids=profile_ids, scope_hashes=scope_hashes))


def unsettled_holds() -> QuerySet[Hold]:
    """List the holds that stand, and those that have ended and still keep what they kept."""
    return Hold.objects.filter(settled_at__isnull=True)


def holding(*, profile_ids: Iterable[UUID], scope_hashes: Iterable[bytes]) -> Q:
    """Describe the holds on any of these people, conversations or tasks."""
    return Q(profile_id__in=list(profile_ids)) | Q(scope_hash__in=list(scope_hashes))


def _digest(parts: Iterable[bytes], key: Key) -> bytes:
    plain = hashlib.sha256(b"".join(_framed(parts))).digest()
    return hmac.new(key.secret, plain, hashlib.sha256).digest()


def _framed(parts: Iterable[bytes]) -> Iterable[bytes]:
    for part in parts:
        yield len(part).to_bytes(8, "big")
        yield part
