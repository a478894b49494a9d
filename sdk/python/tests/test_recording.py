"""Recording from an agent's code: what, in which order, through outages and refusals (SD-7, SD-10, SD-11)."""

import asyncio
import json
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loopback.graph import GraphServer, down, graph_server

from lastro import AsyncLastro, Backoff, Budgets, Lastro, Later, Tuning, tool
from lastro.assembly.errors import RecordsInvalid
from lastro.assembly.extractors.errors import retry_contract
from lastro.assembly.records import (
    ContinuationCheckpoint,
    Conversation,
    Failure,
    FileRef,
    Payload,
    Promotion,
    Reference,
    RetryContract,
    Skill,
    SkillState,
    ToolArtifact,
    ToolMemory,
    parse_record,
)
from lastro.errors import (
    ClientClosed,
    ContextTooSmall,
    InvalidCall,
    LastroError,
    NotAllowed,
    OutboxFull,
    OutOfReach,
    RecordTaken,
    ReferenceUnknown,
    ReplayEnded,
    UnexpectedAnswer,
)
from lastro.recording.queue import Queue
from lastro.recording.tools import json_of
from lastro.recording.units import units_of
from lastro.states.answers import Reply
from lastro.states.writes import Request

QUICK = Tuning(backoff=Backoff(first=0.02, longest=0.1))
CANARY = "canary-4711"


@pytest.fixture
def server() -> Iterator[GraphServer]:
    with graph_server() as found:
        yield found


def connected(url: str, **options: Any) -> Lastro:
    wanted: dict[str, Any] = {
        "trust_env": False,
        "tuning": QUICK,
        "budgets": Budgets(record=10.0, assemble=10.0, close=0.0),
        **options,
    }
    return Lastro("key", base_url=url, **wanted)


@pytest.fixture
def client(server: GraphServer) -> Iterator[Lastro]:
    with connected(server.url) as found:
        yield found


def records_of(server: GraphServer) -> list[dict[str, Any]]:
    """Give what the server was sent, in the order in which it came, each record once."""
    sent = [record for raw in server.bodies for record in json.loads(raw)["records"]]
    return list({(record["type"], record["id"]): record for record in sent}.values())


def refuses(
    status: int, code: str, *, of: str = "", pointer: str = "/records/0"
) -> Callable[..., Reply | None]:
    """Refuse what names `of`."""
    told = {"code": code, "status": status, "detail": CANARY, "errors": [{"pointer": pointer}]}

    def fault(request: Request) -> Reply | None:
        return Reply(status, {}, json.dumps(told).encode()) if of.encode() in request.raw else None

    return fault


@tool(version="2", privacy="public")
def free_rooms(day: str) -> dict[str, Any]:
    """Give an object that an extractor knows."""
    return {"id": "r-12", "status": "free", "day": day}


@tool(name="bank.pay", privacy="personal")
def pay() -> None:
    raise PermissionError("no such account")


def numbered() -> Callable[[], str]:
    """Give ids that a test can name."""
    numbers = count(1)
    return lambda: f"id-{next(numbers)}"


def test_a_turn(server: GraphServer, client: Lastro) -> None:
    """SD-10, CA-1, CA-2: with a `with` and a decorator, each record is there, in order, with its owner."""
    talk = client.graph.conversation("c-1", subject="email:ana@example.com", ids=numbered())
    asked = talk.person("ana").says("A room for Friday?")
    with talk.model("concierge").run(route="openai", model="gpt-5.1", answers=asked) as run:
        signed = {"thoughtSignature": "sig"}
        given = run.call(free_rooms, {"day": "Friday"}, id="call_1", in_round=1, provider_metadata=signed)
        assert given["status"] == "free"
        said = run.says("Room 12 is free.")
    assert client.graph.waiting == 0
    found = records_of(server)
    assert [(record["type"], record["id"]) for record in found] == [
        ("conversation", "c-1"),
        ("branch", "c-1.main"),
        ("participant", "c-1.ana"),
        ("message", asked.id),
        ("participant", "c-1.concierge"),
        ("model_run", run.id),
        ("tool_call", "call_1"),
        ("tool_artifact", "call_1.result"),
        ("tool_memory", "call_1.result.object"),
        ("message", said.id),
        ("run_finished", f"{run.id}.end"),
    ]
    by_type = {record["type"]: record for record in found}
    assert by_type["conversation"]["subject"] == [{"type": "email", "value": "ana@example.com"}]
    owner = {"participant": "c-1.concierge", "run": run.id, "branch": "c-1.main"}
    for kind in ("tool_call", "tool_artifact", "tool_memory", "message"):
        assert owner.items() <= by_type[kind].items()
    assert by_type["tool_artifact"]["tool_version"] == "2"
    assert by_type["tool_artifact"]["result"]["value"]["status"] == "free"
    assert by_type["tool_call"]["arguments"] == {"value": {"day": "Friday"}}
    assert (by_type["tool_call"]["round"], by_type["tool_call"]["provider_metadata"]) == (1, signed)
    assert by_type["message"]["answers"] == asked.id
    assert by_type["run_finished"]["status"] == "succeeded"


