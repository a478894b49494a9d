"""Talking to the routes of history as an agent's code does."""

from typing import Any
from uuid import uuid4

from tests import factories
from tests.api import Answer, InProcess, OverHttp
from workspaces.types import WorkspaceRef

PROVIDER = "openai.chat"
PINS = {"provider": PROVIDER, "model": "gpt-4.1", "interface": "native", "content_mode": "inline"}


def session(**parts: str) -> dict[str, str]:
    """Give the identity of a session on the wire; without parts a new one."""
    return parts or {"session_id": f"s-{uuid4().hex}"}


def user(text: str = "Two of the large ones, please.") -> dict[str, Any]:
    """Give a message of a person."""
    return {"role": "user", "content": text}


def assistant(text: str = "Two large ones, noted.") -> dict[str, Any]:
    """Give a plain answer of a model."""
    return {"role": "assistant", "content": text}


def items(*messages: dict[str, Any], **members: Any) -> list[dict[str, Any]]:
    """Give messages as items, each with the same other members."""
    return [{"message": message, **members} for message in messages]


def turns(count: int, *, start: int = 0) -> list[dict[str, Any]]:
    """Give questions with their answers, each numbered."""
    return [
        message
        for number in range(start, start + count)
        for message in (user(f"question {number}"), assistant(f"answer {number}"))
    ]


class Talk:
    """One session, spoken to over a client of /v1."""

    def __init__(self, api: InProcess | OverHttp, **parts: str) -> None:
        self.api, self.session = api, session(**parts)

    def call(self, what: str, headers: dict[str, str] | None = None, **members: Any) -> Answer:
        """Call a route of history about this session."""
        return self.api.post(f"/v1/history/{what}", {"session": self.session, **members}, **(headers or {}))

    def begin(self, *, create: bool = True, **members: Any) -> Answer:
        """Reserve the session."""
        return self.call("begin", create=create, **members)

    def token(self, **members: Any) -> str:
        """Reserve the session; give the token."""
        answer = self.begin(**members)
        assert answer.status == 200, answer.body
        return str(answer.body["reservation"])

    def append(self, *messages: dict[str, Any], create: bool = True, **members: Any) -> Answer:
        """Add messages outside of any decision; the members are the items', or those of the whole request."""
        whole = {name: members.pop(name) for name in ("conversation_id", "subject") if name in members}
        return self.call("append", items=items(*messages, **members), create=create, **whole)

    def decide(self, *messages: dict[str, Any], **members: Any) -> Answer:
        """Take a whole decision that adds messages."""
        token = self.token(**{name: members.pop(name) for name in ("worker",) if name in members})
        return self.call("commit", reservation=token, items=items(*messages), pins=PINS, **members)

    def window(self, **members: Any) -> Answer:
        """Read the window."""
        return self.call("window", provider=PROVIDER, **members)

    def messages(self) -> list[dict[str, Any]]:
        """Read all that is kept of the messages."""
        answer = self.call("read")
        assert answer.status == 200, answer.body
        return [item["message"] for item in answer.body["items"]]


def ready_workspace(name: str = "Aurora") -> WorkspaceRef:
    """Make a workspace in which history is on."""
    workspace = factories.make_ready_workspace(name)
    factories.switch(workspace, "history", on=True)
    return workspace
