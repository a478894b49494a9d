"""A conversation from which contexts were assembled, with everything in it that an inspector can meet (CA-15)."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.utils import timezone

from lastro.assembly.locators import canonical, digest_of
from tests import factories
from tests.api import InProcess
from tests.assembly.graphs import BEGAN, Json, Story, at
from workspaces.types import WorkspaceRef

ASSEMBLE = "/v1/context/assemble"
CONVERSATION = "ticket-4711"
POLICY: Json = {
    "name": "support",
    "candidates": 80,
    "lineage_depth": 64,
    "raw_bytes": 96_000,
    "repair_attempts": 2,
    "recent_messages": 3,
    "stale": {"volatile": "omit", "bounded": "marker"},
    "routes": {
        "openai": {
            "public": "raw",
            "internal": "raw",
            "personal": "memory",
            "oauth": "hint",
            "secret": "never",
        },
        "*": {
            "public": "raw",
            "internal": "memory",
            "personal": "hint",
            "oauth": "never",
            "secret": "never",
        },
    },
    "lower_privacy": [],
    "conflicts": "show_both",
    "trace_sample": 0,
}


class Assembled(msgspec.Struct, frozen=True):
    """The assemblies of one conversation: one with a full trace, and a later one by another policy without."""

    traced: UUID
    plain: UUID
    story: Story

    def id(self, name: str) -> str:
        """Give the id of one of its records."""
        return self.story.id(name)


def keep_assemblies(
    workspace: WorkspaceRef, subject: Mapping[str, str], *, word: str, name: str = CONVERSATION
) -> Assembled:
    """Record a conversation with somebody, every content of which holds the word, and assemble two contexts of it."""
    factories.switch(workspace, "context", on=True)
    default = {**POLICY, "name": "default", "recent_messages": 12}
    factories.publish(workspace, "assembly-policy", {"policies": [default, POLICY]})
    api = InProcess(factories.make_key(workspace, "context", source="chat backend", name="of context"))
    story = Story(api, name)
    since = timezone.now() - timedelta(hours=1) - BEGAN
    story.stored(*(_later(record, since) for record in conversation(story, dict(subject), word)))
    traced = assemble(story, policy={"name": "support"}, trace="full", budget_tokens=2_000)
    plain = assemble(story, route="elsewhere", kind="scheduled")
    return Assembled(traced, plain, story)


def assemble(story: Story, **members: Any) -> UUID:
    """Ask for a context of the planner; give the id of the assembly."""
    asked = {
        "conversation": story.chat,
        "branch": story.id("main"),
        "participant": story.id("planner"),
        "route": "openai",
    }
    answer = story.api.post(ASSEMBLE, {**asked, **members})
    assert answer.status == 200, answer.body
    return UUID(answer.body["assembly_id"])


def conversation(story: Story, subject: Json, word: str) -> list[Json]:
    """Give the records of a conversation with one candidate for most outcomes."""
    return [
        *_opening(story, subject, word),
        *_evidence(story, word),
        *_memories(story, word),
        *_open_ends(story, word),
    ]


def _later(record: Json, by: timedelta) -> Json:
    """Move a record's times: what is volatile would have expired a day after the story began (CA-21)."""
    moved: Json = {
        name: (datetime.fromisoformat(record[name]) + by).isoformat()
        for name in ("recorded_at", "observed_at", "stale_after")
        if name in record
    }
    return {**record, **moved}


def _opening(story: Story, subject: Json, word: str) -> list[Json]:
    said = [
        story.message(f"said-{number}", f"{word} {number} " * 12, recorded_at=at(number))
        for number in range(1, 6)
    ]
    return [
        {**story.conversation(subject), "conversation": f"company {word}"},
        story.branch(),
        {**story.participant(), "name": word},
        {**story.participant("reviewer"), "name": word},
        *said,
        story.branch("side", parent=story.id("main"), fork_message=story.id("said-2")),
        story.message("said-aside", word, branch=story.id("side"), recorded_at=at(3)),
        story.run(provider_metadata={"trace": word}),
    ]


def _evidence(story: Story, word: str) -> list[Json]:
    return [
        story.call(arguments={"value": {"day": word}}, recorded_at=at(6)),
        story.artifact(result={"value": _result(word)}, recorded_at=at(7)),
        story.call("export", tool="files.export", arguments={"value": {"path": word}}, recorded_at=at(8)),
        story.artifact(
            "lines",
            "export",
            tool="files.export",
            result={"value": f"a\n{word}\nb\n" * 300},
            recorded_at=at(9),
        ),
    ]


def _memories(story: Story, word: str) -> list[Json]:
    place = {"artifact": story.id("artifact"), "pointer": f"/{word}/0", "digest": _digest(word)}
    lines = {"artifact": story.id("lines"), "lines": [1, 3], "digest": digest_of(f"a\n{word}\nb".encode())}
    old = {"freshness": "bounded", "observed_at": at(), "stale_after": at(1)}
    return [
        story.memory(
            "free-slots", summary=word, about=word, data={word: word}, limits=[word], locators=[place]
        ),
        story.memory("report", "lines", summary=f"{word} " * 20, locators=[lines], tools=["files.export"]),
        story.memory("first-draft", "lines", summary=word),
        story.event("supersession", "newer", memory=story.id("report"), supersedes=story.id("first-draft")),
        story.memory("balance", summary=word, about=word, revalidate_with=["crm.read"], **old),
        story.memory("unread", summary=word, **{**old, "freshness": "volatile"}),
        story.memory("mailbox", summary=word, about=word, privacy="oauth"),
        story.memory("token", summary=word, privacy="secret"),
        story.memory("others", summary=word, participant=story.id("reviewer")),
        story.memory("yes", summary=word, recorded_at=at(11)),
        story.memory("no", summary=word, conflicts_with=[story.id("yes")], recorded_at=at(11)),
    ]


def _open_ends(story: Story, word: str) -> list[Json]:
    error = {"code": "timeout", "message": word, "retryable": True}
    return [
        story.call("pick", tool="files.pick", arguments={"value": {"folder": word}}, recorded_at=at(12)),
        story.artifact("picking", "pick", tool="files.pick", status="deferred", recorded_at=at(13)),
        story.call("sent", tool="mail.send", arguments={"value": {"to": word}}, recorded_at=at(14)),
        story.artifact("failing", "sent", tool="mail.send", status="failed", error=error, recorded_at=at(15)),
    ]


def _result(word: str) -> Json:
    return {word: [{"title": word}, {"title": f"{word} again"}]}


def _digest(word: str) -> str:
    return digest_of(canonical({"title": word}))
