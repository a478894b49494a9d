"""The real hot store as a test looks into it: raw values, and the events that no test can wait for."""

from functools import cache
from typing import Any, cast
from uuid import uuid4

import msgspec
import valkey
from django.conf import settings

from workspaces.hotstore import Name, name_of

KEPT_FOR_EVER, ABSENT = -1, -2


@cache
def raw() -> Any:
    """Give a client of the hot store that goes past the scripts."""
    return valkey.Valkey.from_url(settings.HOT_STORE_URL)


def new_name() -> Name:
    """Name a thing that no other test knows."""
    return name_of("test", uuid4().bytes)


def flush(name: Name) -> None:
    """Lose all that is kept of one thing, as a flush or a failover does, and leave the other tests alone."""
    raw().delete(name.entry, name.marker, name.token)


def evict(name: Name) -> None:
    """Lose the entry, as a store does that needs room."""
    raw().delete(name.entry)


def life_ms(key: bytes) -> int:
    """Give how long a value is kept yet, KEPT_FOR_EVER or ABSENT."""
    return cast(int, raw().pttl(key))


def writers(name: Name) -> dict[str, float]:
    """Give the writers of a marker with their deadlines, by the clock of the store in milliseconds."""
    stored = raw().get(name.marker)
    return dict(msgspec.msgpack.decode(stored)["writers"]) if stored else {}


def now_ms() -> float:
    """Give the time by the clock of the store."""
    seconds, micros = raw().time()
    return float(seconds * 1000 + micros / 1000)


def pass_deadline(name: Name, *who: str) -> None:
    """Let the deadlines of some writers be over, or of all."""
    marker = msgspec.msgpack.decode(raw().get(name.marker))
    for writer in who or tuple(marker["writers"]):
        marker["writers"][writer] = now_ms() - 1
    raw().set(name.marker, msgspec.msgpack.encode(marker))
