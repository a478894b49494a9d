"""Which calls wait for a result: a result is stored only for one of them (HI-13)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from lastro.history.contract import Items
from lastro.history.errors import DecisionHistoryInvalid
from lastro.history.formats import FORMATS, Call, Result, results_of
from lastro.history.records import Item, Message, Provider
from lastro.history.windows.tail import Entry, Tail
from lastro.history.windows.turns import Answer, Calls, Round, Slot

W = TypeVar("W")
Find = Callable[["Met", W], Slot | None]


@dataclass(frozen=True, slots=True)
class OpenCalls:
    """The open calls of a branch, read back from its leaf no further than they are asked for."""

    source: Items
    provider: Provider
    leaf: str

    def answered_by(self, messages: Sequence[Message]) -> tuple[Call, ...]:
        """Give the open calls that these results answer, one for each.

        Raises DecisionHistoryInvalid where one answers no open call, or a message brings no result.
        """
        results = [result for message in messages for result in self._required(message)]
        return self._found(results, Met.answered, label=lambda result: result.id or result.name)

    def named(self, ids: Sequence[str]) -> tuple[Call, ...]:
        """Give the open calls with these ids; raises DecisionHistoryInvalid where there is none."""
        return self._found(ids, Met.named, label=str)

    def _required(self, message: Message) -> tuple[Result, ...]:
        results = results_of(self.provider, message)
        if not results:
            raise self._unasked(())
        return results

    def _found(self, wanted: Sequence[W], find: Find[W], *, label: Callable[[W], str]) -> tuple[Call, ...]:
        tail = Tail(
            self.source.backwards(self.leaf),
            form=FORMATS[self.provider],
            now=float("-inf"),
            apart=frozenset(),
        )
        while True:
            tail.read_more()
            met = Met(tail.entries, whole=tail.exhausted)
            found = [find(met, one) for one in wanted]
            lost = tuple(label(one) for one, slot in zip(wanted, found, strict=True) if slot is None)
            if not lost or tail.exhausted:
                break
        if lost:
            raise self._unasked(lost)
        return tuple(slot.call for slot in found if slot is not None)

    def _unasked(self, calls: tuple[str, ...]) -> DecisionHistoryInvalid:
        return DecisionHistoryInvalid(rule=FORMATS[self.provider].orphan_rule, calls=calls)


class Met:
    """The calls of a part of a branch and what answered them, matched as a window matches them."""

    def __init__(self, entries: Sequence[Entry], *, whole: bool) -> None:
        self._calls = Calls(whole=whole)
        self._rounds: list[Round] = []
        for entry in entries:
            self._meet(entry)

    def answered(self, result: Result) -> Slot | None:
        """Take the open call that a result answers; it is open no more."""
        match = self._calls.find(result)
        return None if match is None else self._taken(match[1], result)

    def named(self, id: str) -> Slot | None:
        """Take the latest open call with an id; it is open no more."""
        slots = [slot for step in reversed(self._rounds) for slot in step.slots]
        slot = next((slot for slot in slots if slot.call.label == id and not slot.is_closed), None)
        return None if slot is None else self._taken(slot, Result(0, id))

    def _meet(self, entry: Entry) -> None:
        if entry.reading.calls:
            self._rounds.append(Round([entry]))
            self._calls.add(self._rounds[-1], entry.reading.calls)
        for result in entry.reading.results:
            if (match := self._calls.find(result)) is not None:
                match[1].answers.append(Answer(entry, result))

    def _taken(self, slot: Slot, result: Result) -> Slot | None:
        if slot.is_closed:
            return None
        slot.answers.append(Answer(FINAL, result))
        return slot


FINAL = Entry(Item(0, "", "", {}), FORMATS["openai.chat"].read({}), expired=False)
"""What stands for a final result that is not stored yet."""