def test_the_same_turn_in_asyncio(server: GraphServer) -> None:
    """SD-10: the same shape, awaited; plain and async tools, and a child's run within its parent's."""

    @tool()
    async def weather(place: str) -> str:
        await asyncio.sleep(0)
        return f"sun in {place}"

    async def turn() -> tuple[Any, ...]:
        async with AsyncLastro("key", base_url=server.url, trust_env=False) as client:
            talk = client.graph.conversation("c-1")
            asked = await talk.person().says("Well?")
            async with talk.model("lead").run(route="openai", model="m", answers=asked) as run:
                found = (await run.call(weather, {"place": "Rio"}, id="w-1"), await weather("Ube"))
                plain = await run.call(free_rooms, {"day": "Friday"}, id="w-2")
                child = talk.model("helper").run(
                    route="openai", model="m", kind="subagent_child", parent=run, parent_call="w-2"
                )
                async with child as inner:
                    free_rooms("Monday")
                    inner.reports("Done.", files=[FileRef(id="f-1", name="plan.pdf")])
                await run.says("Sun.")
                context = await run.context(render="openai.chat")
            assert await client.flush(10)
            return found, plain, context

    found, plain, context = asyncio.run(turn())
    assert found == ("sun in Rio", "sun in Ube")
    assert plain["status"] == "free"
    assert "Sun." in [message["content"] for message in context.messages]
    records = {(one["type"], one["id"]): one for one in records_of(server)}
    artifacts = [one for (kind, _), one in records.items() if kind == "tool_artifact"]
    assert [one["result"]["value"] for one in artifacts[:2]] == ["sun in Rio", "sun in Ube"]
    ends = [one for (kind, _), one in records.items() if kind == "run_finished"]
    assert [(one["status"], one.get("report")) for one in ends] == [
        ("succeeded", "Done."),
        ("succeeded", None),
    ]
    assert (ends[0]["parent_call"], ends[0].get("visibility")) == ("w-2", None)
    assert ends[1]["visibility"] == "audit"


def test_a_tool_that_fails(server: GraphServer, client: Lastro) -> None:
    """SD-10, CA-4: an exception is a failed artifact, with its retry contract where there is one, and raised again."""

    def contract(_: BaseException) -> RetryContract | None:
        now = client._runtime.now()
        return retry_contract(tool="slow", status=503, headers={}, now=now, attempts_left=2)

    @tool(failure=lambda _: Failure(code="busy", retryable=True), retry=contract)
    def slow() -> None:
        raise ConnectionError

    def turn() -> None:
        with a_run(client):
            with pytest.raises(ConnectionError):
                slow()
            pay()

    with pytest.raises(PermissionError):
        turn()
    assert client.flush(10)
    by_type = [one for one in records_of(server) if one["type"] in ("tool_artifact", "run_finished")]
    assert [one["status"] for one in by_type] == ["failed", "failed", "failed"]
    first, second, end = by_type
    assert (first["error"]["code"], first["retry"]["attempts_left"]) == ("busy", 2)
    assert second["error"] == {"code": "PermissionError", "message": "no such account"}
    assert second["privacy"] == "personal"
    assert end["error"]["code"] == "PermissionError"


def a_run(client: Lastro, conversation: str = "c-1", **members: Any) -> Any:
    model = client.graph.conversation(conversation).model("lead")
    return model.run(**{"route": "openai", "model": "m", **members})


ENDS: list[tuple[BaseException, str]] = [
    (TimeoutError(), "timed_out"),
    (KeyboardInterrupt(), "cancelled"),
    (ValueError(), "failed"),
]


