"""A host's summaries of what left the window (HI-18, HI-19)."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from lastro.history import History, NewItem, Pins, RamStore, SummaryRequest, Turn, Window
from lastro.history.errors import DecisionHistorySummaryInvalid
from lastro.history.events import HistoryEvent, SummaryMade
from lastro.history.records import Message, Snapshot
from lastro.history.summaries import digest_after
from lastro.history.windows import Exchange

PINS = Pins("openai.chat", "model-1")


def exchange(number: int, words: int = 1) -> list[Message]:
    question = {"role": "user", "content": f"Question {number}"}
    return [question, {"role": "assistant", "content": f"Answer {number}" * words}]


class Host:
    """Decides in one session, and notes what its `summarize` was given."""

    def __init__(self, *, text: Callable[[SummaryRequest], Any] | None = None, **settings: Any) -> None:
        self.requests: list[SummaryRequest] = []
        self.events: list[HistoryEvent] = []
        self.now = 1000.0
        self.text: Callable[[SummaryRequest], Any] = text or (lambda _: f"{len(self.requests)} calls")
        given: dict[str, Any] = {"max_messages": 6, "summarize": self.summarize} | settings
        self.store = RamStore(clock=lambda: self.now)
        self.history = History(
            self.store, namespace="n", on_event=self.events.append, clock=lambda: self.now, **given
        )
        self.session = self.history.session("s", provider="openai.chat")

    def summarize(self, request: SummaryRequest) -> Any:
        self.requests.append(request)
        return self.text(request)

    def say(self, *numbers: int, **ends: Any) -> None:
        for number in numbers:
            self.session.append([NewItem(message, **ends) for message in exchange(number)])

    def decide(self, pins: Pins = PINS) -> Window:
        seen: list[Window] = []

        def operation(turn: Turn) -> list[Message]:
            seen.append(turn.window)
            return []

        self.session.decide(pins, operation)
        return seen[0]

    def turns(self, request: int = -1) -> list[str]:
        return [turn[0]["content"] for turn in self.requests[request].turns]


def texts(window: Window) -> list[str]:
    return [message["content"] for message in window.messages]


def test_no_summary_by_default() -> None:
    """HI-18: without `summarize` what leaves is not replaced."""
    host = Host(summarize=None)
    host.say(*range(6))
    assert texts(host.decide()) == texts_of(3, 4, 5)


def texts_of(*numbers: int) -> list[str]:
    return [message["content"] for number in numbers for message in exchange(number)]


def test_nothing_left_needs_no_summary() -> None:
    """HI-18: the host is asked only once something left."""
    host = Host()
    host.say(0, 1, 2)
    assert texts(host.decide()) == texts_of(0, 1, 2)
    assert host.requests == []


def digest_of(snapshot: Snapshot, *, exchanges: int) -> str:
    digest = ""
    for number in range(exchanges):
        digest = digest_after(digest, Exchange(snapshot.items[2 * number : 2 * number + 2]))
    return digest


def test_summary_covers_what_left() -> None:
    """HI-18, HI-19: it covers exactly what left, says so by count and digest, and is a user's untrusted data."""
    host = Host()
    host.say(*range(5))
    window = host.decide()
    assert host.turns() == ["Question 0", "Question 1", "Question 2"]
    assert texts(window)[1:] == texts_of(3, 4)
    assert window.message_count == 5
    summary = window.messages[0]
    assert summary["role"] == "user"
    assert "ntrusted" in summary["content"]
    assert "1 calls" in summary["content"]
    items = host.session.read()
    assert items is not None
    stored = items.head.summary
    assert stored is not None
    digest = digest_of(items, exchanges=3)
    assert (stored.covers, stored.digest) == (3, digest)
    assert f"{stored.covers} earlier exchanges" in summary["content"]
    assert digest in summary["content"]


def test_next_summary_gets_what_left_since() -> None:
    """HI-18: the host gets its last text and only the exchanges that left since, and no call when none did."""
    host = Host()
    host.say(*range(5))
    host.decide()
    assert host.requests[0].previous_summary is None
    assert host.requests[0].max_bytes == 4096
    host.decide()
    assert len(host.requests) == 1
    host.say(5)
    window = host.decide()
    assert len(host.requests) == 2
    assert host.requests[1].previous_summary == "1 calls"
    assert host.turns() == ["Question 3"]
    assert texts(window)[1:] == texts_of(4, 5)
    assert window.summary is not None
    assert window.summary.covers == 4


def test_originals_stay() -> None:
    """HI-19, X9: what a summary covers stays retained."""
    host = Host()
    host.say(*range(6))
    host.decide()
    snapshot = host.session.read()
    assert snapshot is not None
    assert [item.message["content"] for item in snapshot.items] == texts_of(*range(6))


