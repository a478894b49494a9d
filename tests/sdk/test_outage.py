"""An outage, as an agent's code lives through it: behind a line that is cut (SD-3 to SD-5, SD-7)."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lastro import AsyncLastro, Budgets, FileOutbox, Lastro, Tuning
from lastro.errors import FeatureOff, OutboxFull, SubjectErased
from lastro.outbox import MemoryOutbox
from tests import factories
from tests.api import OverHttp
from tests.sdk.conftest import PATIENT, QUICK, Connect, Line
from tests.server import Server
from workspaces.types import WorkspaceRef


def numbers_of(connect: Connect, *conversations: str) -> list[int]:
    """Give the version of each state as another client sees it."""
    client = connect()
    return [client.conversation(name).state.get().version for name in conversations]


def test_an_outage(connect: Connect, line: Line) -> None:
    """SD-3, SD-4: reads serve the copy, writes wait and show in it, and arrive once, in order, at their versions."""
    client = connect(line.url)
    state = client.conversation("o-1").state
    state.put({"step": "cart"})
    line.cut.touch()
    merge = state.put({"qty": 1})
    assert (merge.stored, merge.version, merge.pending) == (True, 2, True)
    late = state.put({"step": "done", "qty": 2}, mode="cas", if_version=merge.version)
    assert (late.version, late.pending) == (3, True)
    state.update(lambda body: {**body, "qty": body["qty"] + 1})
    read = state.get()
    assert (read.body, read.version, read.degraded, read.pending) == ({"step": "done", "qty": 3}, 4, True, 3)
    assert not client.flush(0.1)
    line.mend()
    assert client.flush(20)
    assert state.conflicts == ()
    read = state.get()
    assert (read.body, read.version, read.degraded, read.pending) == ({"step": "done", "qty": 3}, 4, False, 0)
    assert numbers_of(connect, "o-1") == [4]


def test_late_conflicts(connect: Connect, line: Line, caplog: pytest.LogCaptureFixture) -> None:
    """SD-5: a late cas that meets a newer version is reported, never merged, and what was computed over it neither."""
    client, other = connect(line.url), connect()
    state = client.conversation("o-2").state
    state.put({"step": "cart"})
    line.cut.touch()
    state.put({"remark": "canary"}, mode="cas", if_version=1)
    state.put({"remark": "canary too"}, mode="cas", if_version=2)
    state.put({"qty": 5})
    other.conversation("o-2").state.put({"qty": 9})
    line.mend()
    assert client.flush(20)
    first, second = state.conflicts
    assert (first.code, first.mode, first.if_version, first.body) == (
        "agent_state_conflict",
        "cas",
        1,
        {"remark": "canary"},
    )
    assert first.request_id is not None
    assert (second.code, second.if_version) == ("agent_state_conflict", 2)
    read = state.get()
    assert (read.body, read.version, read.degraded) == ({"step": "cart", "qty": 5}, 3, False)
    assert "write.refused code=agent_state_conflict" in caplog.text
    assert "canary" not in caplog.text + repr(state.conflicts)
    state.dismiss_conflicts()
    assert state.conflicts == ()


def test_a_lost_answer_is_stored_once(connect: Connect, line: Line) -> None:
    """SD-4, WM-15: an answer is lost; sent again under its key, the write is no conflict and no second write."""
    client = connect(line.url)
    state = client.conversation("o-3").state
    state.put({"qty": 1}, mode="cas")
    line.deaf.touch()
    unheard = state.put({"qty": 2}, mode="cas", if_version=1)
    assert (unheard.pending, unheard.version) == (True, 2)
    line.mend()
    assert client.flush(20)
    assert state.conflicts == ()
    assert (state.get().body, state.get().version) == ({"qty": 2}, 2)
    assert numbers_of(connect, "o-3") == [2]


def test_a_lost_removal_takes_nothing_newer(connect: Connect, line: Line) -> None:
    """SD-4, PL-10: a removal whose answer was lost is sent again, and leaves what was written since."""
    client = connect(line.url)
    state = client.conversation("o-15").state
    state.put({"qty": 1})
    line.deaf.touch()
    assert state.clear().pending
    assert (state.get().body, state.get().version) == ({}, 0)
    connect().conversation("o-15").state.put({"qty": 2})
    line.mend()
    assert client.flush(20)
    assert state.get().body == {"qty": 2}


def test_late_writes_without_a_right(connect: Connect, line: Line, shop: WorkspaceRef) -> None:
    """SD-5, SD-7: switched off meanwhile, late writes are reported with their bodies, and calls raise."""
    client = connect(line.url)
    state = client.conversation("o-16").state
    state.put({"qty": 1})
    line.cut.touch()
    state.put({"qty": 2})
    factories.switch(shop, "agent_state", on=False)
    line.mend()
    assert client.flush(20)
    (conflict,) = state.conflicts
    assert (conflict.code, conflict.body) == ("feature_off", {"qty": 2})
    for call in (state.get, lambda: state.put({"qty": 3})):
        with pytest.raises(FeatureOff):
            call()


def test_one_refused_state_blocks_no_other(connect: Connect, line: Line) -> None:
    """SD-4, SD-5: what the server will never take is reported, and everything else arrives."""
    client = connect(line.url)
    states = [client.conversation(f"o-4{letter}").state for letter in "abc"]
    line.cut.touch()
    states[0].put({"qty": "canary"})
    for state in states:
        state.put({"step": "cart"})
    states[1].put({"wish": 1})
    line.mend()
    assert client.flush(20)
    assert [[conflict.code for conflict in state.conflicts] for state in states] == [
        ["invalid_field_value"],
        ["not_declared_field"],
        [],
    ]
    assert numbers_of(connect, "o-4a", "o-4b", "o-4c") == [1, 1, 1]


def test_the_outbox_is_bounded(connect: Connect, line: Line) -> None:
    """SD-4: a full outbox refuses the new write with the bound, and loses none that it has."""
    client = connect(line.url, outbox=MemoryOutbox(max_writes=2))
    state = client.conversation("o-5").state
    line.cut.touch()
    state.put({"qty": 1})
    state.put({"qty": 2})
    with pytest.raises(OutboxFull) as caught:
        state.put({"qty": 3})
    assert (caught.value.bound, caught.value.needed, caught.value.allowed) == ("max_writes", 3, 2)
    line.mend()
    assert client.flush(20)
    assert (state.get().body, state.get().version) == ({"qty": 2}, 2)


def test_an_erasure_drops_the_copy(connect: Connect, shop: WorkspaceRef) -> None:
    """SD-3, WM-9, PR-11: a client that holds a copy takes the server's word once its state is erased."""
    client = connect()
    state = client.conversation("o-6").state
    state.put({"step": "cart", "remark": "x"})
    before = state.get()
    assert before.version == 1
    forget(connect, "o-6")
    read = state.get()
    assert (read.body, read.version, read.epoch, read.degraded) == ({}, 0, "none", False)
    again = state.put({"qty": 1})
    assert again.epoch != before.epoch
    assert again.version == 2
    assert state.get().body == {"qty": 1}


