"""Content over 1 MiB, sealed in chunks that can neither be cut nor put in another order (PL-12)."""

from collections.abc import Iterable, Iterator

from workspaces.encryption import context_of, seal, unseal
from workspaces.errors import Tampered
from workspaces.types import Key

CHUNK_BYTES = 64 * 1024


def sealed_chunks(key: Key, parts: Iterable[bytes], *, context: tuple[object, ...]) -> Iterator[bytes]:
    """Seal a file of any size in chunks of 64 KiB, as its bytes come; there is always at least one (PL-12).

    Each is bound to `context` (which object it belongs to), to its index, and to whether it is the last.
    """
    index, waiting = 0, bytearray()
    for part in parts:
        waiting += part
        while len(waiting) > CHUNK_BYTES:
            yield seal(key, bytes(waiting[:CHUNK_BYTES]), context=context_of(*context, index, False))
            del waiting[:CHUNK_BYTES]
            index += 1
    yield seal(key, bytes(waiting), context=context_of(*context, index, True))


def opened_chunks(key: Key, chunks: Iterable[bytes], *, context: tuple[object, ...]) -> Iterator[bytes]:
    """Open what `sealed_chunks` gave, in order; no byte of a chunk leaves before it is verified (PL-12).

    Raises Tampered at the first chunk that was altered or moved, and at the end of a file that was cut.
    """
    index, sealed = 0, None
    for following in chunks:
        if sealed is not None:
            yield unseal(key, sealed, context=context_of(*context, index, False))
            index += 1
        sealed = following
    if sealed is None:
        raise Tampered
    yield unseal(key, sealed, context=context_of(*context, index, True))