def test_summary_is_within_the_bounds() -> None:
    """HI-19: the context is counted again, summary included, and more leaves where the summary needs the room."""
    host = Host(max_messages=128, max_bytes=1200, text=lambda _: "long " * 40)
    host.say(*range(16))
    window = host.decide()
    size = len(json.dumps(list(window.messages), ensure_ascii=False, separators=(",", ":")).encode())
    assert window.summary is not None
    assert window.bytes == size <= 1200
    covered = [turn for request in host.requests for turn in request.turns]
    assert len(covered) == window.summary.covers
    assert [turn[0]["content"] for turn in covered] == [f"Question {n}" for n in range(len(covered))]
    assert texts(window)[1:] == texts_of(*range(len(covered), 16))


def test_no_room_for_any_summary() -> None:
    """HI-9, HI-19: where what must stay leaves no room for a summary, none is served, and what must stay is."""
    host = Host(max_bytes=200)
    host.say(*range(4))
    window = host.decide()
    assert window.summary is None
    assert texts(window)[-2:] == texts_of(3)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "x" * 4097, "é" * 2049, "\ud83d", None, 7, b"text", ["text"]],
    ids=lambda value: repr(value)[:12],
)
def test_invalid_summary_is_refused(text: Any) -> None:
    """HI-19: empty, too long, or no text: refused before the operation runs, and nothing is stored."""
    host = Host(text=lambda _: text)
    host.say(*range(5))
    before = host.session.read()
    with pytest.raises(DecisionHistorySummaryInvalid):
        host.session.decide(PINS, lambda _: pytest.fail("the operation ran"))
    assert host.session.read() == before


def test_longest_summary_is_taken() -> None:
    """HI-18: a summary of exactly the allowed bytes is taken."""
    host = Host(text=lambda _: "é" * 50, max_summary_bytes=100)
    host.say(*range(5))
    assert host.decide().summary is not None
    assert host.requests[0].max_bytes == 100


def test_summary_is_not_kept_when_the_decision_fails() -> None:
    """HI-3: the summary is saved with its decision, or not at all."""
    host = Host()
    host.say(*range(5))

    def failing(_: Turn) -> list[Message]:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        host.session.decide(PINS, failing)
    snapshot = host.session.read()
    assert snapshot is not None
    assert snapshot.head.summary is None


def test_window_alone_asks_for_no_summary() -> None:
    """HI-18: looking at a window makes no call; it has the summary that the last decision left."""
    host = Host()
    host.say(*range(5))
    assert host.session.window().summary is None
    host.decide()
    assert host.session.window().summary is not None
    assert len(host.requests) == 1


def test_summary_is_projected() -> None:
    """HI-18: in `opaque_refs` the host gets the exchanges without a word of them."""
    host = Host(content_mode="opaque_refs")
    host.say(*range(5))
    host.decide(Pins("openai.chat", "model-1", content_mode="opaque_refs"))
    assert len(host.requests[0].turns) == 3
    assert "Question" not in json.dumps(host.requests[0].turns)
    assert "Answer" not in json.dumps(host.requests[0].turns)


def test_turns_are_detached() -> None:
    """HI-18: a host that changes what it was given changes nothing that is retained."""

    def changing(request: SummaryRequest) -> str:
        request.turns[0][0]["content"] = "changed"
        return "text"

    host = Host(text=changing)
    host.say(*range(5))
    host.decide()
    snapshot = host.session.read()
    assert snapshot is not None
    assert "changed" not in json.dumps([item.message for item in snapshot.items])
    assert snapshot.head.summary is not None
    assert snapshot.head.summary.digest == digest_of(snapshot, exchanges=3)


def test_summary_ends_with_what_it_tells_of() -> None:
    """HI-23: a summary of messages with an end of their own ends with the first of them."""
    host = Host()
    host.say(0, expires_at=host.now + 50)
    host.say(*range(1, 5))
    window = host.decide()
    assert window.summary is not None
    assert window.summary.expires_at == host.now + 50
    host.now += 50
    window = host.decide()
    assert host.requests[-1].previous_summary is None
    assert host.turns() == ["Question 1", "Question 2"]
    assert window.summary is not None
    assert window.summary.covers == 2


def test_events_of_summaries() -> None:
    """HI-12, HI-19: an event tells that history was reduced, by numbers and without the text."""
    host = Host()
    host.say(*range(5))
    host.decide()
    host.say(5)
    host.decide()
    made = [event for event in host.events if isinstance(event, SummaryMade)]
    assert made == [
        SummaryMade(covers=3, added=3, bytes=len("1 calls")),
        SummaryMade(covers=4, added=1, bytes=len("2 calls")),
    ]


def test_async_summary() -> None:
    """HI-18: `summarize` may be awaited, in the async form; the sync form refuses it."""

    async def text(request: SummaryRequest) -> str:
        await asyncio.sleep(0)
        return "awaited"

    async def operation(turn: Turn) -> list[Message]:
        assert turn.window.summary is not None
        shorter = await turn.ashorter(turn.window)
        assert shorter is not None
        assert shorter.summary is not None
        assert shorter.summary.covers == 4
        return []

    host = Host(text=text)
    host.say(*range(5))
    with pytest.raises(TypeError):
        host.decide()
    asyncio.run(host.session.adecide(PINS, operation))
    snapshot = host.session.read()
    assert snapshot is not None
    assert snapshot.head.summary is not None
    assert snapshot.head.summary.covers == 4
