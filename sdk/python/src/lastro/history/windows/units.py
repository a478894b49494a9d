"""Rounds and inputs as they are served: what is left out or changed, by which rule, and how much it counts."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from lastro.history.formats.shapes import Flaw, Format
from lastro.history.messages import is_sendable, sendable, size_of
from lastro.history.records import Message
from lastro.history.windows.tail import Entry
from lastro.history.windows.turns import Answer, Loose, Round, Slot, Turn
from lastro.history.windows.types import Omission, Reason


@dataclass(frozen=True)
class Piece:
    """A message to serve, the items that it was made of, and its bytes."""

    message: Message = field(repr=False)
    ids: tuple[str, ...]
    bytes: int
    changed: bool = False


@dataclass
class Unit:
    """What is served or left out together. `first` is the place of its first entry among those that were read."""

    first: int
    pieces: list[Piece] = field(default_factory=list[Piece])
    omissions: list[Omission] = field(default_factory=list[Omission])
    flaws: list[tuple[Flaw, str]] = field(default_factory=list[tuple[Flaw, str]])
    waiting: tuple[str, ...] = ()
    is_exchange: bool = False
    """A complete one, with something to serve."""
    late: tuple[str, ...] = ()
    """Its calls, where a result of it is behind the last response and the last input, and they are not."""
    lost: tuple[str, ...] = ()
    """Results whose call was not met yet."""

    @property
    def count(self) -> int:
        """Count its messages."""
        return len(self.pieces)

    @cached_property
    def bytes(self) -> int:
        """Count its bytes, with a comma for each message; asked for when it is whole."""
        return sum(piece.bytes + 1 for piece in self.pieces)

    def leave_out(self, reason: Reason, entries: Sequence[Entry], rule: str = "") -> None:
        """Serve none of it."""
        self.pieces = []
        self.omissions += [Omission(entry.item.id, reason, rule) for entry in entries]


@dataclass
class Stretch:
    """A turn as it is served. `torn`: what was read holds only its end; `opening` None: it begins with no input."""

    opening: Unit | None
    units: list[Unit]
    torn: bool
    is_expired: bool

    @property
    def all(self) -> list[Unit]:
        """Give the input and the units behind it."""
        return ([self.opening] if self.opening else []) + self.units

    @property
    def has_input(self) -> bool:
        """Say whether a message of a user stands first."""
        return self.opening is not None and bool(self.opening.pieces)


class Server:
    """Makes units of turns; what is asked of the dialect is in `words`.

    `interrupted` are the responses directly behind which a user spoke.
    """

    def __init__(
        self,
        form: Format,
        *,
        words: Set[str],
        places: dict[str, int],
        whole: bool,
        interrupted: Set[str] = frozenset(),
    ) -> None:
        self.form = form
        self.interrupted = interrupted
        self.words = words
        self.places = places
        self.whole = whole

    def stretch(self, turn: Turn, *, torn: bool, current: Set[str]) -> Stretch:
        """Serve a turn, or leave it out where its exchange has expired."""
        opening = self._opening(turn) if turn.opener else None
        units = [self._unit(part, current) for part in turn.rounds]
        units += [self._empty(entry) for entry in turn.empty]
        units.sort(key=lambda unit: unit.first)
        made = Stretch(opening, units, torn, turn.is_expired)
        if turn.is_expired:
            _expire(made, turn, self)
        return made

    def place_of(self, entry: Entry) -> int:
        """Give the place of an entry among those that were read; a pinned one is before them all."""
        return self.places.get(entry.item.id, -1)

    def expired(self, entries: Sequence[Entry]) -> Unit:
        """Make a unit that only tells of what has expired."""
        unit = Unit(self.place_of(entries[0]))
        unit.leave_out("expired", entries)
        return unit

    def _opening(self, turn: Turn) -> Unit:
        assert turn.opener is not None  # noqa: S101
        unit = Unit(self.place_of(turn.opener))
        message: Message | None = turn.opener.item.message
        if turn.leftover:
            message = self.form.without(turn.opener.item.message, _places(turn.opener))
        self._put(unit, turn.opener, message)
        return unit

    def _empty(self, entry: Entry) -> Unit:
        unit = Unit(self.place_of(entry))
        unit.leave_out("empty", [entry])
        return unit

    def _unit(self, part: Round | Loose, current: Set[str]) -> Unit:
        return self._loose(part, current) if isinstance(part, Loose) else self._round(part, current)

    def _loose(self, loose: Loose, current: Set[str]) -> Unit:
        unit = Unit(self.place_of(loose.entry))
        labels = tuple(
            result.id or result.name for result in loose.entry.reading.results if result.place in loose.places
        )
        if self.whole:
            unit.flaws.append((Flaw(self.form.orphan_rule, labels), loose.entry.item.id))
        elif loose.entry.item.id in current:
            unit.lost = labels
        if not loose.partly:
            rule = self.form.orphan_rule if self.whole else ""
            unit.leave_out("repaired" if self.whole else "left_with_call", [loose.entry], rule)
        return unit

    def _round(self, step: Round, current: Set[str]) -> Unit:
        unit = Unit(min(self.place_of(entry) for entry in step.response))
        if any(entry.expired for entry in step.entries):
            unit.leave_out("expired", step.entries)
            return unit
        unit.waiting = tuple(slot.call.label for slot in step.slots if not slot.is_closed)
        if step.status == "open":
            unit.leave_out("held_back", [entry for entry in step.entries if not entry.reading.mixed])
            return unit
        unit.omissions += [Omission(entry.item.id, "repeated") for entry in step.copies]
        self._respond(unit, step)
        self._answer(unit, step)
        unit.is_exchange = step.status == "complete" and bool(unit.pieces)
        late = any(entry.item.id in current and entry not in step.beside for entry in step.entries)
        unit.late = tuple(slot.call.label for slot in step.slots) if late else ()
        return unit

    def _respond(self, unit: Unit, step: Round) -> None:
        filled = [(entry, self.form.filled(entry.item.message)) for entry in step.response]
        run = [message for _, message in filled if message is not None]
        mended = iter(self.form.mended_run(run, words=self.words))
        for entry, message in filled:
            if message is None:
                unit.omissions.append(Omission(entry.item.id, "empty"))
                continue
            kept, flaws = next(mended)
            kept = (
                self.form.anonymous(kept)
                if kept is not None and entry.item.id in step.bereft(self.form)
                else kept
            )
            if kept is not None and entry.item.id in self.interrupted:
                kept, more = self.form.finished(kept)
                flaws = (*flaws, *more)
            unit.flaws += [(flaw, entry.item.id) for flaw in flaws]
            self._keep(unit, entry, kept, rule=flaws[0].rule if flaws else "")

    def _answer(self, unit: Unit, step: Round) -> None:
        chosen = [(slot, answer) for slot in step.slots for answer in slot.served]
        brought = {answer.entry.item.id: answer.entry for slot in step.slots for answer in slot.answers}
        start = len(unit.pieces)
        for entry in sorted(brought.values(), key=self.place_of):
            mine = [(slot, answer) for slot, answer in chosen if answer.entry is entry]
            if mine:
                self._bring(unit, step, entry, mine)
            else:
                unit.omissions.append(Omission(entry.item.id, "superseded"))
        if self.form.joins_results and len(unit.pieces) > start + 1:
            unit.pieces[start:] = [join(unit.pieces[start:], self.form)]

    def _bring(self, unit: Unit, step: Round, entry: Entry, mine: Sequence[tuple[Slot, Answer]]) -> None:
        if entry.recorded:
            unit.pieces += [_piece(self.form.not_executed(slot.call), (entry.item.id,)) for slot, _ in mine]
            return
        keep = frozenset(answer.result.place for _, answer in mine)
        self._put(unit, entry, self._part(entry, keep, beside=entry in step.beside))

    def _part(self, entry: Entry, keep: frozenset[int], *, beside: bool) -> Message | None:
        """Take of a message the results that count, with what else it says where it stands right behind its calls."""
        if beside:
            rest = _places(entry) - keep
            return self.form.without(entry.item.message, rest) if rest else entry.item.message
        whole = keep == _places(entry) and not entry.reading.mixed
        return entry.item.message if whole else self.form.only(entry.item.message, keep)

    def _put(self, unit: Unit, entry: Entry, message: Message | None) -> None:
        filled = self.form.filled(message) if message is not None else None
        if filled is None:
            unit.omissions.append(Omission(entry.item.id, "empty"))
            return
        kept, flaws = self.form.mended(filled, words=self.words)
        unit.flaws += [(flaw, entry.item.id) for flaw in flaws]
        self._keep(unit, entry, kept, rule=flaws[0].rule if flaws else "")

    def _keep(self, unit: Unit, entry: Entry, message: Message | None, *, rule: str) -> None:
        if message is None:
            unit.omissions.append(Omission(entry.item.id, "repaired", rule))
        elif not is_sendable(message):
            unit.flaws.append((Flaw("X6"), entry.item.id))
            unit.pieces.append(_piece(sendable(message), (entry.item.id,)))
        elif message is entry.item.message:
            unit.pieces.append(Piece(message, (entry.item.id,), entry.bytes))
        else:
            unit.pieces.append(_piece(message, (entry.item.id,)))


def join(pieces: Sequence[Piece], form: Format) -> Piece:
    """Make one message of several."""
    ids = tuple(dict.fromkeys(id for piece in pieces for id in piece.ids))
    return _piece(form.joined([piece.message for piece in pieces]), ids)


def renamed(piece: Piece, ids: dict[int, str], form: Format) -> Piece:
    """Give calls or results of a message other ids."""
    return _piece(form.renamed(piece.message, ids), piece.ids)


def _piece(message: Message, ids: tuple[str, ...]) -> Piece:
    return Piece(message, ids, size_of(message), changed=True)


def _places(entry: Entry) -> frozenset[int]:
    return frozenset(result.place for result in entry.reading.results)


def _expire(stretch: Stretch, turn: Turn, server: Server) -> None:
    """Leave the whole turn out, with the late results of its calls."""
    if stretch.opening is not None and turn.opener is not None:
        stretch.opening = server.expired([turn.opener])
    parts = [[part.entry] if isinstance(part, Loose) else part.entries for part in turn.rounds]
    units = [server.expired(entries) for entries in parts]
    units += [server.expired([entry]) for entry in turn.empty]
    stretch.units = sorted(units, key=lambda unit: unit.first)
