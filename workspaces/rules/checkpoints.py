"""What a checkpoint says of a chain, and whether the chain still holds it (PR-22, PR-15b)."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

from workspaces.errors import NotSigned
from workspaces.rules.chains import ChainState
from workspaces.rules.signatures import decode_key, require_signed
from workspaces.types import Moment, PublicKey

KIND = "checkpoint"


class Restored(msgspec.Struct, frozen=True):
    """What a restore that somebody accepted has given up: the checkpoints after this entry, made until this one."""

    after: int
    lost: int


class Checkpoint(msgspec.Struct, frozen=True):
    """The head of a chain at a time. One that follows an accepted restore says what was given up."""

    chain: str
    seq: int
    hash: str
    at: Moment
    keys: tuple[PublicKey, ...] = ()
    restored: Restored | None = None


class Finding(msgspec.Struct, frozen=True):
    """What a chain and a checkpoint contradict each other in, in a sentence."""

    seq: int
    sentence: str


def document(
    *,
    chain: str,
    seq: int,
    head_hash: bytes,
    at: datetime,
    keys: Iterable[PublicKey],
    restored: Restored | None = None,
) -> dict[str, Any]:
    """Write a checkpoint that is to be signed."""
    checkpoint = Checkpoint(
        chain=chain, seq=seq, hash=head_hash.hex(), at=at, keys=tuple(keys), restored=restored
    )
    written: dict[str, Any] = msgspec.to_builtins(checkpoint)
    if restored is None:
        del written["restored"]
    return {"kind": KIND, **written}


def read(found: Mapping[str, Any]) -> Checkpoint:
    """Read a checkpoint. Raises ValueError for a document that is none."""
    if found.get("kind") != KIND:
        raise ValueError("It is no checkpoint.")
    try:
        checkpoint = msgspec.convert(dict(found), Checkpoint)
    except msgspec.ValidationError as error:
        raise ValueError("It is no checkpoint.") from error
    return checkpoint


def trusted_keys(documents: Iterable[Mapping[str, Any]], given: Iterable[str]) -> set[str]:
    """Give the given public keys, and those that a document names which is signed by one of them, and so on.

    A key signs, when it retires, a document that names the next: so the first key of a deployment is enough to verify
    what a later one has signed.
    """
    trusted, waiting, is_growing = set(given), list(documents), True
    while is_growing:
        signed = [found for found in waiting if _is_signed(found, trusted)]
        waiting = [found for found in waiting if found not in signed]
        named = {text for found in signed for text in _named(found)}
        is_growing = not named <= trusted
        trusted |= named
    return trusted


def _named(found: Mapping[str, Any]) -> Iterable[str]:
    """List the public keys that a document names; what is none is passed over."""
    for key in found.get("keys", ()):
        with suppress(ValueError, TypeError, KeyError):
            decode_key(key["public_key"])
            yield key["public_key"]


def _is_signed(found: Mapping[str, Any], keys: Iterable[str]) -> bool:
    try:
        require_signed(found, keys)
    except NotSigned:
        return False
    return True


def void(checkpoints: Sequence[Checkpoint]) -> list[Checkpoint]:
    """List the checkpoints that an accepted restore has given up."""
    accepted = [one for one in checkpoints if one.restored is not None]
    return [
        lost
        for lost in checkpoints
        if any(
            one.restored is not None and lost.at < one.at and one.restored.after < lost.seq
            for one in accepted
        )
    ]


def first_contradiction(checkpoints: Sequence[Checkpoint], state: ChainState) -> Finding | None:
    """Compare checkpoints with a chain that was walked; the first that it does not hold, with the entries in question.

    Entries before the base are gone, with a checkpoint in their place, and entries that the walk did not come to are
    its own finding.
    """
    agreed = state.base
    for one in sorted(checkpoints, key=lambda found: (found.seq, found.at)):
        if one.seq < state.base or one.seq == 0:
            continue
        held = state.hashes.get(one.seq)
        if held is None and state.first_bad is not None and one.seq >= state.first_bad:
            return None
        if held is None:
            said = f"the chain ends at entry {state.end}, and at {_time(one)} it had {one.seq}"
            return Finding(min(state.end, one.seq) + 1, said)
        if held.hex() != one.hash:
            said = f"entry {one.seq} is another one than at {_time(one)}: something after entry {agreed} was rewritten"
            return Finding(agreed + 1, said)
        agreed = one.seq
    return None


def _time(one: Checkpoint) -> str:
    return one.at.isoformat(timespec="seconds")
