"""Large payloads in the blob store: compressed, sealed in chunks, streamed both ways (CA-4, PL-12).

Django's storage API is used here and nowhere else; `STORAGES["payloads"]` says which store.
"""

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

from backports.zstd import ZstdCompressor, ZstdDecompressor, ZstdError
from django.core.files import File
from django.core.files.storage import Storage, storages

from workspaces.chunks import CHUNK_BYTES, opened_chunks, sealed_chunks
from workspaces.encryption import SEAL_BYTES
from workspaces.errors import Tampered, Unavailable
from workspaces.types import Key

try:
    from botocore.exceptions import BotoCoreError, ClientError
except ImportError:
    _AWAY: tuple[type[Exception], ...] = (OSError,)
else:
    _AWAY = (OSError, BotoCoreError, ClientError)

PART_BYTES = 64 * 1024
LEVEL = 3


class _Pulled(io.RawIOBase):
    """A file to read from what an iterator gives: a store pulls what it writes."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts, self._waiting = parts, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._waiting:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._waiting = part
        size = min(len(buffer), len(self._waiting))
        buffer[:size], self._waiting = self._waiting[:size], self._waiting[size:]
        return size


def write(workspace_id: UUID, name: str, key: Key, parts: Iterable[bytes]) -> None:
    """Write a blob as its bytes come; where `parts` raises, what was written so far is for `remove`.

    It is on the disk, or with the other store, when this returns. Raises Unavailable where the store takes no more.
    """
    sealed = sealed_chunks(key, _deflated(parts), context=_context(workspace_id, name, key))
    store = _store()
    with _reaching(), File(io.BufferedReader(_Pulled(sealed), PART_BYTES), name) as content:
        kept = store.save(name, content)
        if kept != name:
            store.delete(kept)
            raise Unavailable
        _make_durable(store, name)


def read(workspace_id: UUID, name: str, key: Key) -> Iterator[bytes]:
    """Read a blob in parts of at most 64 KiB, none before its chunk is verified.

    Raises Tampered for one that was altered, cut or taken away, and Unavailable where the store does not answer.
    """
    with _reaching(), _store().open(name) as file:
        chunks = iter(lambda: file.read(CHUNK_BYTES + SEAL_BYTES), b"")
        yield from _inflated(opened_chunks(key, chunks, context=_context(workspace_id, name, key)))


def remove(name: str) -> None:
    """Remove a blob, there or not. Raises Unavailable where the store does not answer."""
    with _reaching():
        _store().delete(name)


@contextmanager
def _reaching() -> Iterator[None]:
    """Answer what the store raises as a refusal: a blob that is not there does not verify."""
    try:
        yield
    except FileNotFoundError as error:
        raise Tampered from error
    except _AWAY as error:
        raise Unavailable from error


def _store() -> Storage:
    return storages["payloads"]


def _context(workspace_id: UUID, name: str, key: Key) -> tuple[object, ...]:
    return (workspace_id, "graph_blob", name, key.id)


def _make_durable(store: Storage, name: str) -> None:
    """Have the file and its name on the disk: the payload is committed as stored right after."""
    with suppress(NotImplementedError):
        path = Path(store.path(name))
        for place in (path, path.parent):
            descriptor = os.open(place, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _deflated(parts: Iterable[bytes]) -> Iterator[bytes]:
    deflater = ZstdCompressor(level=LEVEL)
    for part in parts:
        yield deflater.compress(part)
    yield deflater.flush()


def _inflated(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Inflate part by part: however much a chunk inflates to, no more than 64 KiB of it is there at once."""
    inflater = ZstdDecompressor()
    try:
        for part in parts:
            yield from _inflated_part(inflater, part)
    except (ZstdError, EOFError) as error:
        raise Tampered from error
    if not inflater.eof:
        raise Tampered


def _inflated_part(inflater: ZstdDecompressor, part: bytes) -> Iterator[bytes]:
    yield inflater.decompress(part, PART_BYTES)
    while not (inflater.eof or inflater.needs_input):
        yield inflater.decompress(b"", PART_BYTES)
