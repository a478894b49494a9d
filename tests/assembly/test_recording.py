"""Recording what happened: order, sameness, references, and what stands in the rows (CA-1 to CA-5, CA-13)."""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from assembly.models import Graph, GraphRecord, Link, Payload
from lastro.assembly.locators import canonical
from tests import factories
from tests.api import InProcess
from tests.assembly.graphs import BEGAN, EVENTS, GRAPH, PHONE, Json, Story, at
from tests.assembly.rows import graph_of, links_of, opened, results_of, rows_of, stored
from workspaces import access
from workspaces.types import WorkspaceRef


def everything(workspace: WorkspaceRef) -> list[list[Any]]:
    """Give all rows that recording makes, whole."""
    with access.bound(workspace.id):
        return [
            sorted(model.objects.values_list(), key=repr) for model in (Graph, GraphRecord, Link, Payload)
        ]


class TestOrder:
    def test_a_run_is_recorded_in_its_order(self, story: Story) -> None:
        """CA-3: each record answers its position, and the graph's own is that of the last."""
        answer = story.stored(*story.whole())
        assert [item["position"] for item in answer["records"]] == list(range(1, 9))
        assert {item["outcome"] for item in answer["records"]} == {"stored"}
        assert answer["positions"] == {story.chat: 8}
        assert story.stored(story.message("more"))["records"][0]["position"] == 9

    def test_several_conversations_in_one_batch(self, api: InProcess, story: Story) -> None:
        """CA-3: positions are each conversation's own."""
        other = Story(api)
        pairs = zip(story.whole(), other.whole(), strict=True)
        answer = story.stored(*(record for pair in pairs for record in pair))
        assert [item["position"] for item in answer["records"]] == [n for n in range(1, 9) for _ in "ab"]
        assert answer["positions"] == {story.chat: 8, other.chat: 8}

    def test_all_sources_share_the_graph(self, home: WorkspaceRef, story: Story) -> None:
        """CA-1: another source goes on where the first ended, and its same record is the same."""
        story.stored(*story.whole())
        other = InProcess(factories.make_key(home, "context", source="billing"))
        again = Story(other, story.chat).stored(story.message(), story.message("more"))
        assert [item["outcome"] for item in again["records"]] == ["unchanged", "stored"]


class TestSameness:
    def test_the_same_batch_again_changes_nothing(self, home: WorkspaceRef, story: Story) -> None:
        """CA-3: a record that is there with the same content is `unchanged`, and answers where it stands."""
        first = story.stored(*story.whole(PHONE))
        before = everything(home)
        again = story.stored(*story.whole(PHONE))
        assert {item["outcome"] for item in again["records"]} == {"unchanged"}
        same = [{**item, "outcome": "stored"} for item in again["records"]]
        assert (same, again["positions"]) == (first["records"], first["positions"])
        assert everything(home) == before

    def test_a_record_twice_in_one_batch(self, story: Story) -> None:
        """CA-3: the second says nothing new; with other content it is refused."""
        answer = story.stored(*story.opening(), story.call(), story.call())
        assert [item["outcome"] for item in answer["records"][-2:]] == ["stored", "unchanged"]
        assert answer["positions"] == {story.chat: 6}
        refused = story.send(story.call("other"), story.call("other", tool="mail.send"))
        assert (refused.status, refused.code) == (409, "record_conflict")

    @pytest.mark.parametrize(
        "change",
        [
            lambda story: story.message(text="Something else"),
            lambda story: story.artifact(result={"value": "another"}),
            lambda story: story.conversation(conversation="another"),
            lambda story: story.participant(kind="person"),
        ],
    )
    def test_other_content_is_refused_and_nothing_is_kept(
        self, home: WorkspaceRef, story: Story, change: Callable[[Story], Json]
    ) -> None:
        """CA-3: 409 `record_conflict` with the place, and nothing of the batch is kept, whichever part differs."""
        story.stored(*story.whole())
        before = everything(home)
        answer = story.send(story.message("new"), change(story))
        assert (answer.status, answer.code) == (409, "record_conflict")
        assert [found["pointer"] for found in answer.body["errors"]] == ["/records/1/id"]
        assert everything(home) == before

    def test_a_name_of_another_conversation(self, api: InProcess, home: WorkspaceRef, story: Story) -> None:
        """CA-1, CA-3: ids are unique in a workspace per type; another workspace has its own."""
        story.stored(*story.whole())
        other = Story(api)
        other.stored(*other.opening())
        taken = {**story.message(), "conversation": other.chat, "branch": other.id("main")}
        assert other.send(taken).code == "record_conflict"
        same_id_other_type = {**other.participant(), "id": story.id("hello")}
        assert other.send(same_id_other_type).status == 200

    def test_spellings_of_a_time_are_one_content(self, story: Story) -> None:
        """CA-3, CA-18: the same moment in another zone is the same record."""
        story.stored(*story.opening())
        moved = story.message(recorded_at=BEGAN.astimezone().isoformat())
        assert story.stored(moved)["records"][0]["outcome"] == "unchanged"


