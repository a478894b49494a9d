"""Places in a payload: what stands there, and where it stands now if it moved (CA-5, CA-14). No place is invented."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from lastro.assembly.records import Locator

MAX_ATTEMPTS = 2
NEAR_BYTES = 4_096
NEAR_LINES = 200
FAR_PLACES = 100_000
_ABSENT = object()

Found = Literal["intact", "repaired", "broken"]


_Place = tuple[Locator, bytes]


@dataclass(frozen=True, slots=True)
class Repair:
    """What became of a locator: as it was, moved to where its content stands, or broken (then as it was)."""

    state: Found
    locator: Locator
    attempts: int = 0


def canonical(value: Any) -> bytes:
    """Write JSON in one way only: sorted names, no spaces, UTF-8. A text alone stands for its own bytes."""
    if isinstance(value, str):
        return value.encode(errors="surrogatepass")
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode(errors="surrogatepass")


def digest_of(content: bytes) -> str:
    """Give the SHA-256 of some content, 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def content_at(locator: Locator, payload: bytes) -> bytes | None:
    """Give what stands at a place, None where the place is outside of the payload."""
    if locator.pointer is not None:
        value = _resolved(_parsed(payload), locator.pointer)
        return None if value is _ABSENT else canonical(value)
    if locator.lines is not None:
        return _lines_at(payload.splitlines(keepends=True), locator.lines)
    start, end = locator.bytes or (0, 0)
    return payload[start:end] if start <= end <= len(payload) else None


def repaired(locator: Locator, payload: bytes, *, attempts: int) -> Repair:
    """Look whether a locator still points at its content, and look for that near by, then everywhere (CA-14).

    At most `attempts` searches; each is bounded. Of several places with the same content the nearest is taken.
    """
    content = content_at(locator, payload)
    if content is not None and digest_of(content) == locator.digest:
        return Repair("intact", locator)
    for tried, search in enumerate((_near, _everywhere)[: max(attempts, 0)], start=1):
        for place, found in search(locator, payload):
            if digest_of(found) == locator.digest:
                return Repair("repaired", place, tried)
    return Repair("broken", locator, min(max(attempts, 0), MAX_ATTEMPTS))


def _near(locator: Locator, payload: bytes) -> Iterator[_Place]:
    if locator.pointer is not None:
        last = locator.pointer.rpartition("/")[2]
        yield from (place for place in _pointers(locator, payload) if _last(place[0]) == last)
    elif locator.lines is not None:
        yield from _shifted_lines(locator, payload, NEAR_LINES)
    else:
        yield from _shifted_bytes(locator, payload)


def _everywhere(locator: Locator, payload: bytes) -> Iterator[_Place]:
    if locator.pointer is not None:
        yield from _pointers(locator, payload)
    elif locator.lines is not None:
        yield from _shifted_lines(locator, payload, FAR_PLACES)
    else:
        yield from _line_starts(locator, payload)


def _last(place: Locator) -> str:
    return (place.pointer or "").rpartition("/")[2]


def _shifted_lines(locator: Locator, payload: bytes, reach: int) -> Iterator[_Place]:
    first, last = locator.lines or (1, 1)
    lines = payload.splitlines(keepends=True)
    for start in _around(first, min(reach, max(first, len(lines)))):
        moved = (start, start + last - first)
        content = _lines_at(lines, moved)
        if content is not None:
            yield replace(locator, lines=moved), content


def _shifted_bytes(locator: Locator, payload: bytes) -> Iterator[_Place]:
    start, end = locator.bytes or (0, 0)
    for moved in _around(min(start, len(payload)), NEAR_BYTES):
        if moved >= 0 and moved + end - start <= len(payload):
            yield _bytes_at(locator, payload, moved)


def _line_starts(locator: Locator, payload: bytes) -> Iterator[_Place]:
    start, end = locator.bytes or (0, 0)
    place = 0
    for _ in range(FAR_PLACES):
        if place + end - start > len(payload):
            return
        yield _bytes_at(locator, payload, place)
        place = payload.find(b"\n", place) + 1
        if not place:
            return


def _bytes_at(locator: Locator, payload: bytes, moved: int) -> _Place:
    start, end = locator.bytes or (0, 0)
    place = (moved, moved + end - start)
    return replace(locator, bytes=place), payload[place[0] : place[1]]


def _around(middle: int, reach: int) -> Iterator[int]:
    for distance in range(reach + 1):
        yield middle - distance
        yield middle + distance


def _lines_at(lines: Sequence[bytes], place: tuple[int, int]) -> bytes | None:
    first, last = place
    return b"".join(lines[first - 1 : last]).rstrip(b"\r\n") if 1 <= first <= last <= len(lines) else None


def _parsed(payload: bytes) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return _ABSENT


def _resolved(value: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        value = _member(value, token.replace("~1", "/").replace("~0", "~"))
    return value


def _member(value: Any, token: str) -> Any:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get(token, _ABSENT)
    if isinstance(value, list) and token.isascii() and token.isdigit() and len(token) < 10:
        elements = cast("list[object]", value)
        return elements[int(token)] if int(token) < len(elements) else _ABSENT
    return _ABSENT


def _pointers(locator: Locator, payload: bytes) -> Iterator[_Place]:
    """Give every place of a JSON payload in its order, up to a bound; a list to walk, so that depth costs no stack."""
    root = _parsed(payload)
    pending: list[tuple[str, Any]] = [] if root is _ABSENT else [("", root)]
    for _ in range(FAR_PLACES):
        if not pending:
            return
        pointer, value = pending.pop()
        yield replace(locator, pointer=pointer), canonical(value)
        pending += reversed([(f"{pointer}/{name}", inner) for name, inner in _inner(value)])


def _inner(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, member in cast("dict[str, Any]", value).items():
            yield name.replace("~", "~0").replace("/", "~1"), member
    if isinstance(value, list):
        for number, element in enumerate(cast("list[object]", value)):
            yield str(number), element
