"""Which tail is served: the longest of complete exchanges within the bounds, and never less than what must stay."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from lastro.history.formats.shapes import Flaw, Format
from lastro.history.windows.tail import Entry, Tail
from lastro.history.windows.turns import turns_of
from lastro.history.windows.types import Limits
from lastro.history.windows.units import Server, Stretch, Unit


@dataclass(frozen=True)
class Cut:
    """A tail that could be served: from a turn on; `pinned`: of that turn only its input, and its units from one on."""

    turn: int
    unit: int = 0
    pinned: bool = False


@dataclass(frozen=True)
class Outline:
    """What was read, as turns, with the least that must stay. `cuts` go from that to all that was read."""

    entries: list[Entry]
    stretches: list[Stretch]
    cuts: tuple[Cut, ...]
    exhausted: bool
    current: frozenset[str]
    """The results that no model has seen."""

    def units(self, cut: Cut) -> list[Unit]:
        """Give what a cut serves, and what is left out in the middle of it."""
        if cut.turn >= len(self.stretches):
            return []
        first = self.stretches[cut.turn]
        opening = [first.opening] if first.opening else []
        rest = [unit for stretch in self.stretches[cut.turn + 1 :] for unit in stretch.all]
        return [*opening, *first.units[cut.unit :], *rest]

    def before(self, cut: Cut) -> int:
        """Count the entries that are outside of a cut, the pinned input not looked at."""
        if cut.turn >= len(self.stretches):
            return len(self.entries)
        first = self.stretches[cut.turn]
        units = first.units[cut.unit :] if cut.pinned else first.all
        behind = [unit for stretch in self.stretches[cut.turn + 1 :] for unit in stretch.all]
        return next((unit.first for unit in [*units, *behind]), len(self.entries))

    @property
    def unservable(self) -> tuple[str, ...]:
        """Name the current results that no tail can begin for: no user ever spoke."""
        if self.cuts:
            return ()
        pieces = [piece for stretch in self.stretches for unit in stretch.units for piece in unit.pieces]
        return tuple(id for piece in pieces for id in piece.ids if id in self.current)

    @property
    def flaws(self) -> tuple[tuple[Flaw, str], ...]:
        """Give what breaks a rule, anywhere in what was read."""
        return tuple(flaw for stretch in self.stretches for unit in stretch.all for flaw in unit.flaws)

    @property
    def lost(self) -> tuple[str, ...]:
        """Name the current results whose call was not met yet."""
        return tuple(name for stretch in self.stretches for unit in stretch.units for name in unit.lost)

    @property
    def must_read(self) -> bool:
        """Say whether the least that must stay reaches further back than what was read."""
        complete = any(unit.is_exchange for stretch in self.stretches for unit in stretch.units)
        return not self.exhausted and (not self.cuts or not complete or bool(self.lost))


def outline_of(tail: Tail, *, words: Set[str]) -> Outline:
    """Read what is there of a branch into turns, and list the tails that could be served."""
    entries = _whole_runs(tail)
    turns = turns_of(entries, tail.form, whole=tail.exhausted)
    places = {entry.item.id: place for place, entry in enumerate(entries)}
    if tail.pin is not None and tail.pin.item.id not in places and not tail.exhausted:
        turns[0].opener = tail.pin
    interrupted = {one.item.id for one, other in pairwise(entries) if _interrupts(one, other, tail.form)}
    server = Server(tail.form, words=words, places=places, whole=tail.exhausted, interrupted=interrupted)
    current = _current(entries)
    stretches = [
        server.stretch(turn, torn=not number and not tail.exhausted, current=current)
        for number, turn in enumerate(turns)
    ]
    if not stretches[0].all and not stretches[0].torn:
        stretches = stretches[1:]
    cuts = tuple(_cuts(stretches, tail.form))
    return Outline(entries, stretches, cuts, tail.exhausted, current)


def _interrupts(one: Entry, other: Entry, form: Format) -> bool:
    """Say whether what follows a response neither answers it nor goes on with it."""
    if other.reading.role == "input":
        return True
    return not one.reading.calls and not form.continues(one.item.message, other.item.message)


def _whole_runs(tail: Tail) -> list[Entry]:
    """Leave out a response in front whose first messages may not have been read."""
    entries = tail.entries
    if tail.exhausted or not tail.form.runs:
        return entries
    spoken = (place for place, entry in enumerate(entries) if entry.reading.role != "response")
    return entries[next(spoken, len(entries)) :]


def fits(units: Sequence[Unit], limits: Limits) -> bool:
    """Say whether units are within both bounds."""
    count, size = sum(unit.count for unit in units), sum(unit.bytes for unit in units)
    return count <= limits.max_messages and size + (1 if count else 2) <= limits.max_bytes


def _current(entries: Sequence[Entry]) -> frozenset[str]:
    """Give the entries behind the last response and the last input: no model has seen them."""
    seen: list[str] = []
    for entry in reversed(entries):
        if entry.reading.role in ("response", "input"):
            break
        seen.append(entry.item.id)
    return frozenset(seen)


def _cuts(stretches: Sequence[Stretch], form: Format) -> Iterator[Cut]:
    """Give the tails from the least that must stay to the longest; only the first turn of the least is cut inside."""
    turn, unit = _least(stretches, form)
    first = stretches[turn] if stretches else None
    if first is None or (first.torn and (first.opening is None or not first.units)):
        return
    last = -1 if first.torn else 0
    yield from (Cut(turn, place, pinned=True) for place in range(unit, last, -1) if first.units[place].pieces)
    yield from (Cut(number) for number in range(turn, -1, -1) if _may_start(stretches[number], form))


def _may_start(stretch: Stretch, form: Format) -> bool:
    """Say whether a window may start with a whole turn."""
    served = any(unit.pieces for unit in stretch.all)
    return not stretch.torn and (stretch.has_input or not form.starts_with_input or not served)


def _least(stretches: Sequence[Stretch], form: Format) -> tuple[int, int]:
    """Find the latest complete exchange, and the late result whose call is the furthest back, if any."""
    found = [
        ((number, place), unit)
        for number, stretch in enumerate(stretches)
        if stretch.has_input or stretch.torn or not form.starts_with_input
        for place, unit in enumerate(stretch.units)
        if unit.pieces
    ]
    late = [place for place, unit in found if unit.late]
    complete = [place for place, unit in found if unit.is_exchange][-1:]
    return min([*late, *(complete or [(len(stretches) - 1, 0)])])
