"""SQLite stores in several processes, and in processes that are killed, forked, threaded or cancelled (HI-5, HI-7)."""

import asyncio
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from store_workers import heard, killed, started, told
from store_workers.writing import BATCH

from lastro.history import NewItem, Outcome, RamStore, SessionKey, SqliteStore
from lastro.history.contract import HistoryStore, View
from lastro.history.errors import (
    DecisionHistoryBusy,
    DecisionHistoryNotFound,
    DecisionHistoryRecoveryRefused,
)
from lastro.history.records import Snapshot

KEY = SessionKey("n", session_id="s")


def append(store: HistoryStore, key: SessionKey = KEY, *, n: int = 0) -> None:
    store.transact(key, lambda _: Outcome(None, (NewItem({"n": n}),)))


def count(store: HistoryStore, key: SessionKey = KEY) -> int:
    snapshot = store.read(key)
    return 0 if snapshot is None else len(snapshot.items)


def test_second_process_is_refused(tmp_path: Path) -> None:
    """HI-5, O23: two processes decide at once; the second is told by whom, and stores nothing."""
    file = tmp_path / "store.sqlite"
    one, two = started("deciding", file, "w1"), started("deciding", file, "w2")
    told(one, "go")
    assert heard(one) == "running"
    told(two, "go")
    assert heard(two) == "busy w1"
    told(one, "go")
    assert heard(one) == "stored"
    for worker in (one, two):
        killed(worker)
    store = SqliteStore(file)
    snapshot = store.read(KEY)
    assert snapshot is not None
    assert [item.message for item in snapshot.items] == [{"by": "w1"}]
    store.close()


@pytest.mark.parametrize("before", [0, 3])
def test_reservation_survives_its_process(tmp_path: Path, before: int) -> None:
    """HI-5, O24: after a crash the reservation stays, says whose it was, and goes with the word only."""
    file = tmp_path / "store.sqlite"
    store = SqliteStore(file)
    for n in range(before):
        append(store, n=n)
    worker = started("deciding", file, "w1")
    told(worker, "go")
    assert heard(worker) == "running"
    killed(worker)
    store.close()
    store = SqliteStore(file)
    with pytest.raises(DecisionHistoryBusy) as busy:
        append(store)
    assert busy.value.worker == "w1"
    assert abs(busy.value.since - time.time()) < 300
    with pytest.raises(DecisionHistoryBusy):
        store.read(KEY)
    with pytest.raises(DecisionHistoryRecoveryRefused):
        store.recover(KEY)
    with pytest.raises(DecisionHistoryBusy):
        append(store)
    store.recover(KEY, worker_stopped=True)
    assert count(store) == before
    append(store)
    assert count(store) == before + 1
    store.close()


def round_of_killing(file: Path, chance: random.Random) -> int:
    """Kill a writer somewhere, and check what it left; gives the batches that are there."""
    by_step = chance.random() < 0.5
    worker = started("writing", file, chance.randint(1, 6000) if by_step else 0)
    said = [heard(worker)]
    deadline = time.monotonic() + (0 if by_step else chance.random() * 0.08)
    while said[-1] and (by_step or time.monotonic() < deadline):
        said.append(heard(worker))
    killed(worker)
    assert worker.returncode == -signal.SIGKILL
    numbers = [int(line) for line in said if line.isdigit()]
    return left_by(file, acknowledged=numbers[-1] + 1 if numbers else None)


def left_by(file: Path, *, acknowledged: int | None) -> int:
    """Check that each session is the old one or the new one, and that every count is right."""
    store = SqliteStore(file)
    for name in ("s", "o", "f"):
        key = SessionKey("n", session_id=name)
        try:
            store.recover(key, worker_stopped=True)
        except DecisionHistoryNotFound:
            continue
        if (snapshot := store.read(key)) is not None:
            require_whole(snapshot)
    snapshot = store.read(KEY)
    batches = 0 if snapshot is None else require_batches(snapshot)
    if acknowledged is not None:
        assert acknowledged <= batches
    store.close()
    require_sound(file)
    return batches


def require_batches(snapshot: Snapshot) -> int:
    summary = snapshot.head.summary
    assert summary is not None
    counts = Counter(item.message["batch"] for item in snapshot.items)
    assert counts == dict.fromkeys(range(summary.covers), BATCH)
    assert (summary.text, snapshot.head.conversation) == (
        f"batch {summary.covers - 1}",
        f"c-{summary.covers - 1}",
    )
    return summary.covers


