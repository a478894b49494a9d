"""What a state belongs to, as the caller holds it (SD-1)."""

from collections.abc import Callable
from typing import Generic, TypeVar

from lastro.errors import InvalidCall
from lastro.history.history import History
from lastro.history.sessions import Session
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
    """A conversation of the company: beside working memory it has a history."""

    def __init__(
        self,
        id: str,
        *,
        subject: Handle | str | None,
        agent: str | None,
        opens: Opens[S],
        histories: Callable[[], History],
    ) -> None:
        super().__init__("conversation", id, subject=subject, agent=agent, opens=opens)
        self._histories = histories

    @property
    def history(self) -> Session:
        """The messages of the agent in this conversation, one session for all of it (SD-1).

        It names the conversation and its subject, so that an erasure finds it (HI-22). Raises InvalidCall where no
        agent is named: two agents of one conversation share no messages (HI-1).
        """
        if self.agent is None:
            raise InvalidCall("name the agent whose history it is")
        return self._histories().session(
            run_id=self.id,
            invocation_id=self.kind,
            agent_ref=self.agent,
            conversation=self.id,
            subject=self.subject.text if self.subject else "",
        )


def handle_of(subject: Handle | str | None) -> Handle | None:
    """Give a handle, also from its text `type:value`."""
    return Handle.parse(subject) if isinstance(subject, str) else subject


def object_id(ref: str) -> str:
    """Check the name of an object, `type:namespace:id`."""
    if ref.count(":") < 2 or not all(ref.split(":", 2)):
        raise InvalidCall("an object is named type:namespace:id")
    return ref
