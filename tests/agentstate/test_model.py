"""Any interleaving of writes, removals, resends, time and sweeps, against a model of the state (WM-6 to WM-16b, WM-21).

The model is a dictionary of fields with the moment at which each was named, a counter, and the list of the keys that
are remembered. It knows nothing of rows, tombstones that were not swept, encryption or masking.
"""

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from agentstate.errors import AgentStateConflict
from agentstate.models import State
from agentstate.types import StateRead, StoredState
from tests import factories
from tests.agentstate.clock import Clocked
from tests.factories import LATELY, scope
from workspaces import access
from workspaces.errors import Conflict
from workspaces.types import WorkspaceRef

STATE_TIME, SHORT_TIME, TOMBSTONE_TIME = timedelta(days=3), timedelta(hours=24), timedelta(days=400)
CAP = 48
DECLARED = ("a", "b", "c", "short")
TYPE: dict[str, Any] = {
    "type": "model",
    "version": "1",
    "ownership": "agent",
    "fields": {name: {"type": "any"} for name in DECLARED},
    "retention": {"state": "3d", "short": "24h"},
    "agent_state": {"cap_bytes": CAP},
}
REMOVAL = {"$delete": True}
PERSON = {"type": "anon_id", "value": "person"}

Write = dict[str, Any]


@dataclass
class Remembered:
    """A key, with the body that came with it while that can still be told, and its answer."""

    body: str | None
    answer: StoredState


@dataclass
class Model:
    """One state as the specification tells it."""

    body: dict[str, Any] = field(default_factory=dict)
    named_at: dict[str, datetime] = field(default_factory=dict)
    written_at: datetime | None = None
    numbering: int = 0
    is_named: bool = False
    epoch: str = "none"
    old_epochs: set[str] = field(default_factory=set)
    keys: "OrderedDict[str, Remembered]" = field(default_factory=OrderedDict)
    buried_at: datetime | None = None

    @property
    def version(self) -> int:
        return 0 if self.written_at is None else self.numbering

    def pass_time(self, now: datetime) -> None:
        """Let go of what has expired (WM-21)."""
        if self.written_at is not None and now >= self.written_at + STATE_TIME:
            self.end()
        if "short" in self.named_at and now >= self.named_at["short"] + SHORT_TIME:
            del self.body["short"], self.named_at["short"]

    def end(self) -> None:
        """End this life: by its time or a removal."""
        self.old_epochs.add(self.epoch)
        self.body, self.named_at, self.written_at = {}, {}, None
        self.epoch, self.is_named = "none", False
        self.forget_bodies()

    def forget_bodies(self) -> None:
        for remembered in self.keys.values():
            remembered.body = None

    def sweep(self, now: datetime) -> None:
        """Bury what ended, and forget what has been buried long enough (PR-12)."""
        if self.written_at is not None or not self.numbering:
            return
        if self.buried_at is None:
            self.buried_at = now
        elif now >= self.buried_at + TOMBSTONE_TIME:
            self.numbering, self.buried_at = 0, None
            self.keys.clear()

    def expected(self, write: Write, key: str | None) -> Any:
        """Tell what a write must be answered: an error, an earlier answer, a reason, or nothing: it is stored."""
        earlier = self.keys.get(key) if key else None
        if earlier is not None:
            is_same = earlier.body is None or earlier.body == json.dumps(write)
            return earlier.answer if is_same else Conflict
        wanted = write["if_version"] or 0 if write["mode"] == "cas" else write["if_version"]
        if wanted is not None and wanted != self.version:
            return AgentStateConflict
        if not set(write["body"]) <= set(DECLARED):
            return "not_declared_field"
        return "over_cap" if size_of(self.after(write)) > CAP else None

    def after(self, write: Write) -> dict[str, Any]:
        """Give the body that a write leads to (WM-7, WM-8)."""
        kept = {} if write["mode"] == "cas" else self.body
        return {name: value for name, value in {**kept, **write["body"]}.items() if not is_removal(value)}

    def store(self, write: Write, key: str | None, answer: StoredState, now: datetime) -> None:
        self.body = self.after(write)
        self.named_at = {name: now if name in write["body"] else self.named_at[name] for name in self.body}
        if "subject" in write and not self.is_named:
            self.forget_bodies()
            self.is_named = True
        self.numbering, self.written_at, self.buried_at = self.numbering + 1, now, None
        self.epoch = answer.epoch
        if key:
            self.keys[key] = Remembered(json.dumps(write), answer)
            while len(self.keys) > 32:
                self.keys.popitem(last=False)

    def read(self) -> dict[str, Any]:
        """Give what a reader must see (WM-17)."""
        if self.written_at is None:
            return {"body": {}, "version": 0, "epoch": "none", "updated_at": None, "valid_until": None}
        return {
            "body": self.body,
            "version": self.numbering,
            "epoch": self.epoch,
            "updated_at": self.written_at,
            "valid_until": self.written_at + STATE_TIME,
        }


def is_removal(value: Any) -> bool:
    """Tell the removal from `{"$delete": 1}`, which Python calls equal."""
    return json.dumps(value) == json.dumps(REMOVAL)


def size_of(body: dict[str, Any]) -> int:
    return len(json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode())


VALUES = st.sampled_from([0, 1, -2.5, None, True, "é", [1], {"k": 1}, {"$delete": 1}, "x" * 20])
FIELDS = st.sampled_from([*DECLARED, *DECLARED, "undeclared"])
BODIES = st.dictionaries(FIELDS, VALUES, max_size=3)
CHANGES = st.dictionaries(FIELDS, VALUES | st.just(REMOVAL), max_size=3)
KEYS = st.none() | st.sampled_from([f"key-{number}" for number in range(4)])
PLACES = st.integers(0, 2)
OFFSETS = st.sampled_from([0, 0, 0, -1, 1, None])