def require_whole(snapshot: Snapshot) -> None:
    kept = [item for item in snapshot.items if item.kind == "message"]
    assert [item.parent for item in kept[1:]] == [item.id for item in kept[:-1]]
    assert snapshot.head.leaf == (kept[-1].id if kept else "")


def require_sound(file: Path) -> None:
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    total = connection.execute("SELECT sessions, bytes FROM lastro_total").fetchall()
    assert (
        total == connection.execute("SELECT count(*), coalesce(sum(size), 0) FROM lastro_session").fetchall()
    )
    held = "SELECT count, bytes FROM lastro_session ORDER BY id"
    counted = """SELECT count(i.id), coalesce(sum(length(i.body)), 0) FROM lastro_session s
        LEFT JOIN lastro_item i ON i.session = s.id GROUP BY s.id ORDER BY s.id"""
    assert connection.execute(held).fetchall() == connection.execute(counted).fetchall()
    assert connection.execute(
        "SELECT count(*) FROM lastro_item WHERE session NOT IN (SELECT id FROM lastro_session)"
    ).fetchone() == (0,)
    connection.close()


def kill_rounds(file: Path, *, rounds: int, seed: int) -> int:
    chance = random.Random(seed)  # noqa: S311 - it chooses moments
    before = 0
    for _ in range(rounds):
        batches = round_of_killing(file, chance)
        assert batches >= before
        before = batches
    return before


def test_killed_store_has_the_old_record_or_the_new_one(tmp_path: Path) -> None:
    """HI-7: killed at any point, what was acknowledged is there, and nothing is there in part."""
    assert kill_rounds(tmp_path / "store.sqlite", rounds=20, seed=1) > 0


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_killed_store_many_times(tmp_path: Path) -> None:
    """HI-7: so it is after 200 kills."""
    for seed in range(10):
        assert kill_rounds(tmp_path / f"{seed}.sqlite", rounds=20, seed=100 + seed) > 0


def stores(tmp_path: Path) -> list[HistoryStore]:
    return [RamStore(), SqliteStore(tmp_path / "store.sqlite")]


@pytest.mark.parametrize("kind", [0, 1], ids=["ram", "sqlite"])
def test_threads_never_decide_together(tmp_path: Path, kind: int) -> None:
    """HI-3: one session is never processed twice at once, and each decision that was not refused is stored."""
    store = stores(tmp_path)[kind]
    inside = threading.Semaphore(1)

    def operation(_: View | None) -> Outcome[None]:
        assert inside.acquire(blocking=False)
        time.sleep(0.001)
        inside.release()
        return Outcome(None, (NewItem({"n": 1}),))

    def decide(_: int) -> int:
        try:
            store.transact(KEY, operation)
        except DecisionHistoryBusy:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        stored = sum(pool.map(decide, range(80)))
    assert 1 <= stored == count(store)
    store.close()


def test_processes_open_one_file_at_once(tmp_path: Path) -> None:
    """HI-5, HI-7: several processes may make one file at the same time, and one of them decides."""
    file = tmp_path / "store.sqlite"
    workers = [started("deciding", file, f"w{number}") for number in range(6)]
    for worker in workers:
        told(worker, "go")
    heads = [heard(worker) for worker in workers]
    winner = heads.index("running")
    assert heads.count(f"busy w{winner}") == 5
    told(workers[winner], "go")
    assert heard(workers[winner]) == "stored"
    for worker in workers:
        killed(worker)
    require_sound(file)


def test_async_decisions_run_side_by_side(tmp_path: Path) -> None:
    """HI-3: an operation may await its provider; other sessions of the store go on meanwhile, in one event loop."""

    async def both(store: HistoryStore) -> None:
        met = asyncio.Barrier(2)

        async def operation(_: View | None) -> Outcome[None]:
            await met.wait()
            return Outcome(None, (NewItem({"n": 1}),))

        keys = [SessionKey("n", session_id=name) for name in ("a", "b")]
        await asyncio.gather(*(store.atransact(key, operation) for key in keys))
        assert [count(store, key) for key in keys] == [1, 1]

    for store in stores(tmp_path):
        asyncio.run(asyncio.wait_for(both(store), 60))
        store.close()


