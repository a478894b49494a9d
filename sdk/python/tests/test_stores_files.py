"""The file of a SQLite store is its owner's alone (HI-7)."""

import os
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lastro.files import SIDES
from lastro.history import NewItem, Outcome, SessionKey, SqliteStore
from lastro.history.errors import (
    DecisionHistoryError,
    DecisionHistoryStorageFailed,
    DecisionHistoryStorageUnsafe,
)
from lastro.testing.uses import Clock

KEY = SessionKey("support", session_id="s")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


@pytest.fixture
def careless_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def used(file: Path) -> SqliteStore:
    store = SqliteStore(file)
    store.transact(KEY, lambda _: Outcome(None, (NewItem({"role": "user", "content": "Hello."}),)))
    return store


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def refuses(file: Path) -> None:
    with pytest.raises(DecisionHistoryStorageUnsafe):
        SqliteStore(file)


@pytest.mark.usefixtures("careless_umask")
def test_new_files_are_private(folder: Path) -> None:
    """HI-7: the database and the files beside it are 0600 from the beginning, whatever the umask."""
    store = used(folder / "store.sqlite")
    assert modes(folder) == dict.fromkeys(["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"], 0o600)
    store.close()
    assert modes(folder) == {"store.sqlite": 0o600}


@pytest.mark.usefixtures("careless_umask")
def test_known_files_are_reset(folder: Path) -> None:
    """HI-7: files that are there are reset to 0600 before they are opened, and the folder keeps its permissions."""
    file = folder / "store.sqlite"
    store = used(file)
    store.close()
    for side in ("", *SIDES):
        file.with_name(file.name + side).touch()
        file.with_name(file.name + side).chmod(0o666)
    folder.chmod(0o755)
    store = used(file)
    assert set(modes(folder).values()) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    store.close()


@pytest.mark.parametrize("side", ["", *SIDES])
@pytest.mark.parametrize("target", ["there", "dangling", "hard"])
def test_links_are_refused(folder: Path, side: str, target: str) -> None:
    """HI-7: a link in the place of the file or of one beside it is refused, and its target is left alone."""
    other = folder / "other"
    if target != "dangling":
        other.write_text("theirs")
        other.chmod(0o644)
    link = folder / f"store.sqlite{side}"
    if target == "hard":
        link.hardlink_to(other)
    else:
        link.symlink_to(other)
    refuses(folder / "store.sqlite")
    assert target == "dangling" or (other.read_text(), stat.S_IMODE(other.stat().st_mode)) == (
        "theirs",
        0o644,
    )
    link.unlink()
    used(folder / "store.sqlite").close()


@pytest.mark.parametrize("kind", ["folder", "pipe", "socket"])
def test_what_is_no_regular_file_is_refused(folder: Path, kind: str) -> None:
    """HI-7: a folder, a pipe or a socket is refused, without waiting for it."""
    place = folder / "store.sqlite"
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as bound:
            bound.bind(f"{short}/s")
            Path(f"{short}/s").rename(place)
    refuses(place)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o720, 0o702])
def test_folder_that_others_can_write_is_refused(folder: Path, mode: int) -> None:
    """HI-7: others who can write in the folder could put a file beside the database; sticky or not."""
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(mode)
    refuses(shared / "store.sqlite")
    assert list(shared.iterdir()) == []
    shared.chmod(0o755)
    used(shared / "store.sqlite").close()


def test_folder_that_others_can_move_is_refused(folder: Path) -> None:
    """HI-7: others who can write above the folder could put another in its place."""
    inner = folder / "shared" / "inner"
    inner.mkdir(parents=True)
    inner.parent.chmod(0o777)
    refuses(inner / "store.sqlite")
    inner.parent.chmod(0o1777)
    used(inner / "store.sqlite").close()


def test_linked_folder_is_judged_by_what_it_names(folder: Path) -> None:
    """HI-7: a link on the way to the folder is followed first, so that it hides nothing."""
    shared = folder / "shared"
    shared.mkdir(mode=0o700)
    (folder / "link").symlink_to(shared)
    used(folder / "link" / "store.sqlite").close()
    shared.chmod(0o777)
    refuses(folder / "link" / "store.sqlite")


@ROOT
@pytest.mark.parametrize("side", ["", "-wal"])
def test_file_of_another_user_is_refused(folder: Path, side: str) -> None:
    """HI-7: its owner could read and write what is kept there."""
    file = folder / f"store.sqlite{side}"
    file.touch()
    os.chown(file, 12345, 12345)
    refuses(folder / "store.sqlite")


