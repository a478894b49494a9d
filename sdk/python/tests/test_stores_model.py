"""A store does what a plain dict does that knows the rules, and nothing of threads, files or disks (HI-3 to HI-6)."""

import itertools
import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from lastro.history import NewItem, Outcome, RamStore, SessionKey, SqliteStore
from lastro.history.contract import HistoryStore, View
from lastro.history.errors import DecisionHistoryError
from lastro.history.records import Head, Summary
from lastro.history.stores.appends import removal
from lastro.testing.uses import Clock

SESSIONS, STORE_BYTES, RETAINED_BYTES, TTL = 3, 700, 400, 100.0
NAMES = st.sampled_from("aaabbcd")


class Refused(Exception):
    """The model refuses, by the code that a store's refusal has."""


class Failed(Exception):
    """An operation fails."""


def size(message: Any) -> int:
    return len(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode())


@dataclass
class Record:
    """A session of the model: items by id in the order of storing, and what is known of the whole."""

    items: dict[str, NewItem] = field(default_factory=dict)
    leaf: str = ""
    summary: str = ""
    touched: float = 0.0

    def bytes(self) -> int:
        held = Summary(self.summary, 1, "d", "t")
        summary = [held.text, held.covers, held.digest, held.through, None]
        return sum(size(item.message) for item in self.items.values()) + (
            size(summary) if self.summary else 0
        )

    def path(self, leaf: str) -> list[str]:
        found = []
        while leaf:
            found.append(leaf)
            leaf = self.items[leaf].parent
        return found

    def sweep(self) -> None:
        live = set(self.opaque())
        swept = any(item.kind == "removal" for item in self.items.values())
        for id, item in list(self.items.items()) if swept else []:
            if item.kind == "removal" or (item.kind == "opaque" and id not in live):
                del self.items[id]

    def opaque(self) -> list[str]:
        live: list[str] = []
        for id, item in self.items.items():
            if item.kind == "opaque":
                live.append(id)
            if item.kind == "removal":
                names = item.message["removes"]
                live = [] if names == "all" else [name for name in live if name not in names]
        return live