@pytest.mark.parametrize(("error", "status"), ENDS)
def test_how_a_run_ends(server: GraphServer, client: Lastro, error: BaseException, status: str) -> None:
    """SD-10: the end of a run says how it came, and what ended it is raised."""
    with pytest.raises(type(error)), a_run(client):
        raise error
    assert client.flush(10)
    assert records_of(server)[-1]["status"] == status


def test_what_is_not_there_yet(server: GraphServer, client: Lastro) -> None:
    """SD-10, CA-4, CA-12: a call that waits is pending or deferred; what answers it later is a record of its own."""
    pick = tool(name="pick")(lambda: Later("deferred", RetryContract(tool="pick", needs="a document")))
    with a_run(client) as run:
        assert isinstance(run.call(pick, {}, id="call_1"), Later)
        run.record(ContinuationCheckpoint, id="cp-1", waits_for=("call_1",), state={"step": 2})
        context = run.context(render="openai.chat")
        assert "open call_1 pick deferred" in str(context.messages)
        answer = {"call": "call_1", "tool": "pick", "status": "succeeded"}
        run.record(ToolArtifact, **answer, result=Payload(value="doc-7"))
    kept = [one for one in records_of(server) if one["type"] == "tool_artifact"]
    assert [one["status"] for one in kept] == ["deferred", "succeeded"]


def test_records_by_hand(server: GraphServer, client: Lastro) -> None:
    """SD-10, CA-3: any record of the graph, filled in from where it comes to be; sent again it is unchanged."""
    with a_run(client) as run:
        run.record(SkillState, skills=(Skill(name="tone"),))
        free_rooms("Friday")
        artifact = next(one for one in records_of(server) if one["type"] == "tool_artifact")
        memory = run.record(
            ToolMemory,
            id="mem-1",
            artifacts=(artifact["id"],),
            summary="Room 12",
            freshness="durable",
            observed_at=client._runtime.now(),
        )
        run.record(Promotion, record_type="tool_memory", record="mem-1", reason="asked for")
    again = client.graph.record(memory)
    assert [one.outcome for one in again.stored] == ["unchanged"]
    assert not again.pending
    assert not client.graph.refused


def test_another_process_opens_the_same_conversation(server: GraphServer, client: Lastro) -> None:
    """SD-10, CA-3: what is named is there once, whoever names it first and whenever; then the turn goes on."""
    with connected(server.url) as other:
        for each in (client, other):
            each.graph.conversation("c-1").person("ana").says("Hello.")
        assert other.flush(10)
        assert not other.graph.refused
    assert server.graph._graph.position == 5


def test_branches(server: GraphServer, client: Lastro) -> None:
    """SD-10, CA-2: a branch begins behind a message, has what came before, and can be gone on with by its name."""
    talk = client.graph.conversation("c-1")
    first = talk.person("ana").says("One.")
    talk.person("ana").says("Two.")
    talk.branch("other", at=first).person("ana").says("Three.")
    other = talk.on_branch("other")
    context = other.model("lead").context(route="openai", render="openai.chat")
    assert [message["content"] for message in context.messages] == ["One.", "Three."]
    assert context.branch_exclusions == 1


LARGE: list[tuple[Any, bytes, str]] = [
    ("x" * 70_000, b"x" * 70_000, "text/plain"),
    (
        {"rows": ["é" * 40_000]},
        json.dumps({"rows": ["é" * 40_000]}, ensure_ascii=False).replace(": ", ":").encode(),
        "application/json",
    ),
    (b"\x00\xff", b"\x00\xff", "application/octet-stream"),
]


@pytest.mark.parametrize(("value", "raw", "media_type"), LARGE, ids=["text", "json", "bytes"])
def test_a_large_result_goes_apart(
    server: GraphServer, client: Lastro, value: Any, raw: bytes, media_type: str
) -> None:
    """SD-10, CA-4: beyond 64 KiB, and where it is no JSON, a result is sent as bytes, before it is given back."""
    with a_run(client) as run:
        assert run.call(lambda: value, {}, id="call_1") == value
        (put,) = [request for request in server.seen if request.method == "PUT"]
        assert (put.raw, put.media_type) == (raw, media_type)
        assert server.graph._graph.read("call_1.result") == raw
    assert not client.graph.refused


