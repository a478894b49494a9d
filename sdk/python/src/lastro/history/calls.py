"""Which calls wait for a result: a result is stored only for one of them (HI-13)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lastro.history.contract import Items
from lastro.history.errors import DecisionHistoryInvalid
from lastro.history.formats import FORMATS, Call, Result, calls_of, results_of
from lastro.history.records import Item, Message, Provider


@dataclass(frozen=True, slots=True)
class OpenCalls:
    """The open calls of a branch, found on the way back from its leaf, and no further than they are asked for."""

    source: Items
    provider: Provider
    leaf: str

    def answered_by(self, messages: Sequence[Message]) -> tuple[Call, ...]:
        """Give the open calls that these results answer, one for each.

        Raises DecisionHistoryInvalid where one answers no open call, or a message brings no result.
        """
        results = [result for message in messages for result in self._required(message)]
        return self._matched(results)

    def named(self, ids: Sequence[str]) -> tuple[Call, ...]:
        """Give the open calls with these ids; raises DecisionHistoryInvalid where there is none."""
        return self._matched([Result(0, id) for id in ids])

    def _required(self, message: Message) -> tuple[Result, ...]:
        results = results_of(self.provider, message)
        if not results:
            raise self._unasked(())
        return results

    def _matched(self, results: Sequence[Result]) -> tuple[Call, ...]:
        found: dict[int, Call] = {}
        open_calls = self._open()
        while len(found) < len(results):
            call = next(open_calls, None)
            if call is None:
                left = [result for place, result in enumerate(results) if place not in found]
                raise self._unasked(tuple(result.id or result.name for result in left))
            place = first_answer(call, results, found)
            if place is not None:
                found[place] = call
        return tuple(found[place] for place in range(len(results)))

    def _open(self) -> Iterator[Call]:
        """Walk back; each final result takes the nearest call before it that it answers, since ids may repeat."""
        answers: list[Result] = []
        for item in self.source.backwards(self.leaf):
            if not item.provisional:
                answers += reversed(results_of(self.provider, item.message))
            yield from self._unanswered(item, answers)

    def _unanswered(self, item: Item, answers: list[Result]) -> Iterator[Call]:
        for call in reversed(calls_of(self.provider, item.message)):
            answer = next((result for result in answers if result.answers(call)), None)
            if answer is None:
                yield call
            else:
                answers.remove(answer)

    def _unasked(self, calls: tuple[str, ...]) -> DecisionHistoryInvalid:
        return DecisionHistoryInvalid(rule=FORMATS[self.provider].orphan_rule, calls=calls)


def first_answer(call: Call, results: Sequence[Result], found: dict[int, Call]) -> int | None:
    """Give the place of the last result that answers a call and has none yet; calls come the latest first."""
    places = [place for place, result in enumerate(results) if place not in found and result.answers(call)]
    return places[-1] if places else None
