"""Entries of the hot store that let somebody in: each carries a MAC, and is read once per process (WM-20)."""

import hmac
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

import msgspec

from workspaces import coherence, deployment
from workspaces.hotstore import Name, Seen

MAC_BYTES = 32

Value = TypeVar("Value")

_KEPT = 4096
_read: OrderedDict[bytes, tuple[bytes, Any]] = OrderedDict()
_lock = Lock()
_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")


def dump(name: Name, value: Any) -> bytes:
    """Write a value as an entry that counts at this name alone, and in this generation of the hot store."""
    body = _encoder.encode(value)
    return _mac(name, body) + body


def load(name: Name, payload: bytes, kind: type[Value]) -> Value | None:
    """Read an entry; None where its MAC or its shape is another, as if nothing were there.

    What this process has read before is not read again: the bytes are the same.
    """
    known = _read.get(name.entry)
    if known is not None and known[0] == payload:
        return known[1]  # type: ignore[no-any-return]
    mac, body = payload[:MAC_BYTES], payload[MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(name, body)):
        return None
    try:
        value = msgspec.msgpack.decode(body, type=kind)
    except msgspec.DecodeError:
        # Another release wrote it.
        return None
    with _lock:
        _read[name.entry] = payload, value
        while len(_read) > _KEPT:
            _read.popitem(last=False)
    return value


def served(name: Name, seen: Seen, kind: type[Value], read: Callable[[], Value]) -> Value:
    """Give what the hot store says where that counts, else what the database says, which the hot store then keeps."""
    found = load(name, seen.payload, kind) if seen.payload is not None else None
    if found is None:
        payload = coherence.anew(name, seen, lambda: (0, dump(name, read())))
        found = load(name, payload, kind)
    assert found is not None  # noqa: S101  (what was just dumped is loaded)
    return found


def last_read(name: Name) -> Any:
    """Give what this process read last under a name, which may be out of date: to know what to look at."""
    known = _read.get(name.entry)
    return known[1] if known is not None else None


def forget() -> None:
    """Forget what this process has read, as a new one would."""
    with _lock:
        _read.clear()


def _mac(name: Name, body: bytes) -> bytes:
    return deployment.mac("hot-store-grant", name.entry + b"\x00" + body)
