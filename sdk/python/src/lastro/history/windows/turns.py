"""Turns and their rounds: which result answers which call, by place in the order and never by id alone."""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from lastro.history.formats.shapes import Call, Format, Result
from lastro.history.windows.tail import Entry

Status = Literal["complete", "provisional", "open"]


@dataclass(frozen=True)
class Answer:
    """A result of a call, with the entry that brought it."""

    entry: Entry
    result: Result

    @property
    def is_final(self) -> bool:
        """Say whether it is the result itself, and not the word that one will come."""
        return not self.entry.item.provisional


@dataclass
class Slot:
    """A call and what answered it, in stored order."""

    call: Call
    answers: list[Answer] = field(default_factory=list[Answer])

    @property
    def is_closed(self) -> bool:
        """Say whether the final result is there."""
        return any(answer.is_final for answer in self.answers)

    @property
    def served(self) -> list[Answer]:
        """Give the answers that count: of approvals and of results the last final one, executed before not."""
        best: dict[bool, Answer] = {}
        for answer in self.answers:
            approves = bool(self.call.approval) and answer.result.id == self.call.approval
            known = best.get(approves)
            if known is None or _weight(answer) >= _weight(known):
                best[approves] = answer
        return list(best.values())


@dataclass
class Round:
    """One model response with every result that answers its calls."""

    response: list[Entry]
    slots: list[Slot] = field(default_factory=list[Slot])
    beside: list[Entry] = field(default_factory=list[Entry])
    """The entries that follow the response directly and bring results."""
    copies: list[Entry] = field(default_factory=list[Entry])
    """The entries of the response that are in it already, under one id of their server."""

    @property
    def status(self) -> Status:
        """Say how far its calls are answered."""
        if all(slot.is_closed for slot in self.slots):
            return "complete"
        return "provisional" if all(slot.answers for slot in self.slots) else "open"

    def bereft(self, form: Format) -> Set[str]:
        """Name what stood behind a copy of reasoning, which is not sent again (R4)."""
        if not self.copies:
            return frozenset()
        run = sorted([*self.response, *self.copies], key=lambda entry: entry.item.position)
        return {
            other.item.id
            for one, other in pairwise(run)
            if one in self.copies and form.leads(one.item.message) and not form.leads(other.item.message)
        }

    @property
    def entries(self) -> list[Entry]:
        """Give every entry that is part of it, in stored order."""
        found = [
            *self.response,
            *self.copies,
            *self.beside,
            *(answer.entry for slot in self.slots for answer in slot.answers),
        ]
        return sorted(
            {entry.item.id: entry for entry in found}.values(), key=lambda entry: entry.item.position
        )


@dataclass
class Loose:
    """An entry with results whose call was not met. `partly`: the rest of its message has a place of its own."""

    entry: Entry
    places: frozenset[int]
    partly: bool


@dataclass
class Turn:
    """What followed from one input of a user. `opener` None: the turn began before what was read, or without any."""

    opener: Entry | None
    rounds: list[Round | Loose] = field(default_factory=list["Round | Loose"])
    empty: list[Entry] = field(default_factory=list[Entry])
    leftover: bool = False
    """The opener is what a message says besides results that are served elsewhere."""

    @property
    def is_expired(self) -> bool:
        """Say whether the input, or a plain answer to it, has expired: their exchange leaves whole (HI-23)."""
        if self.opener is not None and self.opener.expired:
            return True
        plain = (part for part in self.rounds if isinstance(part, Round) and not part.slots)
        return any(entry.expired for part in plain for entry in part.response)


class Calls:
    """The calls met so far, to find the one that a result answers: the nearest before it that is still open."""

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole
        self._met: defaultdict[str, list[tuple[Round, Slot]]] = defaultdict(list)

    def add(self, step: Round, calls: Sequence[Call]) -> None:
        """Meet the calls of a response; the first of equal ones is answered first."""
        slots = [Slot(call) for call in calls]
        step.slots += slots
        for slot in reversed(slots):
            for key in _keys(slot.call):
                self._met[key].append((step, slot))

    def find(self, result: Result) -> tuple[Round, Slot] | None:
        """Give the open call that is answered, else the one whose result is replaced, else None.

        Where an id is repeated, a second result may be of a call that was not read yet.
        """
        if not result.id:
            return self._nearest_open(f"name:{result.name}") if result.name else None
        named = self._met.get(f"id:{result.kind}:{result.id}", [])
        met = [found for found in named if _may_be_of(result, found[1].call)]
        still_open = next((found for found in reversed(met) if not found[1].is_closed), None)
        bare = self._nearest_open(f"bare:{result.name}") if result.name and not met else None
        sure = self._whole or len(named) == 1
        return still_open or bare or (met[-1] if met and sure else None)

    def _nearest_open(self, key: str) -> tuple[Round, Slot] | None:
        met = self._met.get(key, [])
        while met and met[-1][1].is_closed:
            met.pop()
        return met[-1] if met else None


