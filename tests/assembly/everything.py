"""A conversation with a word in every member of every type of record, in payloads and in blobs (CA-21, PR-10)."""

from dataclasses import fields
from typing import Any
from uuid import UUID

from assembly.rules.payloads import INLINE_BYTES
from lastro.assembly.records.parsing import RECORD_TYPES
from tests.api import InProcess
from tests.assembly.artifacts import path_of, said
from tests.assembly.graphs import Json, Story, at

DIGEST = "0" * 64
UNSAID = {
    "Promotion.participants": "it names whom it shows, and that is no word",
    "Resolution.artifact": "it names a call or an artifact",
    "ModelRun.run": "it is a run",
}


def large(word: str) -> bytes:
    """Give what is stored as a blob."""
    return f"{word} ".encode() * (INLINE_BYTES // len(word) + 1)


def told(api: InProcess, word: str, *subject: Json) -> Story:
    """Record a conversation that says the word wherever a record can, and send its large payload."""
    story = Story(api, f"talk-{word}")
    records = (
        _opening(story, word, subject) + _run(story, word) + _memories(story, word) + _later(story, word)
    )
    _require_everything(records)
    answer = story.stored(*records)
    for row in answer["records"]:
        if row.get("payload") == "awaited":
            sent = api.put(path_of(UUID(row["payload_id"])), large(word), **{"Content-Type": "text/plain"})
            assert sent.status == 200, sent.body
    return story


def _opening(story: Story, word: str, subject: tuple[Json, ...]) -> list[Json]:
    part = {"kind": "file", "media_type": word, "url": word, "name": word}
    whole = {**_owner(story), "answers": story.id("first"), "participant": story.id("planner")}
    whole.pop("parent_call")
    first = story.message("first", word)
    return [
        story.conversation(*subject, recorded_at=at()),
        story.branch(),
        story.participant(subject=subject[0], kind="person"),
        first,
        story.branch("twig", parent=story.id("main"), fork_message=story.id("first")),
        story.run(
            route=word, model=word, kind="chat", provider_metadata={word: [word]}, batch=story.id("batch")
        ),
        story.run("child", parent_run=story.id("run")),
        {**story.message("second", word, final=False), **whole, "parts": [part, {"text": word}]},
    ]


def _run(story: Story, word: str) -> list[Json]:
    value: Any = {word: [word, {word: word}]}
    retry = {
        "tool": word,
        "not_before": at(),
        "attempts_left": 1,
        "idempotency_key": word,
        "arguments": value,
        "needs": word,
    }
    told = {
        "tool": word,
        "tool_version": word,
        "arguments": {"value": value},
        "skills": [word],
        "provider_metadata": value,
        "context": "operational",
    }
    broken = {"status": "failed", "error": {"code": word, "message": word, "retryable": True}, "retry": retry}
    asked = {"tool": word, "arguments": {"value": value}, "round": 1, "provider_metadata": value}
    large_arguments = {"arguments": {"value": [word] * (INLINE_BYTES // len(word))}}
    calls = [story.call(name, **asked) for name in ("call", "large-call", "broken-call")]
    return [
        *calls,
        story.call("long-call", **{**asked, **large_arguments}),
        story.artifact(result={"value": value, "media_type": word}, **told, **_owner(story)),
        story.artifact("large", "large-call", result=said(large(word), word), **told),
        story.artifact("broken", "broken-call", **broken, **told),
    ]


def _memories(story: Story, word: str) -> list[Json]:
    locator = {"artifact": story.id("artifact"), "digest": DIGEST}
    said_of_it = {
        "tools": [word],
        "summary": word,
        "about": word,
        "data": {word: word},
        "confidence": {"value": 0.5, "source": word, "reason": word},
        "ambiguities": [word],
        "limits": [word],
        "stale_after": at(60),
        "revalidate_with": [word],
        "locators": [
            {**locator, "pointer": f"/{word}"},
            {**locator, "lines": [1, 1]},
            {**locator, "bytes": [0, 2]},
        ],
        "repair_attempts": 1,
        "context": "epistemic",
    }
    of_large = {**said_of_it, "locators": []}
    links = {name: [story.id("memory")] for name in ("supersedes", "conflicts_with", "depends_on")}
    return [story.memory(**said_of_it), story.memory("newer", "large", **of_large, **links)]


def _later(story: Story, word: str) -> list[Json]:
    both = {"memories": [story.id("memory"), story.id("newer")], "reason": word}
    skill = {"name": word, "version": word, "profile": word, "tools": [word]}
    file = {"id": word, "name": word, "media_type": word, "bytes": 1}
    waits = {
        "state": {word: word},
        "waits_for": [story.id("call")],
        "memories": [story.id("memory")],
        "messages": [story.id("first")],
    }
    shown = {"record_type": "tool_memory", "record": story.id("memory"), "visibility": "branch"}
    return [
        _own(story, "skill_state", "skills", skills=[skill], plan=[word]),
        _own(story, "checkpoint", "saved", **waits),
        story.event("promotion", "shown", reason=word, **shown),
        story.event("message_finalized", "final", message=story.id("second")),
        story.event(
            "supersession",
            "replaced",
            memory=story.id("newer"),
            supersedes=story.id("memory"),
            reason=word,
        ),
        story.event("conflict", "disagree", **both),
        story.event("settlement", "decided", kept=story.id("newer"), **both),
        story.event("resolution", "done", call=story.id("broken-call"), outcome="abandoned", reason=word),
        story.finished(
            "end",
            status="failed",
            report=word,
            files=[file],
            error={"code": word},
            retry={"tool": word},
            **_owner(story),
        ),
    ]


def _owner(story: Story) -> Json:
    """Give what says whose a record is, as far as its maker here does not."""
    return {
        "parent_run": story.id("run"),
        "run": story.id("child"),
        "parent_call": story.id("call"),
        "batch": story.id("batch"),
        "message": story.id("first"),
        "shared_with": [story.id("planner")],
        "isolation": "run",
        "visibility": "branch",
        "privacy": "internal",
    }


def _own(story: Story, type: str, name: str, **members: Any) -> Json:
    placed = story.event(type, name, **members)
    return {**placed, "branch": story.id("main"), "run": story.id("run"), "participant": story.id("planner")}


def _require_everything(records: list[Json]) -> None:
    """Say which member of which type no record says, so that a new one is not forgotten here."""
    owned = {
        "parent_run",
        "parent_call",
        "batch",
        "message",
        "shared_with",
        "isolation",
        "visibility",
        "privacy",
    }
    for wire, kind in RECORD_TYPES.items():
        said = set().union(*(record for record in records if record["type"] == wire))
        members = {field.name for field in fields(kind)} - owned
        missing = {name for name in members - said if f"{kind.__name__}.{name}" not in UNSAID}
        assert not missing, (wire, missing)