@ROOT
def test_folder_of_another_user_is_refused(folder: Path) -> None:
    """HI-7: so could the owner of the folder."""
    theirs = folder / "theirs"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    refuses(theirs / "store.sqlite")


@pytest.mark.parametrize("name", ["missing/store.sqlite", "store\0.sqlite", "x" * 300])
def test_bad_names_are_refused(folder: Path, name: str) -> None:
    """HI-7: a file that cannot be is a typed refusal."""
    with pytest.raises(DecisionHistoryError):
        SqliteStore(folder / name)


def test_name_is_no_address(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HI-7: a name is the name of a file, also where SQLite would read more into it."""
    monkeypatch.chdir(folder)
    for name in (":memory:", "file:x?mode=memory"):
        used(Path(name)).close()
        assert (folder / name).stat().st_size > 0


def test_damaged_file_is_a_typed_refusal(folder: Path) -> None:
    """HI-7: what is no database is refused, without a word of what it holds, and left as it is."""
    file = folder / "store.sqlite"
    file.write_bytes(b"something else, and long enough to be read as a page" * 100)
    before = file.read_bytes()
    with pytest.raises(DecisionHistoryStorageFailed, match="SQLITE_NOTADB"):
        SqliteStore(file)
    assert file.read_bytes() == before


def test_other_version_is_refused(folder: Path) -> None:
    """HI-7: tables of another version are not touched."""
    file = folder / "store.sqlite"
    used(file).close()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE lastro_total SET version = 2")
    connection.close()
    with pytest.raises(DecisionHistoryStorageFailed, match="version"):
        SqliteStore(file)


def test_given_connection_stays_the_hosts(folder: Path) -> None:
    """HI-7: closing and protecting a connection that is given stay with the host, and so do its tables."""
    file = folder / "host.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE orders (id INTEGER)")
    file.chmod(0o644)
    store = SqliteStore(connection=connection)
    store.transact(KEY, lambda _: Outcome(None, (NewItem({"n": 1}),)))
    store.close()
    with pytest.raises(DecisionHistoryStorageFailed, match="closed"):
        store.read(KEY)
    connection.execute("INSERT INTO orders VALUES (1)")
    connection.commit()
    connection.close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_open_transaction_of_the_host_is_not_joined(folder: Path) -> None:
    """HI-3: inside a host's transaction nothing could be saved atomically, so it is refused, and goes on."""
    connection = sqlite3.connect(folder / "host.sqlite")
    store = SqliteStore(connection=connection)
    connection.execute("CREATE TABLE orders (id INTEGER)")
    connection.execute("INSERT INTO orders VALUES (1)")
    with pytest.raises(DecisionHistoryStorageFailed, match="transaction"):
        store.transact(KEY, lambda _: Outcome(None, (NewItem({"n": 1}),)))
    connection.commit()
    assert connection.execute("SELECT count(*) FROM orders").fetchone() == (1,)
    store.transact(KEY, lambda _: Outcome(None, (NewItem({"n": 1}),)))
    connection.close()


def test_file_or_connection() -> None:
    """HI-7: a store has a file or a connection."""
    with pytest.raises(ValueError, match="file or"):
        SqliteStore()


def test_deleted_words_are_gone(folder: Path) -> None:
    """HI-6: what is deleted, or popped and swept, is in no file of the store once it is closed."""
    file = folder / "store.sqlite"
    store = SqliteStore(file)
    for number in range(50):
        item = NewItem({"content": f"CANARY-{number}" * 50})
        store.transact(KEY, lambda _, item=item: Outcome(None, (item,)))  # type: ignore[misc]
    assert b"CANARY" in b"".join(name.read_bytes() for name in folder.iterdir())
    store.delete(KEY)
    store.close()
    assert b"CANARY" not in b"".join(name.read_bytes() for name in folder.iterdir())


def test_expired_words_are_gone(folder: Path) -> None:
    """HI-4: an expired session is purged from the file at the next access to any other."""
    clock = Clock()
    store = SqliteStore(folder / "store.sqlite", ttl=100, clock=clock)
    store.transact(KEY, lambda _: Outcome(None, (NewItem({"content": "CANARY"}),)))
    clock.move(100)
    assert store.read(SessionKey("support", session_id="other")) is None
    store.close()
    assert b"CANARY" not in (folder / "store.sqlite").read_bytes()


def test_import_needs_no_network_client() -> None:
    """SD-8: the stores load nothing but the standard library."""
    code = "import sys, lastro.history; lastro.history.SqliteStore; sys.exit('httpx' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
