"""Writes that are sent again: what is remembered of a write, and when a new one is the same (WM-15)."""

import hmac
from collections.abc import Sequence

import msgspec

from agentstate.types import RememberedWrite
from workspaces.errors import Conflict

REMEMBERED_WRITES = 32
RESEND_WITHIN_SECONDS = 30


def load(stored: bytes) -> tuple[RememberedWrite, ...]:
    """Read what a row remembers."""
    return msgspec.msgpack.decode(stored, type=tuple[RememberedWrite, ...]) if stored else ()


def dump(writes: Sequence[RememberedWrite]) -> bytes:
    """Write what the row is to remember."""
    return msgspec.msgpack.encode(tuple(writes)) if writes else b""


def without_bodies(writes: Sequence[RememberedWrite]) -> tuple[RememberedWrite, ...]:
    """Forget the hashes of bodies, for a row whose data key is replaced or destroyed."""
    return tuple(msgspec.structs.replace(write, body_mac=b"") for write in writes)


def same_key(
    writes: Sequence[RememberedWrite], *, key_macs: Sequence[bytes], body_mac: bytes
) -> RememberedWrite | None:
    """Give the earlier write with this Idempotency-Key, or refuse the key when its body was another one."""
    for write in writes:
        if any(hmac.compare_digest(write.key_mac, mac) for mac in key_macs):
            if write.body_mac and not hmac.compare_digest(write.body_mac, body_mac):
                raise Conflict
            return write
    return None


def same_cas(
    writes: Sequence[RememberedWrite], attempt: RememberedWrite, *, version: int
) -> RememberedWrite | None:
    """Give the last stored write when `attempt` is that compare-and-swap sent again, for keys with `resend`.

    A write with an Idempotency-Key of its own says itself what it is.
    """
    last = writes[-1] if writes else None
    if attempt.key_mac or last is None or last.version != version or attempt.mode != "cas":
        return None
    is_same = (
        last.mode == "cas"
        and last.credential == attempt.credential
        and last.if_version == attempt.if_version
        and attempt.at - last.at <= RESEND_WITHIN_SECONDS
        and bool(last.body_mac)
        and hmac.compare_digest(last.body_mac, attempt.body_mac)
    )
    return last if is_same else None


def remember(writes: Sequence[RememberedWrite], latest: RememberedWrite) -> tuple[RememberedWrite, ...]:
    """Add a stored write and keep the last 32 Idempotency-Keys. One without is known only by being the last."""
    keyed = [write for write in (*writes, latest) if write.key_mac][-REMEMBERED_WRITES:]
    return tuple(keyed) if latest.key_mac else (*keyed, latest)


def stored(attempt: RememberedWrite, *, version: int, epoch: str, masked: dict[str, int]) -> RememberedWrite:
    """Complete an attempt with the answer that it got."""
    return msgspec.structs.replace(attempt, version=version, epoch=epoch, masked=masked)