class WorkingMemory(RuleBasedStateMachine):
    """Three states, of two agents in two scopes, and one clock."""

    workspace: WorkspaceRef

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clocked(self.workspace, now=LATELY)
        first, second = scope(), scope(kind="task")
        self.places = [(first, "one"), (first, "two"), (second, "one")]
        self.models = [Model() for _ in self.places]
        self.sent: list[tuple[int, Write, str]] = []

    @rule(place=PLACES, body=BODIES, offset=OFFSETS, key=KEYS, is_named=st.booleans())
    def cas(self, place: int, body: Any, offset: int | None, key: str | None, is_named: bool) -> None:  # noqa: FBT001
        self._write(place, self._made(place, "cas", body, offset, is_named=is_named), key)

    @rule(place=PLACES, body=CHANGES, offset=OFFSETS, key=KEYS, is_named=st.booleans())
    def merge(self, place: int, body: Any, offset: int | None, key: str | None, is_named: bool) -> None:  # noqa: FBT001
        self._write(place, self._made(place, "merge_by_key", body, offset, is_named=is_named), key)

    @rule(place=PLACES, body=CHANGES)
    def merge_at_any_version(self, place: int, body: Any) -> None:
        self._write(place, self._made(place, "merge_by_key", body, None, is_named=False), None)

    @rule(data=st.data())
    def send_again(self, data: st.DataObject) -> None:
        if self.sent:
            self._write(*data.draw(st.sampled_from(self.sent)))

    @rule(place=PLACES, offset=OFFSETS)
    def delete(self, place: int, offset: int | None) -> None:
        model = self._now(place)
        version = None if offset is None else max(model.version + offset, 0)
        if version is not None and version != model.version:
            with pytest.raises(AgentStateConflict):
                self.clock.delete(*self.places[place], if_version=version)
        else:
            was_live = model.written_at is not None
            assert self.clock.delete(*self.places[place], if_version=version).deleted is was_live
            if was_live:
                model.end()
                model.buried_at = self.clock.now
        self._check(place)

    @rule(hours=st.sampled_from([1, 12, 23, 24, 48, 72, 24 * 401]))
    def wait(self, hours: int) -> None:
        self.clock.wait(hours=hours)

    @rule()
    def sweep(self) -> None:
        self.clock.sweep()
        for place, model in enumerate(self.models):
            self._now(place)
            model.sweep(self.clock.now)
            self._check(place)

    @rule(place=PLACES)
    def read(self, place: int) -> None:
        self._check(place)

    def teardown(self) -> None:
        for place in range(len(self.places)):
            self._check(place)
        with access.bound(self.clock.workspace.id):
            State.objects.all().delete()

    def _made(self, place: int, mode: str, body: Any, offset: int | None, *, is_named: bool) -> Write:
        at, agent = self.places[place]
        version = None if offset is None else max(self._now(place).version + offset, 0)
        named = {"subject": PERSON} if is_named else {}
        return {"scope": at, "agent": agent, "mode": mode, "body": body, "if_version": version, **named}

    def _write(self, place: int, write: Write, key: str | None) -> None:
        model = self._now(place)
        expected = model.expected(write, key)
        if isinstance(expected, type):
            with pytest.raises(expected):
                self.clock.write(write, idempotency_key=key)
        else:
            answer = self.clock.write(write, idempotency_key=key)
            self._compare(model, write, key, answer, expected)
        self._check(place)

    def _compare(
        self, model: Model, write: Write, key: str | None, answer: StoredState, expected: Any
    ) -> None:
        if isinstance(expected, StoredState):
            assert answer == expected
        elif expected is not None:
            assert (answer.stored, answer.reason) == (False, expected)
            assert (answer.version, answer.epoch) == (model.version, model.epoch)
        else:
            assert (answer.stored, answer.version) == (True, model.numbering + 1)
            assert answer.epoch == model.epoch or model.written_at is None
            assert answer.epoch not in model.old_epochs
            model.store(write, key, answer, self.clock.now)
            self.sent += [(self._place_of(model), write, key)] if key else []

    def _place_of(self, model: Model) -> int:
        return next(place for place, known in enumerate(self.models) if known is model)

    def _now(self, place: int) -> Model:
        self.models[place].pass_time(self.clock.now)
        return self.models[place]

    def _check(self, place: int) -> None:
        read: StateRead = self.clock.read(*self.places[place])
        expected = self._now(place).read()
        assert {name: getattr(read, name) for name in expected} == expected
        assert repr(sorted(read.body.items())) == repr(sorted(expected["body"].items()))
        short = self.models[place].named_at.get("short")
        ends = {"short": min(short + SHORT_TIME, expected["valid_until"])} if short else {}
        assert read.expires == ends


def play(workspace: WorkspaceRef, *, examples: int, steps: int, derandomize: bool) -> None:
    """Play games of this many steps."""
    game = type("Game", (WorkingMemory,), {"workspace": workspace})
    run_state_machine_as_test(
        game,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=derandomize,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.fixture
def workspace(db: None, _deployment_key: None) -> WorkspaceRef:
    """A workspace with the type of the model."""
    return factories.make_ready_workspace("Modelo", TYPE)


@pytest.mark.timeout(900)
def test_against_the_model(workspace: WorkspaceRef) -> None:
    """WM-6 to WM-10, WM-12, WM-13, WM-15 to WM-17, WM-21: the same games each time."""
    play(workspace, examples=15, steps=40, derandomize=True)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_against_the_model_for_long(workspace: WorkspaceRef) -> None:
    """WM-6 to WM-10, WM-12, WM-13, WM-15 to WM-17, WM-21: other games each time, many more and longer."""
    play(workspace, examples=300, steps=80, derandomize=False)
