"""The file of an outbox: its owner's alone, shared safely, and empty of what was delivered (SD-4)."""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lastro.errors import OutboxFull, OutboxUnavailable, OutboxUnsafe
from lastro.outbox import FileOutbox, MemoryOutbox, Outbox
from lastro.states.types import StateName
from lastro.states.writes import Write, make_write

NAME = StateName("conversation", "canary-conversation", "a")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    return folder


def write(number: int = 0, **members: object) -> Write:
    body = {"text": f"canary-{number}", **members}
    return make_write(
        NAME, "merge_by_key", body=body, if_version=None, subject=None, now=1.0, key=f"k-{number}"
    )


def opened(path: Path, account: str = "account") -> FileOutbox:
    outbox = FileOutbox(path)
    outbox.bind(account)
    return outbox


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_it_is_for_its_owner_alone(own: Path) -> None:
    """SD-4: the file and its side files are made or reset to 0600 before anything is written; the folder is left."""
    own.chmod(0o755)
    file, journal = own / "outbox", own / "outbox-journal"
    for each in (file, journal):
        each.touch()
        each.chmod(0o666)
    opened(file).add(write(), due_at=0)
    assert (mode(file), mode(own)) == (0o600, 0o755)
    assert not journal.exists() or mode(journal) == 0o600


@pytest.mark.parametrize("side", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "folder", "pipe"])
def test_what_is_no_file_of_its_own_is_refused(own: Path, side: str, kind: str) -> None:
    """SD-4: links of both kinds, folders and pipes are refused, and what they lead to is as it was."""
    target, path = own / "target", own / f"outbox{side}"
    target.write_text("as it was")
    target.chmod(0o644)
    made: dict[str, Callable[[], None]] = {
        "link": lambda: path.symlink_to(target),
        "dangling link": lambda: path.symlink_to(own / "nowhere"),
        "hard link": lambda: path.hardlink_to(target),
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
    }
    made[kind]()
    with pytest.raises(OutboxUnsafe):
        FileOutbox(own / "outbox")
    assert (target.read_text(), mode(target)) == ("as it was", 0o644)
    assert not (own / "nowhere").exists()