def test_cancelled_decision_leaves_the_session_free(tmp_path: Path) -> None:
    """HI-3: a decision that is cancelled, whatever it waits for, stores nothing and is over."""

    async def cancelled(store: HistoryStore, turns: int) -> None:
        async def operation(_: View | None) -> Outcome[None]:
            await asyncio.sleep(60)
            return Outcome(None, (NewItem({"n": 1}),))

        task = asyncio.create_task(store.atransact(KEY, operation))
        for _ in range(turns):
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.atransact(KEY, appended)

    async def appended(_: View | None) -> Outcome[None]:
        return Outcome(None, (NewItem({"n": 2}),))

    for store in stores(tmp_path):
        for turns in (0, 1, 2, 20):
            asyncio.run(cancelled(store, turns))
        assert count(store) == 4
        store.close()


def test_decision_cancelled_while_the_file_is_locked(tmp_path: Path) -> None:
    """HI-3: a reservation that is made after its decision was cancelled is given back."""
    store = SqliteStore(tmp_path / "store.sqlite")
    other = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None, check_same_thread=False)

    async def operation(_: View | None) -> Outcome[None]:
        pytest.fail("the operation ran")

    async def cancelled() -> None:
        other.execute("BEGIN IMMEDIATE")
        task = asyncio.create_task(store.atransact(KEY, operation))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.sleep(0.01)
        task.cancel()
        other.execute("COMMIT")
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    append(store)
    assert count(store) == 1
    other.close()
    store.close()


def test_closed_coroutine_leaves_the_session_free(tmp_path: Path) -> None:
    """HI-3: a decision whose coroutine is closed, and never awaited to its end, is over."""

    async def closed(store: HistoryStore) -> None:
        async def operation(_: View | None) -> Outcome[None]:
            await asyncio.Event().wait()
            return Outcome(None)

        running = store.atransact(KEY, operation)
        future = running.send(None)
        while future is not None and not await waited(future, store):
            future = running.send(None)
        running.close()

    async def waited(future: "asyncio.Future[object]", store: HistoryStore) -> bool:
        try:
            store.read(KEY)
        except DecisionHistoryBusy:
            return True
        await asyncio.wait((future,))
        return False

    for store in stores(tmp_path):
        asyncio.run(closed(store))
        append(store)
        assert count(store) == 1
        store.close()


def test_loop_goes_on_while_the_file_is_locked(tmp_path: Path) -> None:
    """HI-3: while somebody holds the file's lock the store waits, and the event loop does not."""
    file = tmp_path / "store.sqlite"
    store = SqliteStore(file)
    append(store)
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)

    async def operation(_: View | None) -> Outcome[None]:
        return Outcome(None, (NewItem({"n": 2}),))

    async def race() -> None:
        other.execute("BEGIN IMMEDIATE")
        task = asyncio.create_task(store.atransact(KEY, operation))
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert not task.done()
        other.execute("COMMIT")
        await task

    asyncio.run(race())
    assert count(store) == 2
    other.close()
    store.close()


def test_store_is_used_in_a_second_loop(tmp_path: Path) -> None:
    """SD-7: a store belongs to no event loop."""

    async def appended(_: View | None) -> Outcome[None]:
        return Outcome(None, (NewItem({"n": 1}),))

    for store in stores(tmp_path):
        for _ in range(3):
            asyncio.run(store.atransact(KEY, appended))
        assert count(store) == 3
        store.close()


def test_no_connection_crosses_a_fork(tmp_path: Path) -> None:
    """SD-7: after a fork parent and child use the store side by side, and the file stays sound."""
    file = tmp_path / "store.sqlite"
    store = SqliteStore(file)
    append(store)
    children = [fork_and_append(store, SessionKey("n", session_id=f"child-{n}")) for n in range(3)]
    for n in range(20):
        append(store, n=n)
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    append(store)
    store.close()
    store = SqliteStore(file)
    assert count(store) == 22
    assert [count(store, SessionKey("n", session_id=f"child-{n}")) for n in range(3)] == [20] * 3
    store.close()
    require_sound(file)


def open_files() -> list[str]:
    """Give the names of this process's open files, where the system tells them."""
    folder = Path("/proc/self/fd")
    return [os.readlink(file) for file in folder.iterdir() if file.is_symlink()] if folder.exists() else []


def fork_and_append(store: HistoryStore, key: SessionKey) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        assert not [name for name in open_files() if "store.sqlite" in name]
        for n in range(20):
            append(store, key, n=n)
        status = 0
    finally:
        os._exit(status)
