"""How the entries of an audit chain are hashed, and which entry follows which (PR-22)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import orjson
import rfc8785

BEGINNING = bytes(32)
"""The hash before the first entry."""

# 309 digits are the shortest number that a double does not hold: shorter facts have none.
_FACTS_WITHOUT_HUGE_NUMBERS = 300


class ChainState(msgspec.Struct, frozen=True):
    """What a walk along a chain found: how many entries verify, and the number of the first that does not.

    `base` is the number up to which entries were removed, with a signed checkpoint in their place; `hashes` are those
    of the entries that were asked for, as far as the walk came.
    """

    entries: int
    first_bad: int | None = None
    base: int = 0
    hashes: dict[int, bytes] = {}

    @property
    def end(self) -> int:
        """Give the number of the last entry that verifies."""
        return self.base + self.entries


class Base(msgspec.Struct, frozen=True):
    """Where a walk begins: behind this entry and its hash."""

    seq: int = 0
    hash: bytes = BEGINNING


def hashed_members(  # noqa: PLR0913  (the members of an entry)
    *,
    chain: str,
    id: str,
    seq: int,
    at: datetime,
    act: str,
    actor: list[str],
    address: str,
    request_id: str,
    on: list[str],
    reason: str,
    result: str,
    facts: Any,
    previous_hash: bytes,
) -> dict[str, Any]:
    """Give what an entry is hashed over: all of it, the name of its chain and the hash before it."""
    return {
        "act": act,
        "actor": actor,
        "address": address,
        "at": at.astimezone(UTC).isoformat(),
        "chain": chain,
        "facts": facts,
        "id": id,
        "object": on,
        "previous_hash": previous_hash.hex(),
        "reason": reason,
        "request_id": request_id,
        "result": result,
        "seq": seq,
    }


def hash_of(members: Mapping[str, Any]) -> bytes:
    """Hash what `hashed_members` gave, over its canonical JSON (RFC 8785)."""
    return hashlib.sha256(rfc8785.dumps(dict(members))).digest()


class Walk:
    """A walk along the stored rows of a chain, as text where the database would need time to make objects of them.

    It costs about 7 microseconds an entry.
    """

    def __init__(self, chain: str, base: Base, *, wanted: frozenset[int] = frozenset()) -> None:
        self.seq, self.hash = base.seq, base.hash
        self.hashes = {base.seq: base.hash} if base.seq in wanted else {}
        self._chain, self._wanted = chain, wanted

    def step(self, row: Sequence[Any]) -> bool:
        """Go on to the next row; tell whether it follows. A row that does not is not gone to."""
        seq, previous, stored = row[1], bytes(row[-2]), bytes(row[-1])
        follows = seq == self.seq + 1 and previous == self.hash and _is_hashed(self._chain, row, stored)
        if follows:
            self.seq, self.hash = seq, stored
            if seq in self._wanted:
                self.hashes[seq] = stored
        return follows


def _is_hashed(chain: str, row: Sequence[Any], stored: bytes) -> bool:
    """Compare the hash: first over a writer ten times as fast, whose text is the same for all but odd numbers."""
    try:
        members = _members(chain, row)
        if len(row[14]) <= _FACTS_WITHOUT_HUGE_NUMBERS:
            text = orjson.dumps(members, option=orjson.OPT_SORT_KEYS)
            if stored == hashlib.sha256(text).digest():
                return True
        members["facts"] = json.loads(row[14])
        return stored == hash_of(members)
    except (TypeError, ValueError, rfc8785.CanonicalizationError):  # such a row was not written by us
        return False


def _members(chain: str, row: Sequence[Any]) -> dict[str, Any]:
    id, seq, at, act, kind, actor_id, name, roles, address, request, on_kind, on_id, reason, result = row[:14]
    return hashed_members(
        chain=chain,
        id=id,
        seq=seq,
        at=datetime.fromisoformat(at),
        act=act,
        actor=[kind, actor_id, name, *orjson.loads(roles)],
        address=address,
        request_id=request,
        on=[on_kind, on_id],
        reason=reason,
        result=result,
        facts=orjson.loads(row[14]),
        previous_hash=bytes(row[15]),
    )
