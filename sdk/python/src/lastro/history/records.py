"""What history keeps: a session's identity, its items, and its head (HI-1, HI-3). Pure values, no I/O, no clock."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Self, TypeVar

from lastro.history.errors import DecisionHistoryIdentityMissing

T = TypeVar("T")

Message = dict[str, Any]
"""One message as its provider writes it: a JSON object. It is kept and served byte for byte (X3)."""

Provider = Literal["openai.chat", "openai.responses", "anthropic.messages", "gemini.contents", "aisdk.model"]
Interface = Literal["structured", "native"]
ContentMode = Literal["inline", "opaque_refs"]
Kind = Literal["message", "observation", "not_executed", "opaque", "removal"]
"""`observation`: a result that the runtime reported; `not_executed`: its record that a call was not executed, served as
that call's result and marked as such; `opaque`: another framework's record; `removal`: that one is gone (HI-25)."""


MAX_NAME = 200
"""Characters of an id, a dedupe key or a label."""


def is_name(name: object) -> bool:
    """Say whether it is text that can be stored anywhere: no lone surrogate, no NUL, at most 200 characters."""
    if not isinstance(name, str) or len(name) > MAX_NAME or "\0" in name:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in name)


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Whose messages: a namespace, and either one session id or run, invocation and agent (HI-1, HI-2).

    Raises DecisionHistoryIdentityMissing; a missing part is never filled in. A part is at most 200 characters.
    """

    namespace: str
    session_id: str = ""
    run_id: str = ""
    invocation_id: str = ""
    agent_ref: str = ""

    def __post_init__(self) -> None:
        run = (self.run_id, self.invocation_id, self.agent_ref)
        whole = all(run) if not self.session_id else not any(run)
        if not self.namespace or not whole:
            raise DecisionHistoryIdentityMissing(
                "name a namespace, and either session_id or run_id, invocation_id and agent_ref"
            )
        if not all(is_name(part) for part in (self.namespace, self.session_id, *run)):
            raise DecisionHistoryIdentityMissing(f"a name is text of at most {MAX_NAME} characters")

    @property
    def digest(self) -> str:
        """Give the SHA-256 (64 hexadecimal digits) that stores keep instead of the ids' own text."""
        parts = [self.namespace, self.session_id, self.run_id, self.invocation_id, self.agent_ref]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Pins:
    """What the first decision fixes for a session; another value later is DecisionHistoryMismatch (HI-1)."""

    provider: Provider
    model: str
    interface: Interface = "native"
    content_mode: ContentMode = "inline"


@dataclass(frozen=True, slots=True)
class NewItem:
    """A message to append. Times are seconds since 1970.

    `id` names it in its session (made by the store where absent); `parent` is the item that it follows (the leaf where
    absent, so that appends in a row make one line). `key` is the caller's: a second append with it stores nothing.
    `provisional` marks a result that is not the final one yet. `expires_at` is an earlier end of its own (HI-23).
    """

    message: Message = field(repr=False)
    kind: Kind = "message"
    id: str = ""
    parent: str = ""
    key: str = ""
    provisional: bool = False
    recorded_at: float | None = None
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A stored message: its place in the order of storing (from 1), and where it hangs in the tree ("" for a root)."""

    position: int
    id: str
    parent: str
    message: Message = field(repr=False)
    kind: Kind = "message"
    key: str = ""
    provisional: bool = False
    recorded_at: float = 0.0
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A host's text for the exchanges that left: how many, their digest, the last of them (HI-18, HI-19)."""

    text: str = field(repr=False)
    covers: int
    digest: str
    through: str
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class Reservation:
    """A running decision: since when (seconds since 1970), by which worker label, under which token (HI-5)."""

    token: str = field(repr=False)
    since: float
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """What a store knows of a session without reading a message."""

    pins: Pins | None = None
    leaf: str = ""
    count: int = 0
    bytes: int = 0
    summary: Summary | None = None
    conversation: str = ""
    subject: str = field(default="", repr=False)
    created_at: float = 0.0
    touched_at: float = 0.0

    def with_(self, **changes: Any) -> Self:
        """Give a head with other values in the named members."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A detached copy of a whole session (HI-6)."""

    key: SessionKey
    head: Head
    items: tuple[Item, ...]
    reservation: Reservation | None = None


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What an operation gives its store: the result for the caller, what is appended, and the new head (HI-3).

    `head` None keeps the head; count, bytes, leaf and times are the store's to bring up to date.
    """

    result: T = field(repr=False)
    append: tuple[NewItem, ...] = field(default=())
    head: Head | None = None
