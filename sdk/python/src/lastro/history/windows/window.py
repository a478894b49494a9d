"""One window: the tail that is chosen, with the instructions in front, and its account."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NoReturn

from lastro.history.contract import Items
from lastro.history.errors import DecisionHistoryInvalid, DecisionHistoryLimitExceeded
from lastro.history.formats import FORMATS
from lastro.history.formats.shapes import Flaw, Format
from lastro.history.messages import is_sendable, sendable, size_of
from lastro.history.records import Item, Provider, Summary
from lastro.history.summaries import refusal_of, summary_message
from lastro.history.windows.choice import Cut, Outline, fits, outline_of
from lastro.history.windows.names import unique
from lastro.history.windows.repeats import Repeats
from lastro.history.windows.tail import Entry, Tail, is_expired
from lastro.history.windows.types import Limits, Omission, PathIndex, TurnIndex, Window
from lastro.history.windows.units import Piece, Unit, join

DEFAULT = Limits()


@dataclass(frozen=True)
class Request:
    """What a window is asked for."""

    form: Format
    limits: Limits
    words: frozenset[str]
    repair: bool
    now: float


def window_of(
    source: Items,
    *,
    provider: Provider,
    leaf: str,
    now: float,
    limits: Limits = DEFAULT,
    repair: bool = False,
    summary: Summary | None = None,
    dialect: str = "",
) -> Window:
    """Choose the window of a branch: the longest unbroken tail of complete exchanges within the bounds (HI-9 to HI-11).

    Reads backwards only as far as the window and one exchange more reach; the start of a long turn is asked of a
    source that is a `TurnIndex`. `dialect` has words of stricter servers: `strict-alternation` (a role never speaks
    twice in a row), `mistral` (ids of nine letters and digits), `stateless` (nothing is on the provider's server).
    Raises DecisionHistoryLimitExceeded where the latest exchange and the current observations alone pass a bound,
    DecisionHistoryInvalid where what is stored breaks a rule of the provider and `repair` is off.
    """
    request = Request(FORMATS[provider], limits, frozenset(dialect.split()), repair, now)
    instructions = _instructions(source, leaf)
    apart = frozenset(item.id for item in instructions)
    tail = Tail(source.backwards(leaf), form=request.form, now=now, apart=apart)
    plain = _settled(tail, source, request)
    chosen, refused = _with_summary(plain, summary)
    first = chosen.first
    met = [item for item in tail.instructions if first is None or item.position > first.item.position]
    return _window(chosen, [*instructions, *met], refused)


def _instructions(source: Items, leaf: str) -> Sequence[Item]:
    """Give the instructions of a branch, none of another one's (X12)."""
    found = source.instructions()
    if not found or not isinstance(source, PathIndex):
        return found
    here = source.on_path([item.id for item in found], leaf)
    return [item for item in found if item.id in here]


class _Chosen:
    """A tail as it is sent: its ids unique, its roles joined where the dialect asks for it, a summary in front."""

    def __init__(self, outline: Outline, cut: Cut, request: Request, summary: Summary | None = None) -> None:
        self.outline = outline
        self.cut = cut
        self.request = request
        self.summary = summary
        self.units = outline.units(cut)
        self.repeats = Repeats(request.form)
        self.pieces = self._pieces()

    @property
    def bytes(self) -> int:
        return sum(piece.bytes for piece in self.pieces) + max(len(self.pieces) - 1, 0) + 2

    @property
    def fits(self) -> bool:
        limits = self.request.limits
        return len(self.pieces) <= limits.max_messages and self.bytes <= limits.max_bytes

    @property
    def is_joined(self) -> bool:
        """Say whether some of its messages became one."""
        return len(self.pieces) < sum(unit.count for unit in self.units)

    @property
    def first(self) -> Entry | None:
        """Give the entry that the tail begins with; None where it begins with the history."""
        before = self.outline.before(self.cut)
        return self.outline.entries[before] if 0 < before < len(self.outline.entries) else None

    @property
    def through(self) -> str:
        before = self.outline.before(self.cut)
        return self.outline.entries[before - 1].item.id if before > 0 else ""

    @property
    def omissions(self) -> list[Omission]:
        """Give what is missing behind the cut; a result that no unit has belongs to a call in front of it."""
        told = [omission for unit in self.units for omission in unit.omissions] + self.repeats.omissions
        known = {omission.item for omission in told} | {id for piece in self.pieces for id in piece.ids}
        entries = self.outline.entries
        behind = entries[self.outline.before(self.cut) :]
        told += [Omission(entry.item.id, "left_with_call") for entry in behind if entry.item.id not in known]
        places = {entry.item.id: place for place, entry in enumerate(entries)}
        return sorted(told, key=lambda omission: places.get(omission.item, -1))

    @property
    def is_trimmed(self) -> bool:
        return not self.outline.exhausted or self.outline.before(self.cut) > 0

    def _pieces(self) -> list[Piece]:
        positions = {entry.item.id: entry.item.position for entry in self.outline.entries}
        form, words = self.request.form, self.request.words
        renamed = unique(self.units, form, positions=positions, words=words)
        pieces = [piece for unit in renamed for piece in self.repeats.without(unit)]
        if self.summary is not None:
            message = summary_message(self.summary, form)
            pieces.insert(0, Piece(message, (), size_of(message)))
        return _joined(pieces, form, alternating="strict-alternation" in words)


def _settled(tail: Tail, source: Items, request: Request) -> _Chosen:
    """Read until the longest tail within the bounds is known, whatever stands before it."""
    _read_bounds(tail, request.limits)
    while True:
        outline = outline_of(tail, words=request.words)
        if not outline.must_read:
            chosen = _longest(outline, request)
            if _is_settled(chosen):
                return chosen
        if outline.cuts or not _pin(tail, source):
            tail.read_more()


def _pin(tail: Tail, source: Items) -> bool:
    """Ask an index for the input of the turn that began before what was read."""
    if (
        not isinstance(source, TurnIndex)
        or not len(tail)
        or (tail.pin is not None and not tail.has(tail.pin))
    ):
        return False
    opener = source.opener(tail.entries[0].item.id)
    tail.pin = tail.entry_of(opener) if opener else None
    return tail.pin is not None


def _read_bounds(tail: Tail, limits: Limits) -> None:
    """Read as much as could be served, and one item more."""
    count = size = 0
    while count <= limits.max_messages and size <= limits.max_bytes:
        entry = tail.read()
        if entry is None:
            return
        count, size = count + 1, size + entry.bytes


def _is_settled(chosen: _Chosen) -> bool:
    """Say whether reading more could not change the choice."""
    outline, cut = chosen.outline, chosen.cut
    if outline.exhausted or cut != outline.cuts[-1]:
        return True
    first = outline.stretches[0]
    older = first.all if first.torn and cut.turn > 0 else []
    return not fits([*older, *chosen.units], chosen.request.limits)


def _longest(outline: Outline, request: Request) -> _Chosen:
    """Take the longest tail within the bounds; what must stay and does not fit is refused.

    The sum over its units tells the tail but for a little: a renamed id may be longer, a joined message is one less.
    """
    if outline.unservable:
        raise DecisionHistoryInvalid(rule=request.form.start_rule, item=outline.unservable[0])
    if not outline.cuts:
        _refuse_flaws(() if request.repair else outline.flaws)
        return _Chosen(outline, Cut(len(outline.stretches)), request)
    enough = takewhile(lambda cut: fits(outline.units(cut), request.limits), outline.cuts)
    place = max(sum(1 for _ in enough), 1) - 1
    for cut in outline.cuts[place::-1]:
        chosen = _Chosen(outline, cut, request)
        if chosen.fits:
            return _grown(chosen)
    return _refuse(_Chosen(outline, outline.cuts[0], request))


def _grown(chosen: _Chosen) -> _Chosen:
    """Go on while messages that became one make room."""
    cuts = chosen.outline.cuts
    for cut in cuts[cuts.index(chosen.cut) + 1 :]:
        longer = _Chosen(chosen.outline, cut, chosen.request)
        if not longer.is_joined or not longer.fits:
            break
        chosen = longer
    return chosen


def _refuse(chosen: _Chosen) -> NoReturn:
    count, size, limits = len(chosen.pieces), chosen.bytes, chosen.request.limits
    calls = tuple(name for unit in chosen.units for name in (*unit.late, *unit.waiting))
    if count > limits.max_messages:
        bound, needed, allowed = "max_messages", count, limits.max_messages
    else:
        bound, needed, allowed = "max_bytes", size, limits.max_bytes
    raise DecisionHistoryLimitExceeded(bound=bound, needed=needed, allowed=allowed, calls=calls)


def _with_summary(plain: _Chosen, summary: Summary | None) -> tuple[_Chosen, str]:
    """Serve the summary in front of the tail that begins right behind what it covers, or say why not (X10)."""
    if summary is None:
        return plain, ""
    refused = refusal_of(summary, now=plain.request.now)
    if refused or not plain.is_trimmed:
        return plain, refused or "nothing_left"
    for cut in plain.outline.cuts:
        chosen = _Chosen(plain.outline, cut, plain.request, summary)
        if chosen.through == summary.through:
            return (chosen, "") if chosen.fits else (plain, "no_room")
        if cut == plain.cut:
            break
    return plain, "covers_other"


def _window(chosen: _Chosen, instructions: Sequence[Item], refused: str) -> Window:
    _require_sound(chosen.units, instructions, repair=chosen.request.repair)
    front = [item for item in instructions if not is_expired(item, chosen.request.now)]
    sent = [item.message if is_sendable(item.message) else sendable(item.message) for item in front]
    gone = [Omission(item.id, "expired") for item in instructions if is_expired(item, chosen.request.now)]
    return Window(
        messages=(*sent, *(piece.message for piece in chosen.pieces)),
        items=(*(item.id for item in front), *(next(iter(piece.ids), "") for piece in chosen.pieces)),
        message_count=len(chosen.pieces),
        bytes=chosen.bytes,
        trimmed=chosen.is_trimmed,
        omissions=(*gone, *chosen.omissions),
        changed=_changed(chosen.pieces),
        open_calls=tuple(name for unit in chosen.units for name in unit.waiting),
        summary=chosen.summary,
        summary_refused=refused,
        through=chosen.through,
    )


def _require_sound(units: Sequence[Unit], instructions: Sequence[Item], *, repair: bool) -> None:
    if repair:
        return
    flaws = [flaw for unit in units for flaw in unit.flaws]
    flaws += [(Flaw("X6"), item.id) for item in instructions if not is_sendable(item.message)]
    _refuse_flaws(flaws)


def _refuse_flaws(flaws: Sequence[tuple[Flaw, str]]) -> None:
    for flaw, item_id in flaws[:1]:
        raise DecisionHistoryInvalid(rule=flaw.rule, item=item_id, calls=flaw.calls)


def _changed(pieces: Sequence[Piece]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for piece in pieces if piece.changed for id in piece.ids))


def _joined(pieces: Sequence[Piece], form: Format, *, alternating: bool) -> list[Piece]:
    """Join what one role says in a row: where a server never takes it as two, or where the dialect asks for it."""
    newest_first: list[Piece] = []
    for piece in reversed(pieces):
        if newest_first and _are_one(piece, newest_first[-1], form, alternating=alternating):
            newest_first[-1] = join([piece, newest_first[-1]], form)
        else:
            newest_first.append(piece)
    return newest_first[::-1]


def _are_one(first: Piece, second: Piece, form: Format, *, alternating: bool) -> bool:
    if form.must_join(first.message, second.message):
        return True
    return alternating and form.joins(first.message, second.message)