def test_an_erased_copy_is_not_served_out_of_reach(connect: Connect, line: Line) -> None:
    """SD-3: after the read that told of the erasure no outage brings the copy back."""
    client = connect(line.url)
    state = client.conversation("o-7").state
    state.put({"remark": "x"})
    forget(connect, "o-7")
    assert state.get().version == 0
    line.cut.touch()
    read = state.get()
    assert (read.body, read.version, read.degraded) == ({}, 0, True)


def test_an_erasure_during_an_outage_wins(connect: Connect, line: Line) -> None:
    """SD-5, PR-12: writes from before the erasure are refused with 410 and reported without body; the copy is gone."""
    client = connect(line.url)
    state = client.conversation("o-8").state
    state.put({"step": "cart", "remark": "x"})
    line.cut.touch()
    state.put({"remark": "y"})
    state.put({"remark": "z"}, mode="cas", if_version=2)
    forget(connect, "o-8")
    line.mend()
    assert client.flush(20)
    first, second = state.conflicts
    assert (first.code, first.body) == ("subject_erased", None)
    assert (second.code, second.body) == ("subject_erased", None)
    read = state.get()
    assert (read.body, read.version, read.degraded) == ({}, 0, False)
    line.cut.touch()
    assert state.get().body == {}


def test_a_clock_that_is_ahead(connect: Connect, line: Line) -> None:
    """SD-4, PR-12: `written_at` is by the server's clock once that is known, so a wrong one brings nothing back."""
    ahead = QUICK.chances.__class__(clock=lambda: time.time() + 3_600)
    client = connect(line.url, tuning=Tuning(backoff=QUICK.backoff, chances=ahead))
    state = client.conversation("o-17").state
    state.put({"qty": 1})
    line.cut.touch()
    state.put({"qty": 2})
    # A moment of the clock's resolution, so that the write is from before.
    time.sleep(2)
    forget(connect, "o-17")
    line.mend()
    assert client.flush(20)
    assert [conflict.code for conflict in state.conflicts] == ["subject_erased"]
    assert state.get().version == 0


