"""Reading and changing what both stores hold, so that no reader is served what a writer has replaced (WM-18, WM-20)."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from django.conf import settings
from django.db import transaction

from workspaces import hotstore, locks
from workspaces.errors import HotStoreUnavailable, OutcomeUnknown
from workspaces.hotstore import HotStoreDown, Mark, Name, Seen

Read = Callable[[], tuple[int, bytes]]
"""Reads the database: gives the number of the last change, and what the hot store is to keep."""


def look(name: Name) -> Seen:
    """Look at one thing; a hot store that does not answer holds nothing."""
    return look_at([name])[0]


def look_at(names: Sequence[Name]) -> list[Seen]:
    """Look at some things in one call."""
    if names:
        with suppress(HotStoreDown):
            return hotstore.look(names)[1]
    return [Seen()] * len(names)


def served(name: Name, seen: Seen, read: Read) -> bytes:
    """Give what the hot store may serve, else what the database says (WM-19)."""
    payload = seen.payload
    return payload if payload is not None else cold(name, seen, read)


def cold(name: Name, seen: Seen, read: Read) -> bytes:
    """Read the database, and let the hot store keep it where no writer can have come between.

    Before it is told the hot store lets go of anything older.
    """
    expired = seen.expired_writers()
    if expired:
        return _repaired(name, expired, read)
    given = _token(name) if seen.marker is None else None
    change, payload = read()
    with suppress(HotStoreDown):
        hotstore.fill(name, given, change=change, payload=payload)
    return payload


def anew(name: Name, seen: Seen, read: Read) -> bytes:
    """Read the database as `cold` does, where what may have been seen does not count: it is replaced."""
    if seen.payload is not None and seen.entry is not None:
        with suppress(HotStoreDown):
            hotstore.discard(name, seen.entry)
    return cold(name, seen, read)


def begin(name: Name, also: Sequence[Name] = ()) -> Mark | None:
    """Put a writer's marker before anything is changed, and look at more in the same call.

    None where the hot store is away and the deployment may do without (WM-20).
    """
    try:
        return hotstore.mark(name, also)
    except HotStoreDown as error:
        if settings.HOT_STORE_REQUIRED:
            raise HotStoreUnavailable from error
        return None


def changing(name: Name) -> None:
    """Tell readers that the running transaction changes something; its entry goes when that has committed.

    Who repairs after a crash waits for the same lock.
    """
    lock(name)
    changing_locked(name)


def changing_locked(name: Name) -> None:
    """Do the same where the lock is held already."""
    marked = begin(name)
    if marked is not None:
        transaction.on_commit(lambda: end(marked))


def try_lock(name: Name) -> bool:
    """Take the lock under which a thing is changed if nobody has it; tell whether it was taken."""
    return locks.try_lock(lock_number(name))


def lock_number(name: Name) -> int:
    """Give the number of that lock, for a database function that takes it."""
    return locks.global_number(name.entry)


def end(marked: Mark | None) -> None:
    """Take the entry away after a change has committed, and lift the marker."""
    try:
        if marked is not None:
            hotstore.drop(marked)
    except HotStoreDown as error:
        raise OutcomeUnknown from error


def lock(name: Name) -> None:
    """Take the lock under which a thing is changed and repaired, in the order of arrival."""
    locks.lock(lock_number(name))


def _repaired(name: Name, expired: list[str], read: Read) -> bytes:
    """Read under the lock, taken without waiting, and lift the markers of writers that never came back."""
    with transaction.atomic():
        is_alone = try_lock(name)
        change, payload = read()
        with suppress(HotStoreDown):
            for writer in expired if is_alone else []:
                hotstore.repair(name, writer, change=change, payload=payload)
            hotstore.fill(name, None, change=change, payload=payload)
    return payload


def _token(name: Name) -> bytes | None:
    with suppress(HotStoreDown):
        return hotstore.token(name)
    return None
