"""Conversations as they come about: turns, parallel calls, results in time, late, provisional or never; branches."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from conversations.branch import Branch
from conversations.writers import WRITERS, AnthropicWriter, GeminiWriter, Made, Writer
from lastro.history.formats import calls_of, is_instruction, not_executed
from lastro.history.records import Item, Message, Provider

NOW = 1_000.0
TEXTS = ("Yes.", "Pick a crate 📦", "盘点完成", "e\u0301te", "an image", "x" * 200, "\\u d83d \x00 tab\t")
NAMES = ("search", "read", "write")
PROVIDERS: tuple[Provider, ...] = tuple(WRITERS)


@dataclass
class Habits:
    """How often things happen that a window must cope with, each from 0 to 1."""

    late: float = 0.15
    never: float = 0.1
    provisional: float = 0.1
    not_executed: float = 0.05
    unanswered: float = 0.15
    expired: float = 0.0
    empty: float = 0.1
    repeated_ids: bool = False


@dataclass
class Conversation:
    """A branch and the leaf that is looked from."""

    branch: Branch
    leaf: str

    @property
    def path(self) -> list[Item]:
        return list(self.branch.path(self.leaf))[::-1]


class Author:
    """Writes one conversation, by a given chance."""

    def __init__(self, writer: Writer, chance: random.Random, habits: Habits) -> None:
        self.writer = writer
        self.chance = chance
        self.habits = habits
        self.branch = Branch(writer.provider)
        self.owed: list[tuple[Made, str]] = []
        self.number = 0

    def conversation(self, turns: int) -> Branch:
        for number in range(self.chance.randrange(3)):
            message = self.writer.instruction(f"Rule {number}.")
            if message:
                self.branch.add(message)
        for _ in range(turns):
            self.turn()
        return self.branch

    def turn(self) -> None:
        for _ in range(self.chance.choice([1, 1, 1, 2])):
            self.keep(self.writer.user(self.chance.choice(TEXTS)))
        if self.happens("unanswered"):
            return
        for _ in range(self.chance.choice([0, 0, 1, 2, 5])):
            self.round()
            self.pay(share=0.3)
        if not self.happens("unanswered"):
            self.respond(())
        if self.pay(share=0.5) and self.chance.random() < 0.5:
            self.round()

    def round(self) -> None:
        calls = [self.call(place) for place in range(self.chance.choice([1, 1, 2, 4]))]
        self.respond(calls)
        now: list[tuple[Made, str]] = []
        for call in calls:
            if self.happens("never"):
                continue
            if self.happens("not_executed"):
                self.refuse(call)
            elif self.happens("late"):
                self.owed.append((call, "late"))
            elif self.happens("provisional"):
                self.answer([(call, "accepted")], provisional=True)
                self.owed.append((call, "final"))
            else:
                now.append((call, self.chance.choice(TEXTS)))
        self.chance.shuffle(now)
        self.answer(now, extra=self.chance.choice(["", "", "and this"]))

    def refuse(self, call: Made) -> None:
        made = next(
            found
            for item in reversed(self.branch.items)
            for found in calls_of(self.writer.provider, item.message)
            if (found.id or found.name) in (call.id, call.name)
        )
        self.keep(not_executed(self.writer.provider, made), kind="not_executed")

    def respond(self, calls: Sequence[Made]) -> None:
        self.number += 1
        text = "" if self.happens("empty") else self.chance.choice(TEXTS)
        opaque = self.chance.choice(["", f"opaque-{self.number}"])
        for message in self.writer.response(text, calls, opaque=opaque, number=self.number):
            self.keep(message)

    def answer(self, results: Sequence[tuple[Made, str]], *, extra: str = "", **members: Any) -> None:
        if not results:
            return
        split = not self.writer.together or self.chance.random() < 0.4
        for part in [[result] for result in results] if split else [list(results)]:
            for message in self.writer.results(part, extra=extra):
                self.keep(message, **members)

    def pay(self, *, share: float) -> bool:
        """Bring some of the results that are owed; say whether any came."""
        paid = [owed for owed in self.owed if self.chance.random() < share]
        for owed in paid:
            self.owed.remove(owed)
            self.answer([owed])
        return bool(paid)

    def call(self, place: int) -> Made:
        name = f"call_{place}" if self.habits.repeated_ids else f"call_{self.number}_{place}"
        return Made(name, self.chance.choice(NAMES))

    def keep(self, message: Message, **members: Any) -> None:
        expired = self.chance.random() < self.habits.expired
        self.branch.add(
            message, expires_at=NOW - 1 if expired else self.chance.choice([None, NOW + 1]), **members
        )

    def happens(self, habit: str) -> bool:
        return self.chance.random() < float(getattr(self.habits, habit))


def writer_of(provider: Provider, chance: random.Random) -> Writer:
    return GeminiWriter(named=chance.random() < 0.5) if provider == "gemini.contents" else WRITERS[provider]


def made_up(provider: Provider, seed: int, *, turns: int, habits: Habits) -> Conversation:
    """Make the conversation of a seed."""
    chance = random.Random(seed)  # noqa: S311
    author = Author(writer_of(provider, chance), chance, habits)
    branch = author.conversation(turns)
    if _points(branch) and chance.random() < 0.3:
        fork(author, chance)
    elsewhere = _points(branch) and chance.random() < 0.2
    return Conversation(branch, chance.choice(_points(branch)) if elsewhere else branch.leaf)


def _points(branch: Branch) -> list[str]:
    """Give the items that a branch may follow: no instruction, and no reasoning without what came of it."""
    return [
        item.id
        for item in branch.items
        if not is_instruction(branch.provider, item.message) and item.message.get("type") != "reasoning"
    ]


def fork(author: Author, chance: random.Random) -> None:
    """Go on from an earlier item; what was owed there was never answered here."""
    author.owed = []
    at = chance.choice(_points(author.branch))
    author.branch.add(author.writer.user("Another way."), parent=at)
    author.turn()


def broken(conversation: Conversation, chance: random.Random) -> Conversation:
    """Lose, repeat and move messages, as another tool would; the result is one line."""
    messages = [item.message for item in conversation.path]
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(messages) + 1)
        if place < len(messages):
            change = chance.choice([_lose, _repeat, _move])
            change(messages, place, chance)
    return _line(conversation, messages)


def _lose(messages: list[Message], place: int, chance: random.Random) -> None:
    del messages[place]


def _repeat(messages: list[Message], place: int, chance: random.Random) -> None:
    messages.insert(chance.randrange(len(messages) + 1), messages[place])


def _move(messages: list[Message], place: int, chance: random.Random) -> None:
    messages.insert(chance.randrange(len(messages)), messages.pop(place))


def _line(conversation: Conversation, messages: Sequence[Message]) -> Conversation:
    branch = Branch.of(conversation.branch.provider, messages)
    return Conversation(branch, branch.leaf)


@st.composite
def conversations(
    draw: st.DrawFn, provider: Provider, *, most_turns: int = 6, expiring: bool = True
) -> Conversation:
    """Draw conversations that came about as they should, whatever was late, lost on the way or has expired."""
    expired = draw(st.sampled_from([0.0, 0.0, 0.05, 0.3])) if expiring else 0.0
    habits = Habits(expired=expired, repeated_ids=draw(st.booleans()))
    if draw(st.booleans()):
        habits = replace(habits, late=0.0, never=0.0, provisional=0.0, unanswered=0.0)
    seed, turns = draw(st.integers(0, 2**32)), draw(st.integers(0, most_turns))
    return made_up(provider, seed, turns=turns, habits=habits)


@st.composite
def broken_conversations(draw: st.DrawFn, provider: Provider) -> Conversation:
    """Draw conversations that another tool has broken."""
    whole = draw(conversations(provider))
    return broken(whole, random.Random(draw(st.integers(0, 2**32))))  # noqa: S311


__all__ = [
    "NOW",
    "PROVIDERS",
    "AnthropicWriter",
    "Conversation",
    "Habits",
    "broken_conversations",
    "conversations",
    "made_up",
]