class Model:
    """Sessions in a dict."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.records: dict[str, Record] = {}
        self.running: set[str] = set()

    def transact(self, name: str, operation: Callable[[Record | None], Any], *, create: bool = True) -> Any:
        self.purge()
        self.require_idle(name)
        if name not in self.records:
            self.require(create, "decision_history_not_found")
            self.require(len(self.records.keys() | self.running) < SESSIONS, "max_sessions")
        else:
            self.records[name].sweep()
        self.running.add(name)
        try:
            result, items, summary = operation(self.records.get(name))
            self.require(name in self.running, "decision_history_reservation_lost")
            self.save(name, items, summary)
        finally:
            self.running.discard(name)
        return result

    def save(self, name: str, items: list[NewItem], summary: str) -> None:
        before = self.records.get(name, Record())
        after = Record(dict(before.items), before.leaf, summary or before.summary, before.touched)
        for key in dict.fromkeys(item.key for item in items if item.key):
            known = [item.message for item in before.items.values() if item.key == key]
            brought = [item.message for item in items if item.key == key]
            self.require(not known or known == brought, "decision_history_conflict")
            items = [item for item in items if item.key != key or not known]
        if not items and not summary:
            return
        for item in items:
            self.add(after, item)
        self.require(after.bytes() <= RETAINED_BYTES, "max_retained_bytes")
        others = sum(record.bytes() for other, record in self.records.items() if other != name)
        self.require(others + after.bytes() <= STORE_BYTES, "max_store_bytes")
        after.touched = self.clock()
        self.records[name] = after

    def add(self, record: Record, item: NewItem) -> None:
        beside = item.kind in ("opaque", "removal")
        parent = item.parent or ("" if beside else record.leaf)
        found = record.items.get(parent)
        known = not parent or (found is not None and found.kind == "message")
        self.require(item.id not in record.items and known, "decision_history_message_invalid")
        record.items[item.id] = NewItem(item.message, item.kind, item.id, parent, item.key)
        if not beside:
            record.leaf = item.id

    def fork(self, name: str, to: str, at: str) -> None:
        self.purge()
        self.require(name != to, "decision_history_conflict")
        self.require(name in self.records or name in self.running, "decision_history_not_found")
        self.require_idle(name)
        origin = self.records[name]
        found = origin.items.get(at)
        self.require(found is not None and found.kind == "message", "decision_history_not_found")
        self.require(to not in self.records and to not in self.running, "decision_history_conflict")
        self.require(len(self.records.keys() | self.running) < SESSIONS, "max_sessions")
        items = {id: origin.items[id] for id in reversed(origin.path(at))}
        copy = Record(items, at, origin.summary if "t" in items else "", self.clock())
        held = sum(record.bytes() for record in self.records.values())
        self.require(held + copy.bytes() <= STORE_BYTES, "max_store_bytes")
        self.records[to] = copy

    def read(self, name: str) -> Record | None:
        self.purge()
        self.require_idle(name)
        return self.records.get(name)

    def delete(self, name: str) -> None:
        self.purge()
        self.require_idle(name)
        self.records.pop(name, None)

    def recover(self, name: str, *, word: bool) -> None:
        self.require(word, "decision_history_recovery_refused")
        self.purge()
        self.require(name in self.records or name in self.running, "decision_history_not_found")
        self.running.discard(name)

    def purge(self) -> None:
        for name, record in list(self.records.items()):
            if name not in self.running and record.touched + TTL <= self.clock():
                del self.records[name]

    def require_idle(self, name: str) -> None:
        self.require(name not in self.running, "decision_history_busy")

    def require(self, holds: bool, code: str) -> None:  # noqa: FBT001 - the rule itself
        if not holds:
            raise Refused(code)


def key(name: str) -> SessionKey:
    return SessionKey("n", session_id=name)


def code_of(error: Exception) -> str:
    if isinstance(error, DecisionHistoryError):
        return str(getattr(error, "bound", error.code))
    return str(error)


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    """Give what a call gives, or the code of its refusal."""
    try:
        return "gives", call()
    except (DecisionHistoryError, Refused, Failed) as error:
        return "refuses", code_of(error)


@dataclass(frozen=True)
class Act:
    """One call, and the calls that are made while its operation runs."""

    do: str
    name: str
    items: tuple[NewItem, ...] = ()
    summary: str = ""
    other: str = ""
    at: str = ""
    inner: tuple["Act", ...] = ()
    create: bool = True
    fails: bool = False

    def on_model(self, model: Model) -> Any:
        """Make the call on the model."""
        if self.do == "read":
            record = model.read(self.name)
            return None if record is None else seen_of_model(record)
        if self.do == "fork":
            return model.fork(self.name, self.other, self.at)
        if self.do == "transact":
            return model.transact(self.name, self.model_operation(model), create=self.create)
        return getattr(model, self.do)(self.name, **({"word": self.create} if self.do == "recover" else {}))

    def model_operation(self, model: Model) -> Callable[[Record | None], Any]:
        def operation(record: Record | None) -> Any:
            before = None if record is None else view_of_model(record)
            inner = [outcome(lambda act=act: act.on_model(model)) for act in self.inner]  # type: ignore[misc]
            if self.fails:
                raise Failed("failed")
            return (before, inner), list(self.items), self.summary

        return operation

    def on_store(self, store: HistoryStore) -> Any:
        """Make the call on the store."""
        if self.do == "read":
            return seen_of_store(store, self.name)
        if self.do == "fork":
            return store.fork(key(self.name), key(self.other), at=self.at)
        if self.do == "delete":
            return store.delete(key(self.name))
        if self.do == "recover":
            return store.recover(key(self.name), worker_stopped=self.create)
        return store.transact(key(self.name), self.store_operation(store), create=self.create)

    def store_operation(self, store: HistoryStore) -> Callable[[View | None], Outcome[Any]]:
        def operation(view: View | None) -> Outcome[Any]:
            before = None if view is None else view_of_store(view)
            inner = [outcome(lambda act=act: act.on_store(store)) for act in self.inner]  # type: ignore[misc]
            if self.fails:
                raise Failed("failed")
            head = Head(summary=Summary(self.summary, 1, "d", "t")) if self.summary else None
            return Outcome((before, inner), self.items, head)

        return operation


def view_of_model(record: Record) -> Any:
    known = {item.key for item in record.items.values() if item.key}
    return (
        record.path(record.leaf),
        record.opaque()[::-1],
        {name: [i.message for i in record.items.values() if i.key == name] for name in sorted(known)},
        record.summary,
    )


def view_of_store(view: View) -> Any:
    keys = {name: [item.message for item in view.known(name)] for name in ("k1", "k2")}
    return (
        [item.id for item in view.backwards(view.head.leaf)],
        [item.id for item in view.opaque()],
        {name: messages for name, messages in keys.items() if messages},
        view.head.summary.text if view.head.summary else "",
    )


def seen_of_model(record: Record) -> Any:
    live = record.opaque()
    items = [
        (item.id, item.parent, item.kind, item.message)
        for item in record.items.values()
        if item.kind != "opaque" or item.id in live
    ]
    held = sum(size(item.message) for item in record.items.values())
    return items, record.leaf, len(record.items), held, record.summary, record.touched


def seen_of_store(store: HistoryStore, name: str) -> Any:
    snapshot = store.read(key(name))
    if snapshot is None:
        return None
    head = snapshot.head
    items = [(item.id, item.parent, item.kind, item.message) for item in snapshot.items]
    return (
        items,
        head.leaf,
        head.count,
        head.bytes,
        head.summary.text if head.summary else "",
        head.touched_at,
    )


IDS = st.sampled_from(["t", *(f"i{number}" for number in range(8))])
ITEMS = st.one_of(
    st.builds(
        NewItem,
        st.builds(lambda n: {"é": "x" * n}, st.integers(0, 60) | st.integers(60, 200)),
        id=IDS,
        parent=st.one_of(st.just(""), IDS),
        key=st.sampled_from(["", "", "", "", "", "k1", "k2"]),
    ),
    st.builds(NewItem, st.builds(lambda n: {"o": n}, st.integers(0, 9)), kind=st.just("opaque"), id=IDS),
    st.builds(
        lambda ids, id: NewItem(removal(ids).message, kind="removal", id=id),
        st.one_of(st.none(), st.lists(IDS, max_size=2)),
        st.sampled_from(["r1", "r2", "r3"]),
    ),
)


def acts(inner: st.SearchStrategy[tuple[Act, ...]]) -> st.SearchStrategy[Act]:
    return st.one_of(
        st.builds(
            Act,
            st.just("transact"),
            NAMES,
            items=st.lists(ITEMS, max_size=3).map(tuple),
            summary=st.sampled_from(["", "", "text"]),
            inner=inner,
            create=st.booleans() | st.just(True),
            fails=st.sampled_from([False, False, False, True]),
        ),
        st.builds(Act, st.sampled_from(["read", "delete"]), NAMES),
        st.builds(Act, st.just("recover"), NAMES, create=st.booleans()),
        st.builds(Act, st.just("fork"), NAMES, other=NAMES, at=IDS),
    )


ACTS = acts(st.lists(acts(st.just(())), max_size=2).map(tuple))


class StoreMachine(RuleBasedStateMachine):
    """Makes the same calls on a store and on the model, and compares every answer."""

    make: Callable[[Clock], HistoryStore]

    @initialize()
    def open(self) -> None:
        self.clock = Clock()
        self.numbers = itertools.count()
        self.store = type(self).make(self.clock)
        self.model = Model(self.clock)

    @rule(act=ACTS)
    def call(self, act: Act) -> None:
        expected = outcome(lambda: act.on_model(self.model))
        assert outcome(lambda: act.on_store(self.store)) == expected, act

    @rule(name=NAMES, items=st.lists(ITEMS, min_size=1, max_size=3))
    def append(self, name: str, items: list[NewItem]) -> None:
        """Append items that are new, so that sessions grow."""
        new = tuple(replace(item, id=f"n{next(self.numbers)}", parent="") for item in items)
        self.call(Act("transact", name, new))

    @rule(name=NAMES, other=NAMES, place=st.integers(0, 9), items=st.lists(ITEMS, max_size=2))
    def branch(self, name: str, other: str, place: int, items: list[NewItem]) -> None:
        """Fork or go on at an item that is there."""
        record = self.model.records.get(name, Record())
        at = list(record.items)[place % len(record.items)] if record.items else "i0"
        new = tuple(replace(item, id=f"n{next(self.numbers)}", parent=at) for item in items)
        self.call(Act("transact", name, new) if new else Act("fork", name, other=other, at=at))

    @rule(name=NAMES, items=st.lists(ITEMS, max_size=1), again=st.booleans())
    def overtake(self, name: str, items: list[NewItem], again: bool) -> None:  # noqa: FBT001
        """Recover a decision that still runs, and let another one pass it."""
        new = tuple(replace(item, id=f"n{next(self.numbers)}", parent="") for item in items)
        passing = (Act("transact", name, new),) if again else ()
        self.call(Act("transact", name, new, inner=(Act("recover", name), *passing)))

    @rule(seconds=st.sampled_from([0.0, 1.0, 1.0, 1.0, 49.0, 100.0]))
    def wait(self, seconds: float) -> None:
        self.clock.move(seconds)

    @invariant()
    def all_is_the_same(self) -> None:
        for name in "abcd" if hasattr(self, "store") else "":
            self.call(Act("read", name))

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()


BOUNDS: dict[str, Any] = {
    "max_sessions": SESSIONS,
    "max_store_bytes": STORE_BYTES,
    "max_retained_bytes": RETAINED_BYTES,
    "ttl": TTL,
}


class RamMachine(StoreMachine):
    make = staticmethod(lambda clock: RamStore(clock=clock, **BOUNDS))


class SqliteMachine(StoreMachine):
    make = staticmethod(
        lambda clock: SqliteStore(connection=sqlite3.connect(":memory:"), clock=clock, **BOUNDS)
    )


MACHINES = pytest.mark.parametrize("machine", [RamMachine, SqliteMachine], ids=["ram", "sqlite"])


def run(machine: type[StoreMachine], *, examples: int, steps: int) -> None:
    health = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=health,
    )
    run_state_machine_as_test(machine, settings=chosen)


@MACHINES
def test_store_does_what_the_model_does(machine: type[StoreMachine]) -> None:
    """HI-3 to HI-6, HI-21, HI-25: whatever is called in whatever order, also while a decision runs."""
    run(machine, examples=60, steps=50)


@MACHINES
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_store_does_what_the_model_does_for_long(machine: type[StoreMachine]) -> None:
    """HI-3 to HI-6, HI-21, HI-25: so it is in hundreds of longer stories."""
    run(machine, examples=600, steps=60)
