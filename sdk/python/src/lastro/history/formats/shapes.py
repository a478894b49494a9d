"""What a format tells of a message: who speaks, which calls and results it holds and where, and what breaks a rule."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, cast

from lastro.history.records import Message, Provider

Role = Literal["instruction", "input", "response", "results"]
"""`input`: what a user says, which opens a turn; `results`: a message that brings results, whatever else it says."""

NOT_EXECUTED = (
    "Not executed. The runtime recorded this in place of a result; the call had no effect that it knows of."
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call at a place inside its message. `id` is "" where a provider gives none; `approval` answers it as well.

    A provider that has several kinds of calls names the kind; a result is one of the same kind.
    """

    place: int
    id: str
    name: str = ""
    approval: str = ""
    kind: str = ""

    @property
    def label(self) -> str:
        """Name the call in an account: its id, else its function."""
        return self.id or self.name


@dataclass(frozen=True, slots=True)
class Result:
    """A result at a place inside its message; matched by id, or by name where it has no id."""

    place: int
    id: str
    name: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A message as its format reads it. `mixed`: it says more than its results."""

    role: Role
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    mixed: bool = False


@dataclass(frozen=True, slots=True)
class Flaw:
    """A rule that a stored message breaks, by its id in the table of invariants."""

    rule: str
    calls: tuple[str, ...] = ()


class Format:
    """How one provider writes a conversation. The defaults are those of one call or result a message."""

    provider: Provider
    orphan_rule: str
    start_rule: str = "X5"
    """The rule that is broken where no user ever spoke."""
    starts_with_input: bool = False
    """The window must start with what a user says."""
    joins_results: bool = False
    """All results of a response stand in one message."""
    runs: bool = False
    """A response may be several messages in a row."""
    unique_ids: bool = False
    """Ids of calls are unique in a request."""

    def read(self, message: Message) -> Reading:
        """Tell who speaks, and which calls and results are in it."""
        raise NotImplementedError

    def filled(self, message: Message) -> Message | None:
        """Leave out what is empty: the same message where nothing is, None where nothing else is."""
        return message

    def mended(self, message: Message, *, words: Set[str]) -> tuple[Message | None, tuple[Flaw, ...]]:
        """Leave out what breaks a rule inside one message, and tell the rules."""
        return message, ()

    def mended_run(
        self, messages: Sequence[Message], *, words: Set[str]
    ) -> tuple[tuple[Message | None, tuple[Flaw, ...]], ...]:
        """Do as `mended` for the messages of one response, each in the sight of its neighbours."""
        return tuple(self.mended(message, words=words) for message in messages)

    def only(self, message: Message, places: Set[int]) -> Message:
        """Keep of a message only the results at these places."""
        return message

    def without(self, message: Message, places: Set[int]) -> Message | None:
        """Leave the results at these places out; None where nothing else is said."""
        return None

    def joined(self, messages: Sequence[Message]) -> Message:
        """Make one message of several that bring results of one response, or of one speaker; results first."""
        raise NotImplementedError

    def joins(self, first: Message, second: Message) -> bool:
        """Say whether two messages in a row are of one speaker and can be one."""
        return False

    def renamed(self, message: Message, ids: Mapping[int, str]) -> Message:
        """Give the calls or results at these places other ids."""
        return message

    def continues(self, first: Message, second: Message) -> bool:
        """Say whether a response directly behind another one goes on with what the provider paused in it."""
        return False

    def finished(self, message: Message) -> tuple[Message | None, tuple[Flaw, ...]]:
        """Leave out of a response what the provider began to run and, as a user spoke behind it, never ended."""
        return message, ()

    def item_id(self, message: Message) -> str:
        """Give the id under which a server knows a message itself, "" where it has none."""
        return ""

    def leads(self, message: Message) -> bool:
        """Say whether a message is the reasoning of the one behind it, which is sent with it or without its id."""
        return False

    def anonymous(self, message: Message) -> Message:
        """Take that id from a message, where nothing else is found by it."""
        return message

    def must_join(self, first: Message, second: Message) -> bool:
        """Say whether two messages in a row are refused as two, and taken as one."""
        return False

    def not_executed(self, call: Call) -> Message:
        """Write the result of a call that was not executed, marked as such."""
        raise NotImplementedError

    def summary(self, text: str) -> Message:
        """Write a text as something that a user said."""
        raise NotImplementedError


def text(value: object) -> str:
    """Give a value that is a text, else ""."""
    return value if isinstance(value, str) else ""


def object_of(value: object) -> Message:
    """Give a value that is a JSON object, else an empty one."""
    return cast(Message, value) if isinstance(value, dict) else {}


def array_of(value: object) -> Sequence[Any]:
    """Give a value that is a JSON array, else an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def objects(value: object) -> Iterator[tuple[int, Message]]:
    """Give the JSON objects of an array with their places."""
    for place, element in enumerate(array_of(value)):
        if isinstance(element, dict):
            yield place, cast(Message, element)


def picked(message: Message, name: str, keep: Callable[[int], bool]) -> Message:
    """Keep the elements of an array of a message by their places."""
    return {
        **message,
        name: [value for place, value in enumerate(array_of(message.get(name))) if keep(place)],
    }


def replaced(message: Message, name: str, changes: Mapping[int, Message]) -> Message:
    """Put other elements at places of an array of a message."""
    return {
        **message,
        name: [changes.get(place, value) for place, value in enumerate(array_of(message.get(name)))],
    }
