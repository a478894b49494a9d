"""The embedded PostgreSQL and Valkey: real, private, and gone when their run is gone."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import kombu.connection
import psycopg
import pytest
import valkey
from django.db.utils import ConnectionHandler
from environ import Env

from console.embedded.account import Account, service_account
from console.embedded.binaries import copied, for_account, installed
from console.embedded.port import reserved_port
from console.embedded.services import PROJECT, Services
from console.embedded.variables import completed

PROBE = (
    "import json, os, sys; print(json.dumps([os.getpid(), dict(os.environ)]), flush=True); sys.stdin.read()"
)
NAMED = (
    *("DATABASE_URL", "DATABASE_OWNER_URL", "KEYS_DATABASE_URL", "KEYS_DATABASE_OWNER_URL"),
    *("HOT_STORE_URL", "BROKER_URL", "LASTRO_MASTER_KEY", "LASTRO_MASTER_KEY_FILE"),
)
GIVEN = ("DATABASE_URL", "KEYS_DATABASE_URL", "HOT_STORE_URL", "BROKER_URL")
GONE_SECONDS = 30
QUIET_PORT = 18600
"""Away from where the demo of another test, or of a person, looks."""
NOBODY = Account(name="nobody", uid=65534, gid=65534)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has another account to run as")


@dataclass(frozen=True)
class Elsewhere:
    """A copy of the runner in a folder with a space, and a folder for its temporary files."""

    project: Path
    temporary: Path

    def runs(self) -> list[Path]:
        return list(self.temporary.glob("lastro-run-*"))


@dataclass(frozen=True)
class Run:
    """A run that lasts until its standard input ends."""

    process: subprocess.Popen[str]
    command: int
    variables: dict[str, str]

    @property
    def folder(self) -> Path:
        socket_folder = parse_qs(urlsplit(self.variables["DATABASE_URL"]).query)["host"][0]
        return Path(socket_folder).parent

    def end(self) -> int:
        self.process.communicate(timeout=GONE_SECONDS)
        return self.process.returncode


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    base = Path(tempfile.mkdtemp(prefix="la stro "))
    base.chmod(0o755)
    (base / "t p").mkdir()
    (base / "t p").chmod(0o777)
    shutil.copytree(PROJECT / "console" / "embedded", base / "my project" / "console" / "embedded")
    shutil.copy(PROJECT / "console" / "__init__.py", base / "my project" / "console")
    yield Elsewhere(project=base / "my project", temporary=base / "t p")
    shutil.rmtree(base)


@pytest.fixture(scope="module")
def shelf() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="lastro-shelf-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def running(
    elsewhere: Elsewhere, *prefix: str, python: str = sys.executable, **variables: str
) -> Iterator[Run]:
    process = subprocess.Popen(
        [*prefix, python, "-m", "console.embedded", "run", "--badge", "test", "--", python, "-c", PROBE],
        cwd=elsewhere.project,
        env=unnamed_services() | {"TMPDIR": str(elsewhere.temporary)} | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        command, environment = json.loads(process.stdout.readline())
        yield Run(process=process, command=command, variables=environment)
    finally:
        process.kill()
        process.communicate()
        wait_until(lambda: not elsewhere.runs() or process.returncode != -signal.SIGKILL)


def unnamed_services() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in NAMED}


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GONE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def processes_naming(text: str) -> list[int]:
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if text.encode() in (entry / "cmdline").read_bytes() and is_alive(int(entry.name)):
                pids.append(int(entry.name))
    return pids


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def ask(url: str, *queries: str) -> list[str]:
    """Connect as the server does: with what Django makes of the URL that django-environ reads."""
    parameters = ConnectionHandler({"default": Env.db_url_config(url)})["default"].get_connection_params()
    with psycopg.connect(**parameters) as connection:
        return [str(row[0]) for query in queries for row in connection.execute(query)]


def owners_of(run: Run) -> set[int]:
    return {Path(f"/proc/{pid}").stat().st_uid for pid in processes_naming(run.folder.name)}


def test_services_are_real_and_leave_nothing(elsewhere: Elsewhere) -> None:
    """PL-13: PostgreSQL as durable as a real one, Valkey, both without a TCP port, gone after the run."""
    with running(elsewhere) as run:
        url = run.variables["DATABASE_URL"]
        answers = ask(
            url,
            "SHOW fsync",
            "SHOW synchronous_commit",
            "SHOW full_page_writes",
            "SHOW max_connections",
            "SHOW listen_addresses",
            "SHOW server_encoding",
            "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user",
            "SELECT rolcreatedb FROM pg_roles WHERE rolname = current_user",
        )
        assert answers == ["on", "on", "on", "200", "", "UTF8", "False", "False"]
        who = "SELECT current_user || ' in ' || current_database()"
        assert {name: ask(run.variables[name], who) for name in run.variables if "DATABASE" in name} == {
            "DATABASE_URL": ["lastro in lastro"],
            "DATABASE_OWNER_URL": ["lastro_owner in lastro"],
            "KEYS_DATABASE_URL": ["lastro_keys in lastro_keys"],
            "KEYS_DATABASE_OWNER_URL": ["lastro_owner in lastro_keys"],
        }
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            ask(url.replace("/lastro?", "/lastro_keys?"), "SELECT 1")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            ask(url.replace(urlsplit(url).password or "", "guess"), "SELECT 1")
        account = service_account()
        assert owners_of(run) == {account.uid if account else os.geteuid()}
        store = valkey.from_url(run.variables["HOT_STORE_URL"])
        assert store.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert store.config_get("port") == {"port": "0"}
        assert store.config_get("save") == {"save": ""}
        store.close()
        with kombu.connection.Connection(run.variables["BROKER_URL"]) as broker:
            assert broker.default_channel.client.connection_pool.connection_kwargs["db"] == 1
            assert broker.default_channel.client.ping()
        key_file = Path(run.variables["LASTRO_MASTER_KEY_FILE"])
        assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
        assert elsewhere.runs() == [run.folder]
        assert run.end() == 0
        assert elsewhere.runs() == []
        assert processes_naming(run.folder.name) == []


def test_two_runs_stand_side_by_side(elsewhere: Elsewhere) -> None:
    """PL-13: a second run has services of its own, and the end of one is not the end of the other."""
    with running(elsewhere) as first, running(elsewhere) as second:
        assert first.variables["DATABASE_URL"] != second.variables["DATABASE_URL"]
        assert first.variables["HOT_STORE_URL"] != second.variables["HOT_STORE_URL"]
        assert first.end() == 0
        assert ask(second.variables["DATABASE_URL"], "SELECT 1") == ["1"]
        assert elsewhere.runs() == [second.folder]
        assert second.end() == 0


def test_a_killed_run_takes_everything_with_it(elsewhere: Elsewhere) -> None:
    """PL-13: after SIGKILL of the run its command, its services and its folder are gone."""
    with running(elsewhere) as run:
        run.process.kill()
        wait_until(lambda: not is_alive(run.command))
        wait_until(lambda: not elsewhere.runs())
        wait_until(lambda: not processes_naming(run.folder.name))


def test_the_next_run_clears_up_after_a_killed_keeper(elsewhere: Elsewhere) -> None:
    """PL-13: without their keeper the services end, and the next run removes their folder."""
    with running(elsewhere) as run:
        (postmaster,) = [pid for pid in processes_naming(run.folder.name) if "postgres" in command_of(pid)]
        os.kill(parent_of(postmaster), signal.SIGKILL)
        wait_until(lambda: not processes_naming(run.folder.name))
        run.end()
        assert elsewhere.runs() == [run.folder]
        with running(elsewhere) as following:
            assert elsewhere.runs() == [following.folder]
            following.end()


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()


def test_a_stop_reaches_the_command(elsewhere: Elsewhere) -> None:
    """PL-13: SIGTERM is passed on to the command; the services stop after it."""
    with running(elsewhere) as run:
        run.process.terminate()
        assert run.end() == 128 + signal.SIGTERM
        assert not is_alive(run.command)
        assert elsewhere.runs() == []


def test_given_services_are_used_and_the_exit_code_passed_on(elsewhere: Elsewhere) -> None:
    """PL-14: with the URLs set nothing is started, and what was set is not replaced."""
    given = {name: f"given-{name}" for name in GIVEN}
    command = f"import os, sys; sys.exit(7 if {given!r}.items() <= os.environ.items() else 1)"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "console.embedded",
            "run",
            "--badge",
            "test",
            "--",
            sys.executable,
            "-c",
            command,
        ],
        cwd=elsewhere.project,
        env=os.environ | given,
        check=False,
    )
    assert done.returncode == 7


@as_root
def test_an_ordinary_user_runs_them_too(elsewhere: Elsewhere, shelf: Path) -> None:
    """PL-13: without root, the same run works as the user who started it."""
    copy = copied(installed(), shelf=shelf)
    assert copy is not None
    setpriv = ("setpriv", f"--reuid={NOBODY.uid}", f"--regid={NOBODY.gid}", "--clear-groups")
    python = interpreter_for(NOBODY)
    with running(elsewhere, *setpriv, python=python, PYTHONPATH=str(copy.postgres_site)) as run:
        assert owners_of(run) == {NOBODY.uid}
        assert ask(run.variables["DATABASE_URL"], "SELECT 1") == ["1"]
        assert run.end() == 0
        assert elsewhere.runs() == []


def interpreter_for(account: Account) -> str:
    for python in (sys.executable, "/usr/bin/python3"):
        path = Path(python)
        modern = subprocess.run(
            [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], check=False
        )
        if path.exists() and account.may_read(path) and modern.returncode == 0:
            return python
    pytest.skip("no Python that another account can run")


@as_root
def test_programs_out_of_reach_are_copied(shelf: Path) -> None:
    """PL-13: where the account cannot come to the wheels, it runs a copy that only root can change."""
    with tempfile.TemporaryDirectory() as closed:
        hidden = copied(installed(), shelf=Path(closed))
        assert hidden is not None
        assert not hidden.open_to(NOBODY)
        copy = for_account(hidden, NOBODY, shelves=[shelf])
        Path(closed).chmod(0o755)
        assert for_account(hidden, NOBODY, shelves=[shelf]) == hidden
    assert shelf in copy.postgres_site.parents
    assert copy.open_to(NOBODY)
    assert all(path.stat().st_uid == 0 and not path.stat().st_mode & 0o022 for path in shelf.rglob("*"))


def test_a_damaged_copy_is_made_again(shelf: Path) -> None:
    """PL-13: a cleaner of temporary folders that took a file of the copy does not break the next start."""
    copy = copied(installed(), shelf=shelf)
    assert copy is not None
    (copy.postgres / "share" / "postgres.bki").unlink()
    assert copied(installed(), shelf=shelf) == copy
    assert (copy.postgres / "share" / "postgres.bki").is_file()


def test_a_copy_that_others_can_change_is_not_used(shelf: Path) -> None:
    """PL-13: programs that somebody else could have replaced are refused; closed to others they are used."""
    copy = copied(installed(), shelf=shelf)
    assert copy is not None
    copy.postgres_site.chmod(0o757)
    assert copied(installed(), shelf=shelf) is None
    copy.postgres_site.chmod(0o755)
    assert copied(installed(), shelf=shelf) == copy


def test_a_taken_port_is_passed_over() -> None:
    """PL-13: neither a port on which somebody listens nor one that another run has reserved is given."""
    with reserved_port(first=QUIET_PORT) as first, reserved_port(first=QUIET_PORT) as second:
        assert first != second
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(("127.0.0.1", first))
        listener.listen()
        with reserved_port(first=QUIET_PORT) as third:
            assert third != first
    with reserved_port(first=QUIET_PORT) as again:
        assert again == first


def test_what_the_person_set_is_kept(tmp_path: Path) -> None:
    """PL-14: only absent variables are added, and an empty one counts as absent."""
    ours = dict.fromkeys(
        ("DATABASE_URL", "DATABASE_OWNER_URL", "KEYS_DATABASE_URL", "KEYS_DATABASE_OWNER_URL"), "ours"
    )
    services = Services(variables=ours, scratch=tmp_path, keeper=None)  # type: ignore[arg-type]
    given = {"DATABASE_URL": "theirs", "LASTRO_MASTER_KEY": "theirs", "LASTRO_SECRET_KEY": "", "HOME": ""}
    variables = completed(given, services, badge="test")
    assert variables["DATABASE_URL"] == "theirs"
    assert "DATABASE_OWNER_URL" not in variables, "Our owner would migrate another database."
    assert variables["KEYS_DATABASE_URL"] == variables["KEYS_DATABASE_OWNER_URL"] == "ours"
    assert "LASTRO_MASTER_KEY_FILE" not in variables
    assert len(variables["LASTRO_SECRET_KEY"]) >= 32
    assert variables["HOME"] == ""


def test_no_module_needs_django() -> None:
    """PL-13: the services start without the server's code."""
    modules = [
        f"console.embedded.{path.stem}" for path in (PROJECT / "console" / "embedded").glob("[a-z]*.py")
    ]
    script = f"import {', '.join(modules)}, sys; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False, cwd=PROJECT).returncode == 0