def test_a_payload_given_by_hand(server: GraphServer, client: Lastro) -> None:
    """CA-4: the bytes of a record come beside it, and go apart whatever their size."""
    with a_run(client) as run:
        run.call(lambda: 1, {}, id="call_1")
        origin = run.origin
        artifact = origin.made(
            ToolArtifact,
            now=client._runtime.now(),
            call="call_1",
            tool="t",
            status="succeeded",
            result=Payload(),
        )
        client.graph.record(artifact, payloads={artifact.id: b"\x89PNG"})
    assert server.graph._graph.read(artifact.id) == b"\x89PNG"


@pytest.mark.parametrize(
    "members", [{"freshness": "volatile", "lives": timedelta(hours=1)}, {"extract": False}]
)
def test_what_a_tool_says_of_its_memories(server: GraphServer, client: Lastro, members: Any) -> None:
    """SD-10, CA-8: a tool may say how its results age, and that nothing is to be made of them."""
    with a_run(client) as run:
        run.tool(**members)(free_rooms.function)("Friday")
    memories = [one for one in records_of(server) if one["type"] == "tool_memory"]
    aged = [(one["freshness"], one["stale_after"] > one["observed_at"]) for one in memories]
    assert aged == ([("volatile", True)] if "freshness" in members else [])


def test_an_extractor_of_ones_own(server: GraphServer, client: Lastro) -> None:
    """SD-10: a tool may bring its own, which is asked alone."""
    from lastro.assembly.extractors.recorded import Kind, remembered

    kind = Kind(noun="room", freshness="durable")

    @tool(
        extract=lambda found: remembered(
            found, kind, "a room", locators=[found.pointing("/id")], about="a room"
        )
    )
    def room() -> dict[str, str]:
        return {"id": "r-1"}

    with a_run(client):
        room()
    (memory,) = [one for one in records_of(server) if one["type"] == "tool_memory"]
    assert (memory["summary"], len(memory["locators"])) == ("a room", 1)


