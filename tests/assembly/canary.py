"""The runtime graph with a word in every kind of content, on every way that succeeds or is refused (CA-20, SD-11)."""

from collections.abc import Callable
from typing import Any

from django.db import connection

from tests.api import Answer
from tests.assembly.graphs import GRAPH, Json, Story
from workspaces import access
from workspaces.types import WorkspaceRef

Call = Callable[..., Answer]


class _Api:
    """Gives a story the calls of a drive."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self._call("POST", path, body, **headers)


def play(call: Call, word: str, phone: str) -> None:
    """Record the word in every member that is content, and be refused with it in every way."""
    story = Story(_Api(call))  # type: ignore[arg-type]
    person = {"type": "phone_e164", "value": f"+55 11 {phone}"}
    story.stored(*_told(story, word, person))
    story.stored(
        story.participant("late", name=word, subject={"type": "email", "value": f"{word}@example.com"})
    )
    _be_refused(story, word)


def damage(call: Call, workspace: WorkspaceRef, word: str) -> None:
    """Let the server fail at a damaged row with the word in its hands."""
    story = Story(_Api(call))  # type: ignore[arg-type]
    story.stored(*story.opening(), story.call(arguments={"value": word}))
    with access.bound(workspace.id), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE assembly_graphrecord SET body = set_byte(body, 20, 255 - get_byte(body, 20)) WHERE name = %s",
            [story.id("call")],
        )
    answer = story.send(story.artifact(result={"value": word}))
    assert (answer.status, answer.code) == (500, "stored_data_damaged")


def _told(story: Story, word: str, person: Json) -> list[Json]:
    failed = {"code": word, "message": word}
    contract = {"tool": word, "idempotency_key": word, "arguments": word, "needs": word}
    return [
        story.conversation(person, conversation=word),
        story.branch(),
        story.participant(name=word),
        story.message(text=word, parts=[{"text": word}, {"kind": "file", "url": word, "name": word}]),
        story.run(route=word, model=word, provider_metadata={word: word}),
        story.call(arguments={"value": {word: word}}, provider_metadata=word),
        story.artifact(result={"value": {word: word}}, skills=[word], provider_metadata=[word]),
        story.artifact("failed", status="failed", result=None, error=failed, retry=contract),
        story.memory(
            summary=word,
            about=word,
            data={word: word},
            tools=[word],
            confidence={"value": 0.5, "source": word, "reason": word},
            ambiguities=[word],
            limits=[word],
            revalidate_with=[word],
        ),
        story.owned("skill_state", "skills", skills=[{"name": word, "tools": [word]}], plan=[word]),
        story.owned("checkpoint", "paused", state={word: word}),
        story.event("promotion", "shown", record_type="message", record=story.id("hello"), reason=word),
        story.finished(report=word, files=[{"id": word, "name": word}], status="failed", error=failed),
    ]


def _be_refused(story: Story, word: str) -> None:
    wrong: list[tuple[Any, str]] = [
        (story.message(text=word + word), "record_conflict"),
        (story.memory("m", word[:20]), "unknown_reference"),
        (story.message("x", role=word), "invalid_input"),
        (story.message("x", branch=f"{word} {word}"), "invalid_input"),
        (story.participant("x", subject={"type": "email", "value": word}), "invalid_input"),
        ({"type": word}, "invalid_input"),
        (word, "invalid_input"),
    ]
    for record, code in wrong:
        answer = story.send(record)
        assert answer.code == code, answer.body
    assert story.api.post(GRAPH, {"records": word}).code == "invalid_input"
