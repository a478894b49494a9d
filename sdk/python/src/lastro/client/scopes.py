"""What a state belongs to, as the caller holds it (SD-1)."""

from collections.abc import Callable
from typing import Generic, TypeVar

from lastro.errors import InvalidCall
from lastro.states.types import Handle, ScopeKind, StateName

S = TypeVar("S")
MAX_ID = 512
MAX_AGENT = 256
Opens = Callable[[StateName, Handle | None], S]


class Scope(Generic[S]):
    """A conversation, a task, an object or a person; `.state` is the working memory of an agent about it (WM-4)."""

    def __init__(
        self, kind: ScopeKind, id: str, *, subject: Handle | str | None, agent: str | None, opens: Opens[S]
    ) -> None:
        if not 1 <= len(id) <= MAX_ID:
            raise InvalidCall(f"the id of a scope has 1 to {MAX_ID} characters")
        if agent is not None and not 1 <= len(agent) <= MAX_AGENT:
            raise InvalidCall(f"the name of an agent has 1 to {MAX_AGENT} characters")
        self.kind: ScopeKind = kind
        self.id = id
        self.subject = handle_of(subject)
        self.agent = agent
        self._state = None if agent is None else opens(StateName(kind, id, agent), self.subject)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.kind} agent={self.agent}>"

    @property
    def state(self) -> S:
        """The working memory of the agent in this scope. Raises InvalidCall where no agent is named."""
        if self._state is None:
            raise InvalidCall("name the agent whose state it is")
        return self._state


class Conversation(Scope[S]):
    """A conversation of the company. What else it has than working memory is added to this class."""


def handle_of(subject: Handle | str | None) -> Handle | None:
    """Give a handle, also from its text `type:value`."""
    return Handle.parse(subject) if isinstance(subject, str) else subject


def object_id(ref: str) -> str:
    """Check the name of an object, `type:namespace:id`."""
    if ref.count(":") < 2 or not all(ref.split(":", 2)):
        raise InvalidCall("an object is named type:namespace:id")
    return ref