class Reader:
    """Reads entries in stored order into turns."""

    def __init__(self, form: Format, *, whole: bool) -> None:
        self.form = form
        self._whole = whole
        self.turns: list[Turn] = [Turn(None)]
        self._calls = Calls(whole=whole)
        self._latest: Round | None = None
        self._running = False

    def add(self, entry: Entry) -> None:
        """Put the next entry where it belongs."""
        role = entry.reading.role
        if role == "response":
            self._respond(entry)
        elif role == "input":
            self._open(entry)
        elif entry.reading.results:
            self._answer(entry)
        else:
            self.turns[-1].empty.append(entry)
        self._running = role == "response"

    def _open(self, entry: Entry, *, leftover: bool = False) -> None:
        self.turns.append(Turn(entry, leftover=leftover))
        self._latest = None

    def _respond(self, entry: Entry) -> None:
        if self._latest is not None and self._running and self._goes_on(self._latest, entry):
            if self._is_copy(entry, self._latest.response):
                self._latest.copies.append(entry)
                return
            self._latest.response.append(entry)
        else:
            self._latest = Round([entry])
            self.turns[-1].rounds.append(self._latest)
        self._calls.add(self._latest, entry.reading.calls)

    def _goes_on(self, step: Round, entry: Entry) -> bool:
        last = step.response[-1].item.message
        return self.form.runs or self.form.continues(last, entry.item.message)

    def _is_copy(self, entry: Entry, response: Sequence[Entry]) -> bool:
        name = self.form.item_id(entry.item.message)
        return bool(name) and any(known.item.message == entry.item.message for known in response)

    def _answer(self, entry: Entry) -> None:
        rounds = {result.place: self._claim(entry, result) for result in entry.reading.results}
        lost = frozenset(place for place, step in rounds.items() if step is None)
        found = [step for step in rounds.values() if step is not None]
        beside = self._latest is not None and bool(found) and all(step is self._latest for step in found)
        beside = beside and not (entry.reading.mixed and self._is_headless)
        if beside and self._latest is not None:
            self._latest.beside.append(entry)
        rest = entry.reading.mixed and not beside and (bool(found) or self._has_begun)
        if lost:
            self.turns[-1].rounds.append(Loose(entry, lost, partly=bool(found) or rest))
        if rest:
            self._open(entry, leftover=True)

    def _claim(self, entry: Entry, result: Result) -> Round | None:
        match = self._calls.find(result)
        if match is None:
            return None
        match[1].answers.append(Answer(entry, result))
        return match[0]

    @property
    def _is_headless(self) -> bool:
        """Say whether no user spoke before, so that only what a user says here can begin a window."""
        return self.form.starts_with_input and self._whole and len(self.turns) == 1

    @property
    def _has_begun(self) -> bool:
        return self._whole or len(self.turns) > 1 or bool(self.turns[0].rounds)


def turns_of(entries: Sequence[Entry], form: Format, *, whole: bool) -> list[Turn]:
    """Read entries in stored order into turns. `whole`: nothing is before them; else the first turn is only its end."""
    reader = Reader(form, whole=whole)
    for entry in entries:
        reader.add(entry)
    return [part for turn in reader.turns for part in _with_words_of_open_rounds(turn)]


def _with_words_of_open_rounds(turn: Turn) -> Iterator[Turn]:
    """Let what a user said beside results open a turn of its own where their round is held back (X5)."""
    part = Turn(turn.opener, empty=turn.empty, leftover=turn.leftover)
    for step in turn.rounds:
        part.rounds.append(step)
        if isinstance(step, Round) and step.status == "open":
            words = [entry for entry in step.beside if entry.reading.mixed]
            step.beside = [entry for entry in step.beside if not entry.reading.mixed]
            for entry in words:
                yield part
                part = Turn(entry, leftover=True)
    yield part


def _weight(answer: Answer) -> int:
    if not answer.is_final:
        return 0
    return 1 if answer.entry.item.kind == "not_executed" else 2


def _may_be_of(result: Result, call: Call) -> bool:
    """Tell two calls of one id apart by their names, where both are given."""
    return not result.name or not call.name or result.name == call.name


def _keys(call: Call) -> list[str]:
    """Give the keys that a call is found by; a record that names no kind answers any."""
    ids = [
        f"id:{kind}:{id}" for id in (call.id, call.approval) if id for kind in dict.fromkeys((call.kind, ""))
    ]
    return [*ids, f"name:{call.name}", *([] if call.id else [f"bare:{call.name}"])]
