"""Working memory through any mix of outages, lost answers, other writers and erasures (SD-3 to SD-5).

The server is the executor of a replay, which answers by the server's rules; the line to it is cut, or loses answers.
"""

import asyncio
import itertools
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lastro.errors import ServerRefusal
from lastro.outbox import MemoryOutbox
from lastro.replay import Executor
from lastro.states.answers import Reply
from lastro.states.backoff import Backoff
from lastro.states.operations import States
from lastro.states.tuning import Budgets, Chances, Tuning
from lastro.states.types import Body, StateName, StateRead
from lastro.states.writes import Request, from_rfc3339, make_write

NAMES = [StateName("conversation", letter, "a") for letter in "xy"]
FAR = float("inf")
Mode = Literal["up", "cut", "deaf"]


class Shop(Executor):
    """The server of a test: it erases, and notes every write that it stored."""

    def __init__(self, world: "World") -> None:
        super().__init__({}, now=0.0)
        self.world = world
        self.stored: list[tuple[StateName, str]] = []
        self.erased_at: dict[StateName, float] = {}
        self.lost_updates: list[str] = []
        self.cleared = itertools.count()
        self.names: dict[str, StateName] = {}

    def erase(self, name: StateName) -> None:
        form = make_write(
            name, "clear", body={}, if_version=None, subject=None, now=0, key=f"e{next(self.cleared)}"
        )
        self.names[form.key] = name
        super().answer(form.request)
        self.erased_at[name] = self.world.now
        # An erased state remembers no write that it had.
        self._answers = {key: reply for key, reply in self._answers.items() if self.names[key] != name}

    def body(self, name: StateName) -> tuple[Body, int]:
        found = self.found().get(name, StateRead())
        return found.body, found.version

    def answer(self, request: Request) -> Reply:
        if request.method != "PUT":
            return super().answer(request)
        form = json.loads(request.raw)
        name = StateName(form["scope"]["kind"], form["scope"]["id"], form["agent"])
        is_new = request.key not in self._answers
        self.names[request.key] = name
        if is_new and (from_rfc3339(form["written_at"]) or 0) < self.erased_at.get(name, 0):
            return Reply(410, {}, b'{"code": "subject_erased"}')
        if is_new and "wrong" in form["body"] and form["mode"] != "cas":
            return Reply(422, {}, b'{"code": "invalid_field_value"}')
        before, _ = self.body(name)
        reply = super().answer(request)
        if is_new and reply.status == 200:
            self.stored.append((name, form["body"]["mark"]))
            if form["mode"] == "cas" and form["body"] != appended(before, form["body"]["mark"]):
                self.lost_updates.append(form["body"]["mark"])
        return reply


def appended(body: Body, mark: str) -> Body:
    """Give what an update makes of a body: all of it, with one mark more."""
    return {**body, "log": [*body.get("log", []), mark], "mark": mark}