def test_a_write_from_before_an_erasure_is_raised(connect: Connect) -> None:
    """SD-11, PR-12: sent at once, it is an error."""
    early = time.time() - 60
    chances = QUICK.chances.__class__(clock=lambda: early)
    client = connect(tuning=Tuning(backoff=QUICK.backoff, chances=chances))
    state = client.conversation("o-9").state
    connect().conversation("o-9").state.put({"qty": 1})
    forget(connect, "o-9")
    with pytest.raises(SubjectErased) as caught:
        state.put({"qty": 2})
    assert (caught.value.code, caught.value.status) == ("subject_erased", 410)


def forget(connect: Connect, conversation: str) -> None:
    """Erase a conversation, as its back office would."""
    office: Any = connect
    api: OverHttp = office.office
    answer = api.post("/v1/forget", {"target": "conversation", "conversation_id": conversation})
    assert answer.status == 202


@pytest.fixture(autouse=True)
def _office(connect: Any, shop: WorkspaceRef, server: Server) -> None:
    key = factories.make_key(shop, "admin", source="back office")
    connect.office = OverHttp(server.url, key)


WRITER = """
import json, sys
from lastro import Backoff, Lastro, Tuning
plan = json.load(sys.stdin)
tuning = Tuning(backoff=Backoff(first=0.02, longest=0.2))
options = {"agent": "order-taker", "outbox": plan["file"], "trust_env": False, "tuning": tuning}
client = Lastro(plan["key"], base_url=plan["url"], **options)
for number in range(plan["writes"]):
    for name in plan["conversations"]:
        client.conversation(name).state.put({"cart": [name, number], "qty": number})
print(json.dumps({"waiting": client._runtime.outbox.count()}), flush=True)
sys.stdin.close()
import time
time.sleep(plan["sleeps"])
"""


def start(plan: dict[str, Any]) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(plan))
    process.stdin.close()
    return process


def test_a_killed_process_loses_nothing(
    connect: Connect, line: Line, shop: WorkspaceRef, tmp_path: Path
) -> None:
    """SD-4: killed with writes in its file, the next process sends them all, in order and once."""
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    file, key = folder / "outbox.sqlite", factories.make_key(shop)
    names = [f"o-10{letter}" for letter in "ab"]
    line.cut.touch()
    plan = {"key": key, "url": line.url, "file": str(file), "conversations": names, "writes": 4, "sleeps": 60}
    process = start(plan)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline()) == {"waiting": 8}
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    line.mend()
    client = connect(line.url, key=key, outbox=file)
    assert client.flush(30)
    reads = [client.conversation(name).state.get() for name in names]
    assert [(read.body, read.version) for read in reads] == [
        ({"cart": [name, 3], "qty": 3}, 4) for name in names
    ]
    assert oct(os.stat(file).st_mode & 0o777) == "0o600"
    client.close()
    assert b"o-10a" not in file.read_bytes()


