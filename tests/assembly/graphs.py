"""Recording what happens in a conversation, as an agent's code does."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from tests import factories
from tests.api import Answer, InProcess, OverHttp
from workspaces.types import WorkspaceRef

GRAPH = "/v1/graph"
ASSEMBLE = "/v1/context/assemble"
ASSEMBLIES = "/v1/context/assemblies"
BEGAN = factories.LATELY
PHONE = {"type": "phone_e164", "value": "+55 11 91234-5678"}
EVENTS = {"events": [{"at": "09:00", "title": "Dentist"}, {"at": "15:30", "title": "Review"}]}

Json = dict[str, Any]


def at(minutes: float = 0) -> str:
    """Give a time on the wire, so many minutes after the conversation began."""
    return (BEGAN + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


class Story:
    """One conversation, `chat`, on the branch `main` between a person and the model `planner`, which runs as `run`.

    Each call gives a record on the wire; `send` records. Ids are made unique by the conversation's own.
    """

    def __init__(self, api: InProcess | OverHttp, name: str = "") -> None:
        self.api = api
        self.chat = name or f"chat-{uuid4().hex[:12]}"

    def id(self, name: str) -> str:
        """Give the id under which this conversation knows something."""
        return f"{name}.{self.chat}"

    def send(self, *records: Json, **headers: str) -> Answer:
        """Record these, whatever the answer is."""
        return self.api.post(GRAPH, {"records": list(records)}, **headers)

    def stored(self, *records: Json) -> Json:
        """Record these; give the answer."""
        answer = self.send(*records)
        assert answer.status == 200, answer.body
        found: Json = answer.body
        return found

    def asking(self, **members: Any) -> Json:
        """Give a request for a context of the planner, who answers the question."""
        base = {
            "conversation": self.chat,
            "branch": self.id("main"),
            "participant": self.id("planner"),
            "route": "openai",
            "answers": self.id("hello"),
            "as_of": at(30),
        }
        return {**base, **members}

    def assembled(self, **members: Any) -> Json:
        """Ask for a context; give the answer."""
        answer = self.api.post(ASSEMBLE, self.asking(**members))
        assert answer.status == 200, answer.body
        return dict(answer.body)

    def conversation(self, *subject: Json, **members: Any) -> Json:
        """Give the conversation itself, about whom is named."""
        base = {"type": "conversation", "id": self.chat, "conversation": f"company-{self.chat}"}
        return {**base, "subject": list(subject), **members}

    def branch(self, name: str = "main", /, **members: Any) -> Json:
        """Give a branch."""
        return self._placed("branch", name, **members)

    def participant(self, name: str = "planner", /, **members: Any) -> Json:
        """Give a participant."""
        return self._placed("participant", name, **{"name": name, **members})

    def run(self, name: str = "run", /, **members: Any) -> Json:
        """Give a run of the planner."""
        return self.owned(
            "model_run", name, **{"run": None, "route": "openai", "model": "gpt-4.1", **members}
        )

    def message(self, name: str = "hello", text: str = "What is on tomorrow?", **members: Any) -> Json:
        """Give a message of the person, final and seen on the branch."""
        said = {"role": "user", "parts": [{"text": text}], "run": None, "participant": None}
        return self.owned("message", name, **{**said, **members})

    def call(self, name: str = "call", /, **members: Any) -> Json:
        """Give a call of the calendar."""
        asked = {"tool": "calendar.list", "arguments": {"value": {"day": "tomorrow"}}}
        return self.owned("tool_call", name, **{**asked, **members})

    def artifact(self, name: str = "artifact", /, call: str = "call", **members: Any) -> Json:
        """Give what the calendar answered."""
        base = {"call": self.id(call), "tool": "calendar.list", "status": "succeeded"}
        result = {"result": {"value": EVENTS}} if members.get("status", "succeeded") == "succeeded" else {}
        return self.owned("tool_artifact", name, **{**base, **result, **members})

    def memory(self, name: str = "memory", /, *artifacts: str, **members: Any) -> Json:
        """Give what is remembered of artifacts."""
        base = {
            "artifacts": [self.id(artifact) for artifact in artifacts or ("artifact",)],
            "summary": "Two events tomorrow.",
            "freshness": "session",
            "observed_at": at(),
        }
        return self.owned("tool_memory", name, **{**base, **members})

    def event(self, type: str, name: str, /, **members: Any) -> Json:
        """Give a record of what changed later: `promotion`, `resolution`, `message_finalized` and the like."""
        return self._placed(type, name, **members)

    def finished(self, name: str = "finished", /, **members: Any) -> Json:
        """Give the end of a run."""
        return self.owned("run_finished", name, **{"status": "succeeded", **members})

    def opening(self, *subject: Json) -> list[Json]:
        """Give what stands first in every conversation: itself, its branch, its planner, a question and a run."""
        return [
            self.conversation(*subject),
            self.branch(),
            self.participant(),
            self.message(),
            self.run(),
        ]

    def whole(self, *subject: Json) -> list[Json]:
        """Give a typical run: a question, a call with its result, and what is remembered of it."""
        return [*self.opening(*subject), self.call(), self.artifact(), self.memory()]

    def owned(self, type: str, name: str, /, **members: Any) -> Json:
        """Give a record of any type that the planner owns, in its run on its branch."""
        owner = {
            name: self.id(id) for name, id in (("branch", "main"), ("participant", "planner"), ("run", "run"))
        }
        return self._placed(type, name, **{**owner, **members})

    def _placed(self, type: str, name: str, /, **members: Any) -> Json:
        base = {"type": type, "id": self.id(name), "conversation": self.chat, "recorded_at": at()}
        return _without_none({**base, **members})


def _without_none(record: Json) -> Json:
    return {name: value for name, value in record.items() if value is not None}


def ready_workspace(name: str = "Aurora") -> WorkspaceRef:
    """Make a workspace in which context assembly is on."""
    workspace = factories.make_ready_workspace(name)
    factories.switch(workspace, "context", on=True)
    return workspace