@dataclass
class World:
    """One client, a line, and the server behind it."""

    line: Mode = "up"
    now: float = 1_000_000.0
    made: dict[StateName, list[str]] = field(default_factory=lambda: {name: [] for name in NAMES})
    refused: set[str] = field(default_factory=set)
    forgotten: dict[StateName, set[str]] = field(default_factory=lambda: {name: set() for name in NAMES})

    def __post_init__(self) -> None:
        keys = itertools.count()
        self.marks = itertools.count()
        self.shop = Shop(self)
        self.outbox = MemoryOutbox()
        chances = Chances(clock=lambda: self.now, random=lambda: 0.5, key=lambda: f"k{next(keys)}")
        tuning = Tuning(backoff=Backoff(first=0.1, longest=0.2), chances=chances)
        self.states = States(self.send, outbox=self.outbox, budgets=Budgets(), tuning=tuning)

    def mark(self) -> str:
        return f"m{next(self.marks)}"

    async def send(self, request: Request, *, deadline: float) -> Reply | None:
        if self.line == "cut":
            return None
        reply = self.shop.answer(request)
        return None if self.line == "deaf" else reply

    async def put(self, name: StateName, mode: Any, body: Body, if_version: int | None) -> None:
        mark = body["mark"]
        try:
            written = await self.states.write(
                name, mode, body, if_version=if_version, subject=None, deadline=FAR
            )
        except ServerRefusal:
            self.refused.add(mark)
            return
        if written.stored:
            self.made[name].append(mark)
            # What an update carries is as old as what it was computed over.
            if marks_of(body) & self.erased_marks(name):
                self.gone[name].add(mark)
        else:
            self.refused.add(mark)

    async def read(self, name: StateName) -> StateRead:
        read = await self.states.read(name, deadline=FAR)
        if not read.degraded and not read.pending:
            self.forgotten[name] |= self.erased_marks(name)
        # What an erasure that was heard of took is never seen again, but in a write that has not met it yet.
        assert not self.forgotten[name] & marks_of(read.body)
        if not read.degraded and not read.pending:
            assert (read.body, read.version) == self.shop.body(name)
        return read

    def erased_marks(self, name: StateName) -> set[str]:
        return self.gone.get(name, set())

    gone: dict[StateName, set[str]] = field(default_factory=dict)

    async def step(self, what: str, name: StateName) -> None:
        self.now += 0.001
        await getattr(self, f"do_{what}")(name)

    async def do_merge(self, name: StateName) -> None:
        mark = self.mark()
        await self.put(name, "merge_by_key", {f"f{mark}": mark, "mark": mark}, None)

    async def do_wrong(self, name: StateName) -> None:
        mark = self.mark()
        await self.put(name, "merge_by_key", {f"f{mark}": mark, "wrong": 1, "mark": mark}, None)

    async def do_update(self, name: StateName) -> None:
        read = await self.read(name)
        mark = self.mark()
        await self.put(name, "cas", appended(read.body, mark), read.version)

    async def do_update_while_something_happens(self, name: StateName) -> None:
        read = await self.read(name)
        mark = self.mark()
        self.line = "up"
        await self.deliver()
        await self.do_other(name)
        await self.put(name, "cas", appended(read.body, mark), read.version)

    async def do_other(self, name: StateName) -> None:
        body, version = self.shop.body(name)
        mark = f"other-{self.mark()}"
        write = make_write(
            name,
            "cas",
            body=appended(body, mark),
            if_version=version,
            subject=None,
            now=self.now,
            key=f"other-{mark}",
        )
        assert self.shop.answer(write.request).status == 200

    async def do_get(self, name: StateName) -> None:
        await self.read(name)

    async def do_erase(self, name: StateName) -> None:
        self.gone.setdefault(name, set()).update(self.made[name], marks_of(self.shop.body(name)[0]))
        self.shop.erase(name)

    async def do_wait(self, name: StateName) -> None:
        self.now += 5.0

    async def do_cut(self, name: StateName) -> None:
        self.line = "cut"

    async def do_deafen(self, name: StateName) -> None:
        self.line = "deaf"

    async def do_mend(self, name: StateName) -> None:
        self.line = "up"

    async def do_deliver(self, name: StateName) -> None:
        await self.deliver()

    async def deliver(self) -> None:
        self.outbox.hurry(now=self.now)
        for name in self.outbox.due(now=self.now):
            await self.states._deliver(name, deadline=FAR)

    async def settle(self) -> None:
        self.line = "up"
        self.now += 1.0
        await self.deliver()
        for name in NAMES:
            await self.read(name)


def marks_of(body: Body) -> set[str]:
    texts = [*body.get("log", []), *(value for name, value in body.items() if name.startswith("f"))]
    return set(texts)


STEPS = [
    "merge",
    "update",
    "update_while_something_happens",
    "other",
    "get",
    "wrong",
    "erase",
    "cut",
    "deafen",
    "wait",
    "mend",
    "deliver",
]


def steps_of(text: str) -> list[tuple[str, StateName]]:
    return [(what, NAMES[0]) for what in text.split()]


@settings(deadline=None, max_examples=300)
@example(steps_of("merge erase cut merge update"))
@example(steps_of("update_while_something_happens merge erase cut update"))
@example(steps_of("merge cut wrong update_while_something_happens"))
@example(steps_of("merge deafen merge mend get update_while_something_happens"))
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(NAMES)), max_size=25))
def test_nothing_is_lost_doubled_or_merged_in_silence(steps: list[tuple[str, StateName]]) -> None:
    """SD-3, SD-4, SD-5: every write is stored once, in order, or reported; no cas overwrites what it did not see."""
    world = asyncio.run(played(steps))
    stored = Counter(world.shop.stored)
    assert all(times == 1 for times in stored.values())
    assert world.shop.lost_updates == []
    for name in NAMES:
        arrived = [mark for where, mark in world.shop.stored if where == name]
        conflicts = world.outbox.conflicts(name)
        reported = [(each.body or {}).get("mark", "") for each in conflicts]
        of_mine = [mark for mark in arrived if mark in world.made[name]]
        # Nothing is missing but what was reported, and what was reported without a body was about something erased.
        missing = [mark for mark in world.made[name] if mark not in of_mine and mark not in reported]
        assert len(missing) <= reported.count("")
        assert set(missing) <= world.gone.get(name, set())
        assert not set(arrived) & world.refused
        assert of_mine == [mark for mark in world.made[name] if mark in of_mine]


async def played(steps: list[tuple[str, StateName]]) -> World:
    world = World()
    for what, name in steps:
        await world.step(what, name)
    await world.settle()
    assert world.outbox.count() == 0
    return world