class TestReferences:
    @pytest.mark.parametrize(
        ("make", "pointer"),
        [
            (lambda story: story.message(branch="nowhere"), "/records/0/branch"),
            (lambda story: story.artifact(call="nobody"), "/records/0/call"),
            (lambda story: story.memory("m", "artifact", "nothing"), "/records/0/artifacts/0"),
            (lambda story: story.branch("b", parent="main", fork_message="m"), "/records/0/parent"),
            (lambda story: {**story.branch(), "conversation": "elsewhere"}, "/records/0/conversation"),
            (
                lambda story: story.event("promotion", "p", record_type="message", record="no"),
                "/records/0/record",
            ),
        ],
    )
    def test_a_reference_to_nothing(self, story: Story, make: Callable[[Story], Json], pointer: str) -> None:
        """CA-3: 422 `unknown_reference` with the place of the first."""
        story.stored(*story.opening())
        answer = story.send(make(story))
        assert (answer.status, answer.code) == (422, "unknown_reference"), answer.body
        assert [found["pointer"] for found in answer.body["errors"]] == [pointer]

    def test_what_comes_later_in_the_batch_is_not_there_yet(self, home: WorkspaceRef, story: Story) -> None:
        """CA-3: a record names what is stored or earlier; in its order the same batch is taken."""
        batch = story.whole()
        answer = story.send(*batch[:5], batch[6], batch[5])
        assert (answer.code, everything(home)) == ("unknown_reference", [[], [], [], []])
        story.stored(*batch)

    def test_another_conversation_leads_nowhere(self, api: InProcess, story: Story) -> None:
        """CA-3, CA-21: a record of another one answers as none, so that each is erased without the others."""
        story.stored(*story.whole())
        other = Story(api)
        other.stored(*other.opening(), other.call())
        answer = other.send(other.memory("m", artifacts=[story.id("artifact")]))
        assert answer.code == "unknown_reference"

    def test_links_say_who_names_whom(self, home: WorkspaceRef, story: Story) -> None:
        """CA-5: `supersedes` and the like stand once, and lead both ways; where a record stands makes no link."""
        story.stored(
            *story.whole(),
            story.memory("newer", supersedes=[story.id("memory")]),
            story.event("promotion", "shown", record_type="tool_memory", record=story.id("newer")),
        )
        assert links_of(home, story) == {
            ("artifact", "call", "call"),
            ("memory", "artifacts", "artifact"),
            ("newer", "artifacts", "artifact"),
            ("newer", "supersedes", "memory"),
            ("shown", "record", "newer"),
        }


class TestCycles:
    def test_a_cycle_over_batches(self, home: WorkspaceRef, story: Story) -> None:
        """CA-13: a memory does not replace itself by way of others, stored before or in the same batch."""
        story.stored(*story.whole(), story.memory("b", supersedes=[story.id("memory")]))
        story.stored(story.memory("c"), self.replaces(story, "c", "b"))
        before = everything(home)
        answer = story.send(story.message("x"), self.replaces(story, "memory", "c"))
        assert (answer.status, answer.code) == (422, "supersession_cycle")
        assert [found["pointer"] for found in answer.body["errors"]] == ["/records/1/supersedes"]
        assert everything(home) == before
        story.stored(self.replaces(story, "c", "memory"))

    def test_a_cycle_within_a_batch(self, story: Story) -> None:
        """CA-13: the new memory and the record that turns it around come together."""
        story.stored(*story.whole())
        newer = story.memory("b", supersedes=[story.id("memory")])
        assert story.send(newer, self.replaces(story, "memory", "b")).code == "supersession_cycle"
        assert story.send(self.replaces(story, "memory", "memory")).code == "supersession_cycle"
        story.stored(newer)

    def replaces(self, story: Story, new: str, old: str) -> Json:
        return story.event("supersession", f"{new}-{old}", memory=story.id(new), supersedes=story.id(old))