def test_a_tool_outside_of_a_run(server: GraphServer) -> None:
    """SD-10: there it is the function that it was; in a thread of its own it is recorded where the run is named."""
    assert free_rooms("Friday")["status"] == "free"
    with connected(server.url) as client, a_run(client) as run:
        bound = run.tool(free_rooms.function)
        threads = [threading.Thread(target=each, args=("Friday",)) for each in (free_rooms, bound)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [one["type"] for one in records_of(server)].count("tool_call") == 1


def test_out_of_reach(server: GraphServer, client: Lastro) -> None:
    """SD-7, SD-10: the turn goes on within its budget, and later everything is there once, in its order."""
    server.fault = down
    talk = client.graph.conversation("c-1")
    asked = talk.person("ana").says("One.")
    with talk.model("lead").run(route="openai", model="m", answers=asked) as run:
        assert run.call(free_rooms, {"day": "Friday"}, id="call_1")["status"] == "free"
    assert client.graph.record(
        parse_record({"type": "conversation", "id": "c-1", "conversation": "c-1"})
    ).pending
    assert client.graph.waiting == 11
    assert not client.flush(0.05)
    with pytest.raises(OutOfReach):
        run.context()
    server.fault = None
    assert client.flush(10)
    kinds = [reference.type for reference in server.graph._positions]
    assert kinds[:4] == ["conversation", "branch", "participant", "message"]
    assert kinds[-3:] == ["tool_artifact", "tool_memory", "run_finished"]
    assert not client.graph.refused


def test_an_answer_that_was_lost(server: GraphServer, client: Lastro) -> None:
    """SD-7, CA-3: what was stored and not answered is sent again, and stays one; so does a payload."""
    lost: list[str] = []

    def fault(request: Request) -> Reply | None:
        if request.path in lost or request.path.startswith("/v1/context"):
            return None
        lost.append(request.path)
        server.graph.answer(request)
        return down(request)

    server.fault = fault
    with a_run(client) as run:
        run.call(lambda: "x" * 70_000, {}, id="call_1")
        assert client.flush(10)
    assert len(lost) == 2
    assert server.graph._graph.read("call_1.result") == b"x" * 70_000
    assert not client.graph.refused


def test_a_server_that_hangs(server: GraphServer) -> None:
    """SD-7: nobody waits longer than the budget, and only once: what is late is not waited for again."""
    release = threading.Event()

    def hang(_: Request) -> None:
        release.wait(30)

    server.fault = hang
    budgets = Budgets(record=0.1, assemble=0.1, attempt=20.0, close=0.0)
    with connected(server.url, budgets=budgets) as client:
        talk = client.graph.conversation("c-1")
        began = time.monotonic()
        for number in range(50):
            talk.person("ana").says(f"{number}")
        assert time.monotonic() - began < 50 * 0.1
        with pytest.raises(OutOfReach):
            talk.model("lead").context(route="openai")
        release.set()


def test_what_waits_is_bounded(server: GraphServer) -> None:
    """SD-7: a full queue refuses what is new and drops nothing; of a tool that ran the loss is told."""
    queue = Queue(max_records=3)
    units = list(units_of([conversation(f"c-{number}") for number in range(2)]))
    queue.add(units)
    with pytest.raises(OutboxFull) as caught:
        queue.add(units)
    assert (caught.value.bound, caught.value.needed, caught.value.allowed) == ("max_records", 4, 3)
    assert queue.count() == 2
    with pytest.raises(OutboxFull):
        Queue(max_bytes=10).add(units)


def test_a_full_queue_stops_a_tool_before_it_runs(server: GraphServer, client: Lastro) -> None:
    """SD-7: what cannot be recorded is not begun; what has happened is told in `refused`."""
    ran: list[int] = []
    with a_run(client) as run:
        server.fault = down
        client._runtime.records._max_records = client._runtime.records.count() + 1
        assert run.call(lambda: ran.append(1), {}, id="call_1") is None
        with pytest.raises(OutboxFull):
            run.call(lambda: ran.append(2), {}, id="call_2")
    assert ran == [1]
    codes = [(one.code, one.references[0]) for one in client.graph.refused]
    assert codes[0] == ("outbox_full", Reference("tool_artifact", "call_1.result"))
    client.graph.dismiss_refused()
    assert not client.graph.refused


def conversation(id: str, says: str | None = None) -> Conversation:
    return Conversation(id=id, conversation=says or id)


REFUSED: list[tuple[int, str, type[LastroError]]] = [
    (409, "record_conflict", RecordTaken),
    (422, "unknown_reference", ReferenceUnknown),
    (403, "scope_missing", NotAllowed),
]


@pytest.mark.parametrize(("status", "code", "kind"), REFUSED)
def test_refusals(
    server: GraphServer,
    client: Lastro,
    status: int,
    code: str,
    kind: type[LastroError],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """SD-11: a refusal has the server's code and request id, is raised where one waits, told where nobody does."""
    server.fault = refuses(status, code)
    with pytest.raises(kind) as caught:
        client.graph.record(conversation("c-1"))
    assert (caught.value.code, caught.value.request_id) == (code, "r-1")
    (refused,) = client.graph.refused
    assert (refused.code, refused.request_id, refused.pointers) == (code, "r-1", ("/records/0",))
    assert refused.references == (Reference("conversation", "c-1"),)
    assert f"records.refused code={code} records=1 request_id=r-1" in caplog.text
    assert client.graph.waiting == 0


def test_one_refusal_stops_no_other(server: GraphServer, client: Lastro) -> None:
    """SD-7: of what waited together only what the server refuses is lost, and other conversations go on."""
    server.fault = down
    client.graph.record(conversation("c-1"))
    talk = client.graph.conversation("c-1")
    for name in ("good", "bad", "better"):
        talk.person(name)
    client.graph.conversation("c-2")
    server.fault = refuses(422, "invalid_input", of="c-1.bad")
    assert client.flush(10)
    assert [one.references[0].id for one in client.graph.refused] == ["c-1.bad"]
    assert {"c-1.good", "c-1.better", "c-2"} <= {reference.id for reference in server.graph._positions}


def test_a_tool_whose_record_is_refused(server: GraphServer, client: Lastro) -> None:
    """SD-10, SD-11: refused before it runs, it does not run; refused when it ran, its result is given all the same."""
    ran: list[int] = []
    with a_run(client) as run:
        assert client.flush(10)
        server.fault = refuses(403, "scope_missing")
        with pytest.raises(NotAllowed):
            run.call(lambda: ran.append(1), {}, id="call_1")
        server.fault = refuses(422, "invalid_input", of="tool_artifact")
        assert run.call(lambda: ran.append(2), {}, id="call_2") is None
    assert ran == [2]
    assert [one.code for one in client.graph.refused] == ["scope_missing", "invalid_input"]


def test_something_else_answers(server: GraphServer, client: Lastro) -> None:
    """SD-11: what does not speak as the server does is raised where one waits for it."""
    server.fault = lambda _: Reply(403, {}, b"<html>")
    with pytest.raises(UnexpectedAnswer):
        client.graph.record(conversation("c-1"))
    server.fault = lambda _: Reply(200, {}, b'{"assembly_id": 7}')
    with pytest.raises(UnexpectedAnswer):
        client.context.assembly("a-1")
    server.fault = lambda _: Reply(200, {}, b'{"records": []}')
    with pytest.raises(UnexpectedAnswer):
        client.graph.record(conversation("c-2"))


def test_bad_records_never_leave(server: GraphServer, client: Lastro) -> None:
    """SD-11, CA-3: each problem with its pointer, before anything is sent."""
    with pytest.raises(RecordsInvalid) as caught:
        client.graph.record(conversation("c 1"), conversation("c-1", says=CANARY * 50))
    assert [problem.pointer for problem in caught.value.problems] == ["/0/id", "/1/conversation"]
    assert CANARY not in str(caught.value)
    with pytest.raises(InvalidCall):
        client.graph.record(*[conversation(f"c-{number}") for number in range(501)])
    with pytest.raises(InvalidCall):
        client.graph.record()
    with pytest.raises(InvalidCall):
        tool(freshness="volatile")(free_rooms.function)
    assert not server.seen


def test_contexts(client: Lastro) -> None:
    """SD-10, CA-9, CA-16, CA-17: typed items, ready messages, the record of it, and why."""
    with a_run(client) as run:
        run.call(free_rooms, {"day": "Friday"}, id="call_1", in_round=1)
        context = run.context(budget_tokens=5_000, render="anthropic.messages", trace=True)
        assert context.item(Reference("tool_artifact", "call_1.result")) is not None
        assert context.messages[0]["role"] == "user"
        assert context.pending == 0
        record = client.context.assembly(context.assembly_id)
        assert (record.digest, record.considered) == (context.digest, context.considered)
        assert [one.reference for one in record.selected] == [item.reference for item in context.items]
        assert {one.reference for one in record.trace} == {one.reference for one in context.trace}
        assert record.decisions[0].policy == context.policy == "default"
        why = client.context.why(context.assembly_id, Reference("tool_artifact", "call_1.result"))
        assert (why.outcome, why.form, why.is_reproduced) == ("included", "raw", True)
        again = client.context.assemble(
            "c-1", "c-1.main", "c-1.lead", route="openai", run=run.id, as_of=context.as_of
        )
        assert again.digest == context.digest
        with pytest.raises(RecordsInvalid) as caught:
            client.context.assemble("c-1", "c-1.main", "c-1.lead", route="", kind="parent_resume")
        assert caught.value.problems[0].pointer == "/route"
        run.call(Later, {}, id="call_2")
        with pytest.raises(ContextTooSmall) as small:
            run.context(budget_tokens=1)
        assert (small.value.unit, small.value.allowed, small.value.request_id) == ("tokens", 1, "r-1")
        assert small.value.needed > 1
        assert small.value.references


def test_a_context_knows_what_was_just_recorded(server: GraphServer, client: Lastro) -> None:
    """SD-10: what waits goes first; where it cannot, the context says how much it does not know."""
    server.fault = lambda request: down(request) if request.path == "/v1/graph" else None
    with a_run(client, "c-0") as run:
        assert run.context().pending == 4
    unknown = refuses(422, "unknown_reference", of="as_of")
    server.fault = lambda request: down(request) if request.path == "/v1/graph" else unknown(request)
    with pytest.raises(OutOfReach):
        run.context(as_of=client._runtime.now())
    server.fault = lambda request: down(request) if request.path == "/v1/graph" else None
    talk = client.graph.conversation("c-1")
    assert talk.model("lead").context(route="openai").pending == 3
    server.fault = None
    talk.person("ana").says("Hello.")
    assert client.flush(10)
    assert len(talk.model("lead").context(route="openai").items) == 1


def test_replay(server: GraphServer) -> None:
    """SD-6, SD-10: within a replay everything is recorded and assembled in this process, and forgotten with it."""
    with connected(server.url) as client:
        with client.replay():
            with a_run(client) as run:
                run.call(free_rooms, {"day": "Friday"}, id="call_1")
                context = run.context()
            assert context.considered == 2
            assert client.graph.waiting == 0
        for call in (run.context, lambda: run.says("x"), lambda: run.record(SkillState, skills=())):
            with pytest.raises(ReplayEnded):
                call()
    assert not server.seen
    for call in (lambda: client.graph.record(conversation("c-1")), lambda: client.context.assembly("a-1")):
        with pytest.raises(ClientClosed):
            call()


def test_what_is_lost_is_counted(server: GraphServer, caplog: pytest.LogCaptureFixture) -> None:
    """SD-7: a client that is closed while records wait says how many; closing waits for what can be sent."""
    with connected(server.url, budgets=Budgets(close=10.0)) as client:
        client.graph.conversation("c-1")
    assert len(server.graph._positions) == 2
    server.fault = down
    with connected(server.url) as client:
        client.graph.conversation("c-2")
    assert "records.lost records=2" in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork(server: GraphServer, client: Lastro) -> None:
    """SD-7: what waits is the parent's; a child records on connections of its own."""
    server.fault = down
    client.graph.conversation("c-1")
    server.fault = lambda request: None if b"c-2" in request.raw else down(request)
    child = os.fork()
    if child == 0:
        is_empty = client.graph.waiting == 0
        stored = client.graph.record(conversation("c-2")).stored
        os._exit(0 if is_empty and len(stored) == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.graph.waiting == 2


def test_nothing_shows_content(server: GraphServer, caplog: pytest.LogCaptureFixture) -> None:
    """SD-11: a canary is said, asked, answered, raised and refused; no error, log or representation has it."""
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []

    @tool()
    def leak(what: str) -> dict[str, str]:
        return {"id": what, "status": what}

    with connected(server.url) as client:
        talk = client.graph.conversation(f"c-1/{CANARY}", subject=f"email:{CANARY}@example.com")
        asked = talk.person(CANARY).says(CANARY)
        with talk.model(CANARY).run(route="openai", model=CANARY, answers=asked) as run:
            leak(CANARY)
            context = run.context(render="openai.chat")
            shown += map(
                repr, (client.graph, client.context, talk, asked, run, context, leak, *context.items)
            )
            server.fault = refuses(422, "invalid_input")
            for call in (
                lambda: run.says(CANARY),
                lambda: leak(CANARY),
                lambda: run.context(need_exact=(CANARY,)),
            ):
                with pytest.raises(LastroError) as caught:
                    call()
                shown += [repr(caught.value), "".join(traceback.format_exception_only(caught.value))]
            shown.append(repr(client.graph.refused))
            server.fault = None
    assert any(CANARY.encode() in raw for raw in server.bodies)
    assert CANARY not in "".join(shown)
    assert CANARY not in caplog.text


ANY: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(), max_size=3) | st.integers(), inner, max_size=3)
        | st.tuples(inner)
        | st.builds(set, st.lists(st.integers(), max_size=3))
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(ANY)
def test_any_result_can_be_recorded(value: Any) -> None:
    """SD-10: whatever a tool gives has a form in JSON that the graph takes: halves of characters, NaN, sets, bytes."""
    artifact = {
        "id": "a",
        "conversation": "c",
        "branch": "b",
        "recorded_at": "2026-03-02T09:00:00Z",
        "call": "x",
    }
    parse_record(
        {
            "type": "tool_artifact",
            **artifact,
            "tool": "t",
            "status": "succeeded",
            "result": {"value": json_of(value)},
        }
    )


def test_what_is_no_json() -> None:
    """SD-10: objects by their members where they have them, and else by the name of their type alone."""
    circle: list[Any] = []
    circle.append(circle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert json_of(circle) == {"type": "list"}
    assert json_of({"at": object(), "when": timedelta(1)}) == {
        "at": {"type": "object"},
        "when": {"type": "timedelta"},
    }
    assert json_of(Later("deferred")) == {"status": "deferred", "retry": None}
    assert json_of({"a": float("nan")}) == {"a": "NaN"}
    assert json_of(deep) == {"type": "list"}