@pytest.mark.parametrize("bits", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_is_refused(own: Path, bits: int) -> None:
    """SD-4: others could put a file of theirs in its place."""
    own.chmod(bits)
    with pytest.raises(OutboxUnsafe):
        FileOutbox(own / "outbox")
    own.chmod(0o750)
    FileOutbox(own / "outbox").close()


def test_a_file_that_fails_is_an_error(own: Path) -> None:
    """SD-4: no folder, no database, or one that somebody holds: the write is not kept, and an error says so."""
    with pytest.raises(OutboxUnavailable):
        FileOutbox(own / "no folder" / "outbox")
    (own / "broken").write_bytes(b"no database" * 1000)
    with pytest.raises(OutboxUnavailable):
        FileOutbox(own / "broken")
    outbox = opened(own / "outbox")
    holder = sqlite3.connect(own / "outbox", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(OutboxUnavailable):
        outbox.add(write(), due_at=0)
    holder.execute("ROLLBACK")
    holder.close()
    outbox.add(write(), due_at=0)
    assert outbox.count() == 1


def test_what_was_delivered_is_overwritten(own: Path) -> None:
    """SD-4: neither the file nor a side file holds what a delivered or an erased write said."""
    outbox = opened(own / "outbox")
    for number in range(20):
        outbox.add(write(number, more="canary" * 500), due_at=0)
    assert b"canary" in (own / "outbox").read_bytes()
    for number in range(20):
        entry = outbox.claim(NAME, now=1, until=2)
        assert entry is not None
        if number % 2:
            outbox.remove(entry.number)
        else:
            outbox.refuse(entry.number, code="subject_erased", request_id=None, with_body=False)
    outbox.dismiss(NAME)
    assert b"canary" not in b"".join(path.read_bytes() for path in own.iterdir())


def test_accounts_do_not_meet(own: Path) -> None:
    """SD-4: writes made for one key are never sent with another; an account that is named outlives its keys."""
    first, second = opened(own / "outbox", "first"), opened(own / "outbox", "second")
    first.add(write(), due_at=0)
    assert (second.count(), second.due(now=1), second.next_due()) == (0, (), None)
    assert second.claim(NAME, now=1, until=2) is None
    assert second.waiting(NAME) == ()
    named = FileOutbox(own / "outbox", account="first")
    named.bind("a new key")
    assert named.count() == 1


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_bounds(own: Path, kind: str) -> None:
    """SD-4: a full outbox refuses the new write with its bound, and has room again once one is gone."""

    def made(**bounds: int) -> Outbox:
        return (
            MemoryOutbox(**bounds) if kind == "memory" else FileOutbox(own / "outbox", account="a", **bounds)
        )

    size = write().size
    for bounds, bound in (({"max_writes": 1}, "max_writes"), ({"max_bytes": size}, "max_bytes")):
        outbox = made(**bounds)
        outbox.add(write(), due_at=0)
        with pytest.raises(OutboxFull) as caught:
            outbox.add(write(1), due_at=0)
        assert caught.value.bound == bound
        entry = outbox.claim(NAME, now=1, until=2)
        assert entry is not None
        outbox.remove(entry.number)
        outbox.add(write(1), due_at=0)
        entry = outbox.claim(NAME, now=1, until=2)
        assert entry is not None
        outbox.remove(entry.number)


def test_a_claim_is_one_claimants(own: Path) -> None:
    """SD-4: of many that claim at once, over connections of their own, one gets the write."""
    outboxes = [opened(own / "outbox") for _ in range(8)]
    outboxes[0].add(write(), due_at=0)
    got: list[object] = []
    barrier = threading.Barrier(8)

    def claim(outbox: FileOutbox) -> None:
        barrier.wait()
        got.append(outbox.claim(NAME, now=1, until=9))

    threads = [threading.Thread(target=claim, args=(outbox,)) for outbox in outboxes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([entry for entry in got if entry is not None]) == 1


CLAIMER = """
import sys
from lastro.errors import OutboxUnavailable
from lastro.outbox import FileOutbox
from lastro.states.types import StateName
outbox = FileOutbox(sys.argv[1], account="account")
sys.stdin.read()
number = 0
while number < 40:
    try:
        entry = outbox.claim(StateName("conversation", f"c-{number}", "a"), now=1, until=9)
    except OutboxUnavailable:
        continue  # held too long by the others
    if entry is not None:
        print(number)
    number += 1
"""


def test_a_claim_is_one_processes(own: Path) -> None:
    """SD-4: of several processes that claim at once, each write is got by one."""
    outbox = opened(own / "outbox")
    for number in range(40):
        name = StateName("conversation", f"c-{number}", "a")
        made = make_write(
            name, "merge_by_key", body={}, if_version=None, subject=None, now=1, key=f"k-{number}"
        )
        outbox.add(made, due_at=0)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIMER, str(own / "outbox")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    got = [line for process in processes for line in process.communicate()[0].split()]
    assert [process.returncode for process in processes] == [0] * 4
    assert sorted(map(int, got)) == list(range(40))


def test_a_child_goes_on_with_the_same_file(own: Path) -> None:
    """SD-7: a child of a fork opens the file anew and claims what nobody has; the parent's connection is unharmed."""
    outbox = opened(own / "outbox")
    outbox.add(write(), due_at=0)
    child = os.fork()
    if child == 0:
        try:
            outbox.in_child()
            entry = outbox.claim(NAME, now=1, until=100)
            outbox.add(write(1), due_at=0)
            os._exit(0 if entry is not None else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert outbox.claim(NAME, now=1, until=9) is None
    assert outbox.count() == 2