class TestRows:
    def test_a_result_stands_beside_its_record(self, home: WorkspaceRef, story: Story) -> None:
        """CA-4: the record says size and digest; the bytes stand in a row of their own, sealed."""
        answer = story.stored(*story.whole())
        raw = json.dumps(EVENTS, separators=(",", ":"), sort_keys=True).encode()
        row = rows_of(home, story)["artifact"]
        assert results_of(home, story) == {"artifact": raw}
        assert stored(home, row)["result"] == {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
        item = answer["records"][6]
        assert (item["payload"], item["arguments_payload_id"]) == ("stored", None)
        assert all(one["payload_id"] is None for one in answer["records"] if one["type"] != "tool_artifact")

    def test_what_a_put_will_bring_is_awaited(self, home: WorkspaceRef, story: Story) -> None:
        """CA-4: a payload by size and digest has an id, and no bytes yet."""
        digest = hashlib.sha256(b"some bytes").hexdigest()
        said = {"bytes": 10, "sha256": digest, "media_type": "text/csv"}
        item = story.stored(*story.opening(), story.call(), story.artifact(result=said))["records"][-1]
        assert (item["payload"], results_of(home, story)) == ("awaited", {})
        with access.bound(home.id):
            row = Payload.objects.get(id=item["payload_id"])
        assert (row.size_bytes, row.media_type, row.state) == (10, "text/csv", "awaited")

    def test_large_arguments_stand_beside_their_record(self, home: WorkspaceRef, story: Story) -> None:
        """CA-4: up to 64 KiB they stay in it."""
        fits, over = "x" * 65_536, "x" * 65_537
        calls = [story.call(name, arguments={"value": value}) for name, value in (("a", fits), ("b", over))]
        items = story.stored(*story.opening(), *calls)["records"][-2:]
        assert [item["arguments_payload_id"] is not None for item in items] == [False, True]
        assert [item["payload"] for item in items] == [None, None]
        rows = rows_of(home, story)
        assert stored(home, rows["a"])["arguments"] == {"value": fits}
        assert stored(home, rows["b"])["arguments"]["bytes"] == 65_537

    def test_sizes_are_measured_once(self, home: WorkspaceRef, story: Story) -> None:
        """CA-16: tokens and bytes of each form, and of the naive transcript, stand beside the record."""
        story.stored(*story.whole())
        rows = rows_of(home, story)
        asked, answered = '{"day":"tomorrow"}', results_of(home, story)["artifact"].decode()
        assert rows["artifact"].naive_bytes == len(f"calendar.list{asked}{answered}")
        assert rows["artifact"].naive_tokens > 20
        measures = opened(home, rows["artifact"]).measures
        assert {"raw", "hint"} <= measures.sizes.keys()
        assert (measures.result_bytes, rows["call"].naive_bytes) == (len(answered), 0)

    def test_large_arguments_are_measured_whenever_they_came(self, home: WorkspaceRef, story: Story) -> None:
        """CA-4, CA-16: a naive transcript has them, though they are kept apart from their call by then."""
        call = story.call(arguments={"value": {"q": "word " * 20_000}})
        said = hashlib.sha256(b"some bytes").hexdigest()
        apart = story.artifact("apart", result={"bytes": 10, "sha256": said})
        story.stored(*story.opening(), call, story.artifact())
        at_once = rows_of(home, story)["artifact"]
        records = story.stored(story.artifact("later"), apart)["records"]
        path = f"/v1/graph/artifacts/{records[-1]['payload_id']}/payload"
        assert story.api.put(path, b"some bytes").status == 200
        rows = rows_of(home, story)
        assert at_once.naive_bytes > 100_000
        assert rows["later"].naive_bytes == at_once.naive_bytes
        assert rows["later"].naive_tokens == at_once.naive_tokens
        assert rows["apart"].naive_bytes == at_once.naive_bytes - len(canonical(EVENTS)) + 10

    def test_a_later_batch_measures_with_what_is_stored(self, home: WorkspaceRef, story: Story) -> None:
        """CA-14, CA-16: the call that is answered and the result that is pointed into may be of earlier batches."""
        *early, artifact, memory = story.whole()
        digest = hashlib.sha256(b"Dentist").hexdigest()
        place = {"artifact": story.id("artifact"), "pointer": "/events/0/title", "digest": digest}
        for record in (*early, artifact, {**memory, "locators": [place]}):
            story.stored(record)
        rows = rows_of(home, story)
        assert rows["artifact"].naive_bytes > len('calendar.list{"day":"tomorrow"}')
        assert opened(home, rows["memory"]).measures.provenance.state == "intact"

    def test_a_memory_is_as_private_as_its_artifacts(self, home: WorkspaceRef, story: Story) -> None:
        """CA-5: its class is at least the strictest of theirs; what it said itself is kept as it was sent."""
        story.stored(*story.opening(), story.call(), story.artifact(privacy="oauth"))
        story.stored(story.artifact("b", privacy="public"), story.memory("m", "artifact", "b"))
        row = rows_of(home, story)["m"]
        assert (row.privacy, "privacy" in stored(home, row)) == ("oauth", False)

    def test_where_a_record_stands(self, home: WorkspaceRef, story: Story) -> None:
        """CA-2: at its message, stored before or in the batch; else at its own time; a branch at its fork message."""
        story.stored(*story.opening())
        fork = {"parent": story.id("main"), "fork_message": story.id("hello")}
        story.stored(
            story.branch("side", recorded_at=at(9), **fork),
            story.message("later", recorded_at=at(5)),
            story.call("at", recorded_at=at(7), message=story.id("later")),
            story.call("alone", recorded_at=at(8)),
        )
        rows = rows_of(home, story)
        placed = {
            name: (rows[name].placed_at, rows[name].placed_name.partition(".")[0])
            for name in ("side", "later", "at", "alone")
        }
        assert placed == {
            "side": (BEGAN, "hello"),
            "later": (BEGAN + timedelta(minutes=5), "later"),
            "at": (BEGAN + timedelta(minutes=5), "later"),
            "alone": (BEGAN + timedelta(minutes=8), ""),
        }

    def test_what_ends_by_its_class(self, home: WorkspaceRef, story: Story) -> None:
        """CA-21: artifacts by how they ended and who sees them, memories by freshness, from their own time on."""
        failed: Json = {"status": "failed", "error": {"code": "timeout"}}
        story.stored(
            *story.whole(),
            story.artifact("failed", **failed),
            story.artifact("hidden", **failed, visibility="audit"),
            story.memory("lasting", freshness="permanent"),
        )
        ends = {name: row.expires_at and row.expires_at - BEGAN for name, row in rows_of(home, story).items()}
        days = {"artifact": 30, "failed": 90, "hidden": 365, "memory": 7, "lasting": 365}
        assert {name: end for name, end in ends.items() if end} == {
            name: timedelta(days=count) for name, count in days.items()
        }

    def test_the_graph_lives_as_long_as_the_last_of_its_records(
        self, home: WorkspaceRef, story: Story
    ) -> None:
        """CA-21: each batch that brings something new renews it."""
        story.stored(*story.opening())
        graph = graph_of(home, story)
        assert graph.due_at - graph.touched_at == timedelta(days=365)
        story.stored(story.call())
        assert graph_of(home, story).touched_at > graph.touched_at


class TestCost:
    def test_queries_do_not_grow_with_the_records(self, api: InProcess) -> None:
        """CA-3: twenty times the records of each kind take as many queries, new or again."""
        counts = []
        for times in (1, 20):
            story = Story(api)
            story.stored(*story.opening(PHONE), story.call(), story.artifact())
            batch = [record for number in range(times) for record in self.round(story, number)]
            counts.append([self.count(story, batch) for _ in "ab"])
        assert counts[0] == counts[1]
        assert counts[0][0] <= 40

    def round(self, story: Story, number: int) -> list[Json]:
        """Give records of which some name stored ones, others those of the batch."""
        names = {name: f"{name}-{number}" for name in ("said", "call", "artifact", "memory", "end")}
        digest = hashlib.sha256(b"Dentist").hexdigest()
        place = {"artifact": story.id("artifact"), "pointer": "/events/0/title", "digest": digest}
        first = story.id(names["memory"])
        return [
            story.message(names["said"]),
            story.call(names["call"], message=story.id(names["said"])),
            story.artifact(names["artifact"], call=names["call"]),
            story.artifact(f"late-{number}"),
            story.memory(names["memory"], names["artifact"], "artifact", locators=[place]),
            story.memory(f"newer-{number}", supersedes=[first]),
            story.event("supersession", f"s-{number}", memory=story.id(f"newer-{number}"), supersedes=first),
            story.finished(names["end"], parent_call=story.id("call")),
        ]

    def count(self, story: Story, batch: list[Json]) -> int:
        with (
            CaptureQueriesContext(connections["default"]) as content,
            CaptureQueriesContext(connections["keys"]) as keys,
        ):
            story.stored(*batch)
        return len(content) + len(keys)


GOOD: Callable[[Story], list[Json]] = Story.opening
BAD_RECORDS: list[tuple[str, Callable[[Story], Any], str]] = [
    ("not an object", lambda _: "text", "/records/0"),
    ("no type", lambda _: {"id": "x"}, "/records/0/type"),
    ("what only the server writes", lambda _: {"type": "context_assembly", "id": "x"}, "/records/0/type"),
    ("an id with a space", lambda story: {**story.branch(), "id": "a b"}, "/records/0/id"),
    ("an id too long", lambda story: {**story.branch(), "id": "a" * 65}, "/records/0/id"),
    ("a member that is none", lambda story: {**story.branch(), "mArKeD": 1}, "/records/0/mArKeD"),
    (
        "a time without a zone",
        lambda story: story.branch(recorded_at="2026-11-30T12:00:00"),
        "/records/0/recorded_at",
    ),
    ("a NUL in a tool's name", lambda story: story.call(tool="a\0b"), "/records/0/tool"),
    (
        "a NUL in a media type",
        lambda story: story.artifact(result={"value": 1, "media_type": "a\0b"}),
        "/records/0/result/media_type",
    ),
    (
        "no such handle",
        lambda story: story.conversation({"type": "shoe", "value": "43"}),
        "/records/0/subject/0/type",
    ),
    (
        "a phone that is none",
        lambda story: story.participant(subject={"type": "phone_e164", "value": "mArKeD"}),
        "/records/0/subject/value",
    ),
    ("a success without a result", lambda story: {**story.artifact(), "result": None}, "/records/0/result"),
]


class TestBadInput:
    @pytest.mark.parametrize(("why", "make", "pointer"), BAD_RECORDS, ids=[row[0] for row in BAD_RECORDS])
    def test_a_record_that_is_none(
        self, story: Story, why: str, make: Callable[[Story], Any], pointer: str
    ) -> None:
        """CA-3, PL-8: 422 with the place, nothing of what was sent, and the good batch is taken."""
        answer = story.send(make(story))
        assert (answer.status, answer.code) == (422, "invalid_input"), answer.body
        assert pointer in [found["pointer"] for found in answer.body["errors"]]
        assert "mArKeD" not in json.dumps([found["detail"] for found in answer.body["errors"]])
        story.stored(*GOOD(story))

    @pytest.mark.parametrize("records", [[], None, {}, "x"])
    def test_no_list_of_records(self, story: Story, records: Any) -> None:
        """CA-3: 1 to 500 records."""
        answer = story.api.post(GRAPH, {"records": records})
        assert (answer.status, answer.code) == (422, "invalid_input")

    def test_too_many(self, home: WorkspaceRef, story: Story) -> None:
        """CA-3: 500 are taken and 501 are not; every problem is named, up to a bound."""
        story.stored(*story.opening())
        many = [story.message(f"m{number}") for number in range(501)]
        answer = story.send(*many)
        assert (answer.status, answer.code) == (422, "invalid_input")
        assert story.stored(*many[:500])["positions"] == {story.chat: 505}

    def test_deep_and_large_values_are_kept(self, home: WorkspaceRef, story: Story) -> None:
        """CA-4: what a tool answered is not ours to bound more than the body is."""
        deep: Any = 12345678901234567890123
        for _ in range(150):
            deep = [deep]
        story.stored(*story.opening(), story.call(), story.artifact(result={"value": deep}))
        assert json.loads(results_of(home, story)["artifact"]) == deep
