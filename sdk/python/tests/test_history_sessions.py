"""Sessions of a history: append, observe, decide, and what each of them refuses (HI-1, HI-5, HI-8, HI-12, HI-13)."""

import asyncio
import itertools
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from lastro.history import History, Limits, NewItem, Outcome, Pins, RamStore, Session, SqliteStore, Turn
from lastro.history.errors import (
    DecisionHistoryBusy,
    DecisionHistoryConflict,
    DecisionHistoryIdentityMissing,
    DecisionHistoryInvalid,
    DecisionHistoryLimitExceeded,
    DecisionHistoryMismatch,
    DecisionHistoryNotFound,
    DecisionHistoryRecoveryRefused,
)
from lastro.history.events import HistoryEvent, ItemsKept, ResumedWithoutMessages, WindowServed
from lastro.history.records import Message

PINS = Pins("openai.chat", "model-1")
RUN = {"run_id": "r-1", "invocation_id": "i-1", "agent_ref": "seller"}


class Form:
    """Calls a session by its sync form or its async one."""

    def __init__(self, session: Session, *, is_async: bool) -> None:
        self.session = session
        self.is_async = is_async

    def __getattr__(self, name: str) -> Any:
        if not self.is_async:
            return getattr(self.session, name)
        return lambda *given, **named: asyncio.run(getattr(self.session, f"a{name}")(*given, **named))

    def decide(self, pins: Pins, operation: Callable[[Turn], Any], **named: Any) -> Any:
        if not self.is_async:
            return self.session.decide(pins, operation, **named)

        async def awaited(turn: Turn) -> Any:
            await asyncio.sleep(0)
            return operation(turn)

        return asyncio.run(self.session.adecide(pins, awaited, **named))


class House:
    """A history in one store, on a clock that stands, with its events."""

    def __init__(self, store: Any, *, is_async: bool) -> None:
        self.store = store
        self.is_async = is_async
        self.events: list[HistoryEvent] = []
        self.now = 1000.0

    def history(self, **settings: Any) -> History:
        given: dict[str, Any] = {
            "namespace": "support",
            "on_event": self.events.append,
            "clock": lambda: self.now,
        }
        return History(self.store, **{**given, **settings})

    def session(self, session_id: str = "", *, settings: Any = None, **named: Any) -> Form:
        names = named if session_id else RUN | named
        return Form(self.history(**(settings or {})).session(session_id, **names), is_async=self.is_async)


@pytest.fixture(params=list(itertools.product(["ram", "sqlite"], ["sync", "async"])), ids="-".join)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    kind, form = request.param
    house: House
    clock = lambda: house.now  # noqa: E731
    store = RamStore(clock=clock) if kind == "ram" else SqliteStore(tmp_path / "store.sqlite", clock=clock)
    house = House(store, is_async=form == "async")
    yield house
    store.close()


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def says(text: str) -> Message:
    return {"role": "assistant", "content": text}


