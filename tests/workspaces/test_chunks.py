"""Files of any size in sealed chunks (PL-12)."""

import os
from collections.abc import Callable, Iterator
from uuid import UUID, uuid4

import pytest

from workspaces.chunks import CHUNK_BYTES, opened_chunks, sealed_chunks
from workspaces.encryption import SEAL_BYTES
from workspaces.errors import Tampered
from workspaces.types import Key

OBJECT = ("a-workspace", "a-table", UUID(int=7))


@pytest.fixture
def key() -> Key:
    return Key(id=uuid4(), secret=os.urandom(32))


def sealed(
    key: Key, size: int, parts: int = 1, context: tuple[object, ...] = OBJECT
) -> tuple[bytes, list[bytes]]:
    """Seal random bytes that come in several parts."""
    plain = os.urandom(size)
    cut = max(1, -(-size // parts))
    pieces = [plain[start : start + cut] for start in range(0, size, cut)]
    return plain, list(sealed_chunks(key, pieces, context=context))


@pytest.mark.parametrize(
    "size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 1_100_000]
)
@pytest.mark.parametrize("parts", [1, 2, 17])
def test_what_is_sealed_is_opened(key: Key, size: int, parts: int) -> None:
    """PL-12: chunks hold 64 KiB each but the last, however the bytes came, and give them back."""
    plain, chunks = sealed(key, size, parts)
    assert b"".join(opened_chunks(key, chunks, context=OBJECT)) == plain
    assert {len(chunk) for chunk in chunks[:-1]} <= {CHUNK_BYTES + SEAL_BYTES}
    assert len(chunks) == max(1, -(-size // CHUNK_BYTES))


Harm = Callable[[list[bytes], Key], list[bytes]]


def _of_another(chunks: list[bytes], key: Key) -> list[bytes]:
    return [sealed(key, CHUNK_BYTES, context=("a-workspace", "a-table", UUID(int=8)))[1][0], *chunks[1:]]


HARM: dict[str, Harm] = {
    "the end is cut": lambda chunks, _: chunks[:-1],
    "all but the first is cut": lambda chunks, _: chunks[:1],
    "everything is cut": lambda _chunks, _: [],
    "the beginning is cut": lambda chunks, _: chunks[1:],
    "one in the middle is gone": lambda chunks, _: [*chunks[:2], *chunks[3:]],
    "two are exchanged": lambda chunks, _: [chunks[0], chunks[2], chunks[1], *chunks[3:]],
    "the last comes first": lambda chunks, _: [chunks[-1], *chunks[1:]],
    "one is there twice": lambda chunks, _: [chunks[0], *chunks],
    "one follows the last": lambda chunks, _: [*chunks, chunks[-1]],
    "a bit is turned": lambda chunks, _: [
        *chunks[:2],
        bytes([chunks[2][0] ^ 1]) + chunks[2][1:],
        *chunks[3:],
    ],
    "one is shortened": lambda chunks, _: [*chunks[:2], chunks[2][:-1], *chunks[3:]],
    "one is of another object": _of_another,
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_a_harmed_file_is_refused(key: Key, harm: Harm) -> None:
    """PL-12: a cut, reordered or altered file is refused, and nothing leaves that is not in its place."""
    plain, chunks = sealed(key, 4 * CHUNK_BYTES + 5)
    left: list[bytes] = []
    with pytest.raises(Tampered):
        left.extend(opened_chunks(key, harm(chunks, key), context=OBJECT))
    assert plain.startswith(b"".join(left))


def test_no_byte_leaves_before_its_chunk_is_verified(key: Key) -> None:
    """PL-12: a chunk leaves when it is verified, and one that follows is looked at for the end alone."""
    plain, chunks = sealed(key, 3 * CHUNK_BYTES)
    asked = []

    def read() -> Iterator[bytes]:
        for number, chunk in enumerate(chunks):
            asked.append(number)
            yield chunk

    opened = opened_chunks(key, read(), context=OBJECT)
    assert next(opened) == plain[:CHUNK_BYTES]
    assert asked == [0, 1]


def test_another_key_opens_nothing(key: Key) -> None:
    """PL-12: chunks belong to their key."""
    _, chunks = sealed(key, 10)
    with pytest.raises(Tampered):
        list(opened_chunks(Key(id=key.id, secret=os.urandom(32)), chunks, context=OBJECT))
