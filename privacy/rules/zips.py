"""A zip that is written as its parts come and never looked back into, so that memory stays small (PR-18)."""

import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

TEXT_MODE = 0o600 << 16


class ZippedFile(msgspec.Struct, frozen=True):
    """A file of a zip: its length and digest before compression, and how many lines or parts it was made of."""

    name: str
    sha256: str
    bytes: int
    records: int


class ZipStream:
    """Gives the bytes of a zip file by file; `files` are those that are complete."""

    def __init__(self, at: datetime) -> None:
        self.files: list[ZippedFile] = []
        self._at = at.astimezone(UTC).timetuple()[:6]
        self._sink = _Sink()
        self._zip = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, parts: Iterable[bytes]) -> Iterator[bytes]:
        """Add a file of any size."""
        info = zipfile.ZipInfo(name, self._at)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, TEXT_MODE
        digest, length, records = hashlib.sha256(), 0, 0
        with self._zip.open(info, "w", force_zip64=True) as entry:
            for part in parts:
                entry.write(part)
                digest.update(part)
                length, records = length + len(part), records + 1
                yield from self._sink.taken()
        self.files.append(ZippedFile(name, digest.hexdigest(), length, records))
        yield from self._sink.taken()

    def end(self) -> Iterator[bytes]:
        """Write the directory, which readers start from."""
        self._zip.close()
        yield from self._sink.taken()


class _Sink(io.RawIOBase):
    """Takes what the zip writes; it can neither seek nor tell, so that the zip never tries to go back."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        self._waiting += data
        return len(data)

    def taken(self) -> Iterator[bytes]:
        """Give what has gathered, if anything has."""
        if self._waiting:
            yield bytes(self._waiting)
            self._waiting.clear()