def calls(*ids: str) -> Message:
    function = {"name": "transfer", "arguments": '{"amount":10}'}
    made = [{"id": id, "type": "function", "function": function} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(id: str, text: str = "done") -> Message:
    return {"role": "tool", "tool_call_id": id, "content": text}


def deciding(*messages: Message) -> Callable[[Turn], tuple[Message, ...]]:
    return lambda _: messages


def noting(seen: list[Turn], *messages: Message) -> Callable[[Turn], tuple[Message, ...]]:
    def operation(turn: Turn) -> tuple[Message, ...]:
        seen.append(turn)
        return messages

    return operation


def never(_: Turn) -> tuple[Message, ...]:
    pytest.fail("the operation ran")


def cut_off(_: Turn) -> tuple[Message, ...]:
    raise ConnectionError


def test_agent_loop(house: House) -> None:
    """HI-13: messages go in and come back in the next window, a call with its result."""
    session = house.session()
    session.append([user("Send ten.")])
    session.decide(PINS, deciding(calls("c1")))
    session.observe([result("c1")])
    seen: list[Turn] = []
    session.decide(PINS, noting(seen, says("Sent.")))
    assert list(seen[0].window.messages) == [user("Send ten."), calls("c1"), result("c1")]
    assert list(session.window().messages) == [user("Send ten."), calls("c1"), result("c1"), says("Sent.")]
    head = session.read().head
    assert (head.pins, head.count) == (PINS, 4)


def test_operation_may_give_a_result_of_its_own(house: House) -> None:
    """HI-3: the store returns the operation's result."""
    session = house.session()
    answer = session.decide(PINS, lambda _: Outcome("typed answer", (NewItem(says("Sent.")),)))
    assert answer == "typed answer"
    assert [item.message for item in session.read().items] == [says("Sent.")]


def test_decision_that_fails_stores_nothing(house: House) -> None:
    """HI-3: an exception in the operation leaves the old record, and the next decision may run."""
    session = house.session()
    session.append([user("Send ten.")])
    with pytest.raises(ConnectionError):
        session.decide(PINS, cut_off)
    assert session.read().head.pins is None
    session.decide(PINS, deciding(says("Sent.")))
    assert session.read().head.count == 2


@pytest.mark.parametrize(
    ("member", "other"),
    [
        ("provider", Pins("anthropic.messages", "model-1")),
        ("model", Pins("openai.chat", "model-2")),
        ("interface", Pins("openai.chat", "model-1", "structured")),
    ],
)
def test_other_pins_are_refused(house: House, member: str, other: Pins) -> None:
    """HI-1: provider, model and interface are pinned at the first decision; another one never reaches a provider."""
    session = house.session()
    session.decide(PINS, deciding(says("Hello.")))
    with pytest.raises(DecisionHistoryMismatch, match=member):
        session.decide(other, never)
    session.decide(PINS, deciding(says("Hello again.")))


def test_other_content_mode_is_refused(house: House) -> None:
    """HI-1: the content mode is a part of the identity, and it is the history's."""
    opaque = Pins("openai.chat", "model-1", content_mode="opaque_refs")
    with pytest.raises(DecisionHistoryMismatch, match="content_mode"):
        house.session().decide(opaque, never)
    house.session(settings={"content_mode": "opaque_refs"}).decide(opaque, deciding(says("Hello.")))
    with pytest.raises(DecisionHistoryMismatch, match="content_mode"):
        house.session().decide(PINS, never)


def test_conversation_and_subject_stay(house: House) -> None:
    """HI-22: a session names its conversation and subject once; another name is refused."""
    house.session(conversation="c-1").append([user("1")])
    house.session(subject="s-1").append([user("2")])
    house.session(conversation="c-1", subject="s-1").append([user("3")])
    head = house.session().read().head
    assert (head.conversation, head.subject, head.count) == ("c-1", "s-1", 3)
    with pytest.raises(DecisionHistoryMismatch, match="subject"):
        house.session(subject="s-2").append([user("4")])


def test_result_of_no_call_is_refused(house: House) -> None:
    """HI-13: an observation is stored only for a call that was made and is open."""
    session = house.session()
    session.append([user("Send ten.")])
    session.decide(PINS, deciding(calls("c1", "c2")))
    before = session.read()
    for results in ([result("c3")], [result("c1"), result("c1")], [result("c1"), result("c3")], [user("c1")]):
        with pytest.raises(DecisionHistoryInvalid):
            session.observe(results)
        assert session.read() == before
    session.observe([result("c2"), result("c1")])
    with pytest.raises(DecisionHistoryInvalid, match="C1 is broken: c1"):
        session.observe([result("c1", "again")])
    with pytest.raises(DecisionHistoryNotFound):
        house.session("unknown").observe([result("c1")])


def test_repeated_ids_of_calls_are_told_apart(house: House) -> None:
    """O12: an id that returns in a later call is open again, and its result belongs to the later call."""
    session = house.session()
    for _ in range(2):
        session.append([user("Send ten.")])
        session.decide(PINS, deciding(calls("c1")))
        session.observe([result("c1")])
        with pytest.raises(DecisionHistoryInvalid):
            session.observe([result("c1")])


def test_provisional_result_leaves_the_call_open(house: House) -> None:
    """HI-13: a long-running call's first word is not its result."""
    session = house.session()
    session.append([user("Send ten.")])
    session.decide(PINS, deciding(calls("c1")))
    session.observe([result("c1", "accepted")], provisional=True)
    session.observe([result("c1", "done")])
    with pytest.raises(DecisionHistoryInvalid):
        session.observe([result("c1", "done")])
    assert [item.provisional for item in session.read().items] == [False, False, True, False]


def test_not_executed_call_is_closed(house: House) -> None:
    """HI-13, O24: the runtime's word that a call was not executed is served as its result, and marked so."""
    session = house.session()
    session.append([user("Send ten.")])
    session.decide(PINS, deciding(calls("c1")))
    assert session.window().open_calls == ("c1",)
    ids = session.not_executed(["c1"], key="k")
    assert session.not_executed(["c1"], key="k") == ids
    served = session.window().messages[-1]
    assert served["tool_call_id"] == "c1"
    assert "ot executed" in served["content"]
    for call in ("c1", "c9"):
        with pytest.raises(DecisionHistoryInvalid):
            session.not_executed([call])


def test_same_key_gives_the_first_answer(house: House) -> None:
    """HI-21, O14: a repeated append gives the first one's ids and stores nothing; other messages are a conflict."""
    session = house.session(provider="openai.chat")
    messages = [user("Question one"), says("Answer one"), user("Question two"), says("Answer two")]
    session.append(messages[:2], key="run-1")
    first = session.append(messages[2:], key="run-2")
    assert session.append(messages[2:], key="run-2") == first
    assert list(session.window().messages) == messages
    assert session.read().head.count == 4
    with pytest.raises(DecisionHistoryConflict):
        session.append(messages[:2], key="run-2")
    before = session.read()
    house.now += 10
    session.append(messages[2:], key="run-2")
    assert session.read() == before
    kept = [event for event in house.events if isinstance(event, ItemsKept)]
    assert [event.count for event in kept] == [2, 2]


def test_same_key_of_a_result(house: House) -> None:
    """HI-21: a result that is reported again after a lost answer is the first one, though its call is closed."""
    session = house.session()
    session.append([user("Send ten.")])
    session.decide(PINS, deciding(calls("c1")))
    ids = session.observe([result("c1")], key="step-1")
    assert session.observe([result("c1")], key="step-1") == ids
    with pytest.raises(DecisionHistoryConflict):
        session.observe([result("c1", "other")], key="step-1")


def test_two_workers(house: House) -> None:
    """HI-5, O23: the second of two decisions is refused, and stores nothing; later it sees what the first one did."""
    one, two = house.session(worker="w1"), house.session(worker="w2")
    one.append([user("Transfer 10 to savings.")])

    def first(turn: Turn) -> list[Message]:
        with pytest.raises(DecisionHistoryBusy) as busy:
            two.session.decide(PINS, deciding(calls("c_w2")))
        assert (busy.value.worker, busy.value.since) == ("w1", house.now)
        return [calls("c_w1")]

    one.decide(PINS, first)
    one.observe([result("c_w1")])
    windows: list[Turn] = []
    two.decide(PINS, noting(windows, says("Done.")))
    expected = [user("Transfer 10 to savings."), calls("c_w1"), result("c_w1")]
    assert list(windows[0].window.messages) == expected


def test_recovery(house: House) -> None:
    """HI-5, O24: a reservation that a worker left is freed with the word only, and the old record is there."""
    session = house.session()
    session.append([user("Start.")])

    def recovered(turn: Turn) -> list[Message]:
        with pytest.raises(DecisionHistoryRecoveryRefused):
            session.session.recover()
        session.session.recover(worker_stopped=True)
        session.session.append([user("Are you back?")])
        return [says("late")]

    with pytest.raises(Exception, match="decision_history_reservation_lost"):
        session.decide(PINS, recovered)
    assert [item.message for item in session.read().items] == [user("Start."), user("Are you back?")]


def test_branch(house: House) -> None:
    """X12, O26: a decision at an earlier leaf neither sees nor loses the other answer."""
    session = house.session()
    ids = session.append([user("A name for a cat."), says("Miso."), user("Another one."), says("Pepper.")])
    seen: list[Turn] = []
    session.decide(PINS, noting(seen, says("Olive.")), leaf=ids[2])
    assert seen[0].window.items == ids[:3]
    items = session.read().items
    assert [item.id for item in items if item.parent == ids[2]] == [ids[3], items[-1].id]
    assert [message["content"] for message in session.window().messages][-1] == "Olive."
    assert [message["content"] for message in session.window(leaf=ids[3]).messages][-1] == "Pepper."
    with pytest.raises(DecisionHistoryNotFound):
        session.window(leaf="nowhere")
    fork = house.session("fork")
    session.fork(fork.session, at=ids[1])
    assert fork.read().head.count == 2


def test_tenants(house: House) -> None:
    """HI-2, O27: a name is no key across owners, and a foreign id is answered as an unknown one."""
    theirs = house.session("New Session 0", settings={"namespace": "t1"}, provider="openai.chat")
    mine = house.session("New Session 0", settings={"namespace": "t2"}, provider="openai.chat")
    theirs.append([user("My order is ORD-PLUM-1."), says("Noted ORD-PLUM-1.")])
    with pytest.raises(DecisionHistoryNotFound) as foreign:
        mine.window()
    with pytest.raises(DecisionHistoryNotFound) as unknown:
        house.session("no-such-id", provider="openai.chat").window()
    assert str(foreign.value) == str(unknown.value)
    mine.append([user("Hello.")])
    assert list(mine.window().messages) == [user("Hello.")]
    theirs.append([user("And?")])


def test_expiry_and_deletion(house: House) -> None:
    """HI-4, O25: an expired message is not served before any sweep, and a deleted session is not found."""
    session = house.session(provider="openai.chat")
    ends = house.now + 100
    first = [user("Remember: the door code is 4411."), says("Noted.")]
    session.append([NewItem(message, expires_at=ends) for message in first])
    session.append([user("What is the weather?"), says("Clear.")])
    assert len(session.window().messages) == 4
    house.now = ends
    assert "4411" not in json.dumps(session.window().messages)
    assert "4411" not in json.dumps([item.message for item in session.read().items])
    session.delete()
    session.delete()
    assert session.read() is None
    with pytest.raises(DecisionHistoryNotFound):
        session.window()


def test_missing_identity(house: House) -> None:
    """HI-1, HI-2: a missing id, a missing namespace of a store that can be shared, or provider is an error."""
    unnamed: list[dict[str, Any]] = [{"run_id": "r"}, {"run_id": "r", "invocation_id": "i"}]
    for names in unnamed:
        with pytest.raises(DecisionHistoryIdentityMissing):
            house.history().session(**names)
    with pytest.raises(DecisionHistoryIdentityMissing):
        History(house.store)
    session = house.session()
    session.append([user("Hello.")])
    with pytest.raises(DecisionHistoryIdentityMissing):
        session.window()


def test_invocations_share_nothing(house: House) -> None:
    """HI-1: two invocations of one agent, or two agents of one run, are two sessions."""
    house.session().append([user("Hello.")])
    assert house.session(invocation_id="i-2").read() is None
    assert house.session(agent_ref="helper").read() is None


def test_own_bound_of_a_session(house: House) -> None:
    """HI-4: a history may retain less of a session than its store allows, and refuses by the bound's name."""
    session = house.session(settings={"max_retained_bytes": 100})
    session.append([user("x" * 50)])
    with pytest.raises(DecisionHistoryLimitExceeded, match=r"max_retained_bytes: \d+ needed, 100 allowed"):
        session.append([user("x" * 50)])
    assert session.read().head.count == 1


def test_trimming_deletes_nothing(house: House) -> None:
    """HI-9, HI-10: a smaller window leaves all that is retained where it is."""
    session = house.session(settings={"max_messages": 4}, provider="openai.chat")
    for number in range(6):
        session.append([user(f"Question {number}"), says(f"Answer {number}")])
    assert len(session.window().messages) == 4
    assert session.window().trimmed
    assert len(session.window(limits=Limits(6)).messages) == 6
    assert session.read().head.count == 12


def test_shorter_window(house: House) -> None:
    """HI-15: before a generation, a decision can let one old exchange leave at a time, down to what must stay."""
    session = house.session()
    for number in range(4):
        session.append([user(f"Question {number}"), says(f"Answer {number}")])
    session.append([user("And now?")])
    counts: list[int] = []

    def shortening(turn: Turn) -> list[Message]:
        window: Any = turn.window
        while window is not None:
            counts.append(window.message_count)
            window = turn.shorter(window)
        return [says("Nothing.")]

    session.decide(PINS, shortening)
    assert counts == sorted(set(counts), reverse=True)
    assert counts[0] == 9
    assert session.read().head.count == 10


def test_resume_without_messages(house: House) -> None:
    """HI-8: where only the observations of a checkpoint remain, an event says so, and nothing is invented."""
    session = house.session(resumed=True)
    assert session.observe([result("c1")]) == ()
    windows: list[Turn] = []
    session.decide(PINS, noting(windows, says("Sent.")), observations=1)
    assert windows[0].window.messages == ()
    told = [event for event in house.events if isinstance(event, ResumedWithoutMessages)]
    assert [event.observations for event in told] == [1, 1]
    house.events.clear()
    house.session(resumed=True).decide(PINS, deciding(says("Sent.")))
    assert not [event for event in house.events if isinstance(event, ResumedWithoutMessages)]


def test_events_are_numbers(house: House) -> None:
    """HI-12: an event has numbers only, whatever the messages, ids and names are."""
    session = house.session(conversation="c-1", settings={"max_messages": 4})
    session.append([user("Send ten."), says("To whom?"), user("To Ann.")])
    session.decide(PINS, deciding(calls("c1")))
    session.observe([result("c1")])
    session.window()
    values = [getattr(event, field.name) for event in house.events for field in fields(event)]
    assert values
    assert {type(value) for value in values} <= {int, bool}
    served = [event for event in house.events if isinstance(event, WindowServed)]
    assert [(event.message_count, event.trimmed) for event in served] == [(3, False), (3, True)]


def test_opaque_records(house: House) -> None:
    """HI-25: another framework's records are listed, popped and cleared, and are in no window."""
    session = house.session(provider="openai.chat")
    opaque = Form(session.session.opaque, is_async=house.is_async)  # type: ignore[arg-type]
    assert opaque.pop() is None
    session.append([user("Hello.")])
    first = opaque.add([{"n": 1}, {"n": 2}], key="k")
    assert opaque.add([{"n": 1}, {"n": 2}], key="k") == first
    opaque.add([{"n": 3}])
    assert [item.message["n"] for item in opaque.list()] == [1, 2, 3]
    assert [item.message["n"] for item in opaque.list(2)] == [2, 3]
    assert opaque.pop().message == {"n": 3}
    assert opaque.pop().message == {"n": 2}
    assert [item.message["n"] for item in opaque.list()] == [1]
    opaque.clear()
    assert opaque.list() == ()
    assert list(session.window().messages) == [user("Hello.")]


@pytest.mark.parametrize("is_async", [False, True])
def test_history_false_keeps_nothing(*, is_async: bool) -> None:
    """HI-13: without history nothing is kept, and a window carries nothing."""
    session = Form(History(False).session("s"), is_async=is_async)
    session.append([user("Hello.")])
    windows: list[Turn] = []
    assert len(session.decide(PINS, noting(windows, calls("c1")))) == 1
    assert session.observe([result("c1")]) == ()
    assert session.not_executed(["c1"]) == ()
    assert windows[0].window.messages == ()
    assert session.window().messages == ()
    assert session.read() is None
    session.delete()


def test_default_is_ram_of_its_own() -> None:
    """HI-4, HI-2: without a store two histories share nothing, so that neither needs a namespace."""
    one, two = History().session("s"), History().session("s")
    one.append([user("Hello.")])
    assert one.read() is not None
    assert two.read() is None


def test_sync_decision_refuses_async_code() -> None:
    """SD-7: what has to be awaited is refused by the sync form, and stores nothing."""

    async def operation(turn: Turn) -> list[Message]:
        return [says("Hello.")]

    session = History().session("s")
    with pytest.raises(TypeError):
        session.decide(PINS, operation)  # type: ignore[arg-type]
    assert session.read() is None


def test_no_content_in_a_repr(house: House) -> None:
    """SD-11: what is shown of a message, a window or a store in a log or a traceback has no content and no token."""
    session = house.session(
        settings={"max_messages": 4, "summarize": lambda request: f"CANARY {len(repr(request))}"}
    )
    shown: list[str] = []

    def operation(turn: Turn) -> Outcome[str]:
        made = Outcome("CANARY", (NewItem(says("CANARY")),))
        shown.extend((repr(turn), repr(turn.window.summary), repr(made)))
        with pytest.raises(DecisionHistoryBusy) as busy:
            session.session.read()
        shown.append(repr(busy.value))
        return made

    session.append([user("CANARY"), says("CANARY")] * 4)
    session.decide(PINS, operation)
    shown += [
        repr(session.session),
        repr(session.read()),
        repr(session.window()),
        repr(house.store),
        repr(house.events),
    ]
    assert "CANARY" in json.dumps(session.window().messages)
    assert "CANARY" not in "".join(shown)


def test_looks_make_nobody_busy(house: House) -> None:
    """HI-6: any number of looks at a window go on side by side, and no decision is refused for one of them."""
    session = house.session(provider="openai.chat")
    session.append([user("Hello.")] * 20)

    def look(_: int) -> int:
        try:
            return len(session.window().messages)
        except DecisionHistoryBusy:
            return 20

    with ThreadPoolExecutor(4) as pool:
        looks = pool.map(look, range(40))
        for _ in range(10):
            session.append([says("Hello.")])
        assert set(looks) <= set(range(20, 31))
    session.decide(PINS, while_looking(session))


def while_looking(session: Form) -> Callable[[Turn], tuple[Message, ...]]:
    def operation(_: Turn) -> tuple[Message, ...]:
        with pytest.raises(DecisionHistoryBusy):
            session.session.window()
        return ()

    return operation


def test_no_repr_shows_a_handle() -> None:
    """HI-12: a session and its head may be printed; the person is not in it."""
    session = History().session("s", subject="phone_e164:+55 11 91234-5678")
    session.append([user("hello")])
    snapshot = session.read()
    assert snapshot is not None
    assert snapshot.head.subject
    assert "91234" not in repr(session) + repr(snapshot)
