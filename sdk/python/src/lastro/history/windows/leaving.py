"""What left a window, exchange by exchange, for a summary (HI-18)."""

from collections.abc import Iterator, Sequence, Set

from lastro.history.contract import Items
from lastro.history.formats import FORMATS
from lastro.history.records import Item, Provider
from lastro.history.summaries import Exchange
from lastro.history.windows.tail import Entry, Tail
from lastro.history.windows.turns import Round, Turn, turns_of
from lastro.history.windows.types import Window


def leaving(
    source: Items,
    window: Window,
    *,
    provider: Provider,
    leaf: str,
    after: str = "",
    now: float = float("-inf"),
) -> Sequence[Exchange]:
    """Give the complete exchanges that are not in the window, oldest first, from behind an item on (HI-18).

    An earlier turn leaves as one exchange, a long turn's rounds one by one, its pinned input with the last of them.
    Calls that wait for a result are in none. `now` leaves out what has expired. Reads as far back as `after`, and to
    the start of its turn.
    """
    apart = frozenset(item.id for item in source.instructions())
    tail = Tail(source.backwards(leaf), form=FORMATS[provider], now=now, apart=apart)
    if not window.through or not _read_to(tail, after):
        return ()
    entries = tail.entries
    places = {entry.item.id: place for place, entry in enumerate(entries)}
    start, end = places.get(after, -1) + 1, places.get(window.through, -1) + 1
    turns = turns_of(entries, FORMATS[provider], whole=tail.exhausted)
    outside = {entry.item.id for entry in entries[start:end]}
    return tuple(_exchanges(turns, outside, pinned=frozenset(window.items)))


def _read_to(tail: Tail, after: str) -> bool:
    """Read back to an item and to the input that opened its turn."""
    met = False
    while entry := tail.read():
        met = met or entry.item.id == after
        if met and entry.reading.role == "input":
            break
    return len(tail) > 0


def _exchanges(turns: Sequence[Turn], outside: Set[str], *, pinned: Set[str]) -> Iterator[Exchange]:
    for turn in turns:
        if turn.is_expired:
            continue
        parts = [part for part in turn.rounds if isinstance(part, Round) and _leaves(part, outside)]
        stays = turn.opener is not None and turn.opener.item.id in pinned
        if stays:
            yield from (_exchange(part.entries) for part in parts)
        elif parts or (turn.opener is not None and turn.opener.item.id in outside):
            opener = [turn.opener] if turn.opener else []
            yield _exchange([*opener, *(entry for part in parts for entry in part.entries)])


def _leaves(part: Round, outside: Set[str]) -> bool:
    if part.status != "complete" or any(entry.expired for entry in part.entries):
        return False
    return part.response[0].item.id in outside


def _exchange(entries: Sequence[Entry]) -> Exchange:
    items: dict[str, Item] = {entry.item.id: entry.item for entry in entries}
    return Exchange(tuple(sorted(items.values(), key=lambda item: item.position)))