def test_two_processes_share_a_file(connect: Connect, line: Line, shop: WorkspaceRef, tmp_path: Path) -> None:
    """SD-4: two processes and one file: each write goes out once, in the order in which its state was written."""
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    file, key = folder / "outbox.sqlite", factories.make_key(shop)
    line.cut.touch()
    plan = {"key": key, "url": line.url, "file": str(file), "writes": 5, "sleeps": 30}
    processes = [start({**plan, "conversations": [f"o-11{letter}", "o-11"]}) for letter in "ab"]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    line.mend()
    client = connect(line.url, key=key, outbox=FileOutbox(file))
    assert client.flush(60)
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    assert numbers_of(connect, "o-11a", "o-11b", "o-11") == [5, 5, 10]
    assert client.conversation("o-11").state.get().body["qty"] == 4
    assert client.conversation("o-11a").state.conflicts == ()


def test_async_outage_over_two_loops(line: Line, shop: WorkspaceRef, server: Server) -> None:
    """SD-1, SD-4, SD-7: the same from asyncio, with a client that a second event loop uses too."""
    client = AsyncLastro(
        factories.make_key(shop),
        base_url=line.url,
        agent="order-taker",
        trust_env=False,
        tuning=QUICK,
        budgets=PATIENT,
    )
    state = client.conversation("o-12").state

    async def before() -> int:
        line.cut.touch()
        await asyncio.gather(*(state.put({name: 1}) for name in ("qty", "anything")))
        return (await state.get()).pending

    async def add(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "qty": body["qty"] + 1}

    async def after() -> tuple[dict[str, Any], int]:
        line.mend()
        async with client:
            assert await client.flush(20)
            await state.update(add)
            read = await state.get()
            return read.body, read.version

    assert asyncio.run(before()) == 2
    assert asyncio.run(after()) == ({"qty": 2, "anything": 1}, 3)


def test_a_fork(connect: Connect, line: Line) -> None:
    """SD-7: a child has connections of its own and sends none of its parent's writes; both go on."""
    client = connect(line.url)
    state = client.conversation("o-13").state
    state.put({"qty": 1})
    line.cut.touch()
    state.put({"qty": 2})
    child = os.fork()
    if child == 0:
        try:
            code = 0 if child_works(client, line) else 1
        except BaseException:
            code = 2
        os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert client.flush(20)
    read = state.get()
    assert (read.body, read.version) == ({"qty": 2, "anything": "child"}, 3)


def child_works(client: Lastro, line: Line) -> bool:
    """Go on in the child of a fork, with nothing waiting."""
    state = client.conversation("o-13").state
    line.mend()
    return client.flush(0) and state.put({"anything": "child"}).stored and client.close()


def test_a_call_ends_at_its_budget(connect: Connect, server: Server) -> None:
    """SD-7: a server that stands still makes a read degraded and a write pending; both go on once it does."""
    client = connect(budgets=Budgets(read=0.1, write=0.2, attempt=5))
    state = client.conversation("o-14").state
    state.put({"qty": 1})
    assert client.flush(30)
    latest = time.monotonic() + 30
    with server.held("reader"), server.held("writer"):
        # A process stands still a moment after it is told to.
        while not (read := state.get()).degraded:
            assert time.monotonic() < latest
        assert read.body == {"qty": 1}
        while not state.put({"qty": 2}).pending:
            assert time.monotonic() < latest
    assert client.flush(30)
    assert (state.get().body, state.conflicts) == ({"qty": 2}, ())
