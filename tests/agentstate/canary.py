"""Looking for a word in everything that a deployment writes down, in every form that it could take there (WM-24)."""

import base64
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import valkey
from django.conf import settings
from django.db import connection

from tests.database import ALIASES, logged_in, rows

AROUND = 48


class Place(msgspec.Struct, frozen=True):
    """Somewhere that bytes are kept: its name and what is in it."""

    name: str
    held: bytes


def forms(word: str) -> set[bytes]:
    """Give a word as text, as UTF-16, as hexadecimal and as base64 wherever it may begin in what is encoded."""
    raw = word.encode()
    found = {raw, word.upper().encode(), word.capitalize().encode()}
    found |= {word.encode("utf-16-le"), word.encode("utf-16-be")}
    found |= {raw.hex().encode(), raw.hex().upper().encode()}
    return found | {form for shift in range(3) for form in _base64(raw, shift)}


def _base64(raw: bytes, shift: int) -> Iterator[bytes]:
    """Give the characters of base64 that depend on the word alone, when `shift` bytes stand before it."""
    first, end = -(-8 * shift // 6), 8 * (shift + len(raw)) // 6
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(bytes(shift) + raw)[first:end]


def found(words: Iterable[str], places: Iterable[Place]) -> list[str]:
    """Name each place that holds one of the words, with what stands around it."""
    sought = sorted({form for word in words for form in forms(word)})
    hits = ((place, place.held.find(form)) for place in places for form in sought)
    return [
        f"{place.name}: {place.held[max(at - AROUND, 0) : at + AROUND]!r}" for place, at in hits if at >= 0
    ]


def database() -> Iterator[Place]:
    """Give every column of every table of both databases, as text (bytes as hexadecimal), and what runs now."""
    for alias in ALIASES:
        with logged_in(alias, owner=True) as owner:
            yield from _columns(owner)
    statements = rows("default", "SELECT query FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    yield Place("pg_stat_activity", "\n".join(query or "" for (query,) in statements).encode())


def _columns(owner: Any) -> Iterator[Place]:
    for table, column in owner.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        " ORDER BY table_name, ordinal_position"
    ).fetchall():
        values = owner.execute(f'SELECT "{column}"::text FROM public."{table}" WHERE "{column}" IS NOT NULL')  # noqa: S608
        yield Place(f"{table}.{column}", "\n".join(value for (value,) in values).encode())


def hot_store() -> Iterator[Place]:
    """Give every key of the hot store and of the broker beside it, with its value."""
    with valkey.Valkey.from_url(settings.HOT_STORE_URL, single_connection_client=True) as store:
        for number in range(2):
            store.execute_command("SELECT", number)
            for key in store.scan_iter():
                yield Place(f"hot store {number}", bytes(key) + b" " + _value(store, key))


def _value(store: Any, key: bytes) -> bytes:
    reads: dict[bytes, Callable[[], Any]] = {
        b"string": lambda: store.get(key),
        b"hash": lambda: store.hgetall(key),
        b"list": lambda: store.lrange(key, 0, -1),
        b"set": lambda: store.smembers(key),
        b"zset": lambda: store.zrange(key, 0, -1),
        b"stream": lambda: store.xrange(key),
        b"none": lambda: b"",
    }
    value = reads[store.type(key)]()
    return value if isinstance(value, bytes) else repr(value).encode()


def files(*folders: Path) -> Iterator[Place]:
    """Give every file in some folders; a file that goes away meanwhile is none."""
    for path in chain.from_iterable(sorted(folder.rglob("*")) for folder in folders):
        try:
            yield Place(str(path), path.read_bytes() if path.is_file() else b"")
        except OSError:
            continue


def folders_of_the_services() -> list[Path]:
    """Give where the embedded services keep their files and logs; nowhere, when the services are others."""
    host = connection.settings_dict.get("OPTIONS", {}).get("host") or connection.settings_dict["HOST"]
    return [Path(host).parent] if Path(host, "data", "PG_VERSION").is_file() else []
