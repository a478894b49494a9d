"""Bad input of a host's own code: always a typed refusal, never a crash, and nothing is stored (HI-20, X6)."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from lastro.errors import LastroError
from lastro.history import History, RamStore, SqliteStore
from lastro.history.contract import HistoryStore
from lastro.history.errors import (
    DecisionHistoryIdentityMissing,
    DecisionHistoryMessageInvalid,
    DecisionHistoryNotFound,
)
from lastro.history.records import NewItem, Outcome, Pins
from lastro.history.sessions import Session
from lastro.history.windows import Limits

HELLO = {"role": "user", "content": "Hello."}
PINS = Pins("openai.chat", "a-model")


def nested(depth: int, *, listed: bool) -> dict[str, Any]:
    inner: Any = "deep"
    for _ in range(depth):
        inner = [inner] if listed else {"x": inner}
    return {"x": inner}


def cyclic() -> dict[str, Any]:
    message: dict[str, Any] = {"role": "user"}
    message["content"] = [message]
    return message


MESSAGES: dict[str, Any] = {
    "nothing": None,
    "number": 1,
    "text": "words",
    "bytes": b"words",
    "list": [HELLO],
    "name that is a number": {1: 2},
    "name that is nothing": {None: 1},
    "name that is bytes": {b"x": 1},
    "name that is a pair": {("a", "b"): 1},
    "name with half a character": {"\udfff": 1},
    "half a character": {"content": "\ud83d"},
    "no number": {"content": math.nan},
    "endless number": {"content": math.inf},
    "number of 5000 digits": {"content": 10**5000},
    "complex number": {"content": 1j},
    "bytes inside": {"content": b"words"},
    "set inside": {"content": {1, 2}},
    "tuple inside": {"content": (1, 2)},
    "object inside": {"content": object()},
    "itself inside": cyclic(),
    "a hundred thousand objects deep": nested(100_000, listed=False),
    "a hundred thousand lists deep": nested(100_000, listed=True),
    "name of ten million letters": {"x" * 10_000_000: 1},
}
NAMES: dict[str, Any] = {
    "nothing": None,
    "number": 1,
    "bytes": b"x",
    "too long": "x" * 201,
    "NUL": "\0",
    "half a character": "\ud800",
    "list": ["x"],
    "object": {"x": 1},
    "no number": math.nan,
}
WAYS: dict[str, Callable[[Session, Any], object]] = {
    "append": lambda session, given: session.append([given]),
    "append an item": lambda session, given: session.append([NewItem(given)]),
    "observe": lambda session, given: session.observe([given]),
    "decide": lambda session, given: session.decide(PINS, lambda _: [given]),
    "not executed": lambda session, given: session.not_executed([given]),
}
NAMED: dict[str, Callable[[Session, Any], object]] = {
    "id": lambda session, name: session.append([NewItem(HELLO, id=name)]),
    "parent": lambda session, name: session.append([NewItem(HELLO, parent=name)]),
    "key of an item": lambda session, name: session.append([NewItem(HELLO, key=name)]),
    "kind": lambda session, name: session.append([NewItem(HELLO, kind=name)]),
    "key": lambda session, name: session.append([HELLO], key=name),
    "key of a result": lambda session, name: session.observe([HELLO], key=name),
    "call": lambda session, name: session.not_executed([name]),
    "leaf": lambda session, name: session.window(leaf=name),
    "leaf of a decision": lambda session, name: session.decide(PINS, lambda _: [HELLO], leaf=name),
    "fork": lambda session, name: session.fork(other(session), at=name),
    "provider": lambda session, name: session.decide(Pins(name, "m"), lambda _: [HELLO]),
    "model": lambda session, name: session.decide(Pins("openai.chat", name), lambda _: [HELLO]),
    "interface": lambda session, name: session.decide(Pins("openai.chat", "m", name), lambda _: [HELLO]),
    "content mode": lambda session, name: session.decide(
        Pins("openai.chat", "m", content_mode=name), lambda _: [HELLO]
    ),
}


def other(session: Session) -> Session:
    return History(session.draft.settings.store, namespace="tests").session("other", provider="openai.chat")


@pytest.fixture(params=["ram", "sqlite"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    store: HistoryStore = RamStore() if request.param == "ram" else SqliteStore(tmp_path / "history.sqlite")
    made = History(store, namespace="tests").session("one", provider="openai.chat")
    made.append([HELLO])
    return made


def require_refused(session: Session, act: Callable[[], object]) -> None:
    """It is refused by a typed error that shows no content; what was stored stands, and the next append works."""
    before = session.read()
    with pytest.raises(LastroError) as caught:
        act()
    assert "words" not in str(caught.value) + repr(caught.value)
    assert session.read() == before
    session.append([HELLO])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("why", MESSAGES)
def test_bad_message_is_refused(why: str, way: str, session: Session) -> None:
    """X6, HI-20: what is no strict JSON object is refused with its place, by whichever way it comes."""
    given = "call_of_nobody" if (way, why) == ("not executed", "text") else MESSAGES[why]
    require_refused(session, lambda: WAYS[way](session, given))


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize("why", NAMES)
def test_bad_name_is_refused(why: str, named: str, session: Session) -> None:
    """HI-20: an id, a key, a label or a pin that cannot be kept is refused before anything is stored."""
    if (named, why) == ("id", "nothing"):
        pytest.skip("an item without an id gets one")
    require_refused(session, lambda: NAMED[named](session, NAMES[why]))


@pytest.mark.parametrize("given", [None, 5, "words", b"words", {"role": "user"}, object()])
@pytest.mark.parametrize("way", ["append", "observe", "not_executed", "decide"])
def test_what_is_no_list_is_refused(way: str, given: Any, session: Session) -> None:
    """HI-20: one message alone, or nothing, is no list of messages."""
    acts: dict[str, Callable[[], object]] = {
        "append": lambda: session.append(given),
        "observe": lambda: session.observe(given),
        "not_executed": lambda: session.not_executed(given),
        "decide": lambda: session.decide(PINS, lambda _: cast(Any, given)),
    }
    require_refused(session, acts[way])


@pytest.mark.parametrize(
    "given",
    [None, 5, Outcome(1, cast(Any, (HELLO,))), Outcome(1, cast(Any, None)), Outcome(1, (), cast(Any, ""))],
)
def test_operation_that_gives_no_outcome_is_refused(given: Any, session: Session) -> None:
    """HI-3: a store saves only what it can keep."""
    require_refused(session, lambda: session.transact(lambda _: given))


@pytest.mark.parametrize("member", ["recorded_at", "expires_at", "provisional"])
@pytest.mark.parametrize("given", ["soon", math.nan, math.inf, b"1", [], object()])
def test_bad_member_of_an_item_is_refused(member: str, given: Any, session: Session) -> None:
    """HI-23: a time is a number, and a mark is yes or no."""
    require_refused(session, lambda: session.append([NewItem(HELLO, **{member: given})]))


@pytest.mark.parametrize("why", [why for why in NAMES if why != "nothing"])
@pytest.mark.parametrize("member", ["provider", "worker", "conversation", "subject", "session_id"])
def test_bad_identity_is_refused(member: str, why: str) -> None:
    """HI-1: nothing is kept under a name that is none."""
    history = History()
    given: dict[str, Any] = {"session_id": "one", "provider": "openai.chat", member: NAMES[why]}
    with pytest.raises(LastroError):
        history.session(**given).append([HELLO])
    assert history.session("one").read() is None


@pytest.mark.parametrize("bound", [None, "9", 1.5, math.nan, True])
def test_bad_bound_is_refused_at_once(bound: Any) -> None:
    """HI-4, HI-9: a bound is a whole number; a ValueError says so where it is given, before anything is kept."""
    names = ("max_messages", "max_bytes", "max_summary_bytes")
    for name in names if bound is None else (*names, "max_retained_bytes"):
        with pytest.raises(ValueError, match="whole number"):
            History(**{name: bound})
    with pytest.raises(ValueError, match="whole number"):
        Limits(bound)
    with pytest.raises(ValueError, match="above zero"):
        RamStore(ttl=math.nan)


def test_words_of_the_refusals(session: Session) -> None:
    """HI-20: a refusal is of the kind that tells what is wrong."""
    for act, kind in (
        (lambda: session.append(cast(Any, HELLO)), DecisionHistoryMessageInvalid),
        (lambda: session.window(leaf="\ud800"), DecisionHistoryNotFound),
        (lambda: session.decide(Pins(cast(Any, "other"), "m"), lambda _: []), DecisionHistoryIdentityMissing),
    ):
        with pytest.raises(kind):
            act()
