"""A private PostgreSQL cluster on a Unix socket, as honest about durability as a real one (PL-13)."""

import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from console.embedded.binaries import Binaries
from console.embedded.process import Service, Stage, stop, wait_ready

PORT = 5432
"""No TCP port: only part of the socket's name."""
SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "fsync": "on",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # A failing statement, or the detail of a violated constraint, would carry content into the log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


@contextmanager
def running_postgres(stage: Stage, binaries: Binaries) -> Iterator[Service]:
    """Start a new cluster with a role and a database `lastro`, give its URL, and stop it at the end."""
    administrator = secrets.token_urlsafe(24)
    _initialise(stage, binaries, administrator)
    child = stage.start(
        [binaries.postgres / "bin" / "postgres", "-D", _data(stage), *_options(stage)],
        death_signal="INT",
    )
    try:
        wait_ready(child, lambda: _is_ready(stage), name="PostgreSQL", log=stage.log)
        password = secrets.token_urlsafe(24)
        _create_database(stage, binaries, administrator=administrator, password=password)
        url = f"postgres://lastro:{password}@:{PORT}/lastro?host={quote(str(stage.folder))}"
        yield Service(name="PostgreSQL", child=child, log=stage.log, variables={"DATABASE_URL": url})
    finally:
        stop(child, (signal.SIGINT, 20), (signal.SIGQUIT, 5))  # fast, then immediate shutdown


def _data(stage: Stage) -> Path:
    return stage.folder / "data"


def _options(stage: Stage) -> list[str]:
    settings = SETTINGS | {"unix_socket_directories": f'"{stage.folder}"'}
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def _initialise(stage: Stage, binaries: Binaries, password: str) -> None:
    file = stage.secret_file("password", password)
    stage.run_tool(
        [
            binaries.postgres / "bin" / "initdb",
            *("-D", _data(stage), "--username", "postgres", "--pwfile", file),
            *("--auth-local", "scram-sha-256", "--auth-host", "reject", "--no-sync"),
            # Built in since 17: needs neither a locale of the system nor ICU.
            *("--encoding", "UTF8", "--locale", "C", "--locale-provider", "builtin"),
            *("--builtin-locale", "C.UTF-8", "--no-instructions"),
        ]
    )
    file.unlink()


def _is_ready(stage: Stage) -> bool:
    try:
        lines = (_data(stage) / "postmaster.pid").read_text().splitlines()
    except OSError:
        return False
    return len(lines) > 7 and lines[7].strip() == "ready"


def _create_database(stage: Stage, binaries: Binaries, *, administrator: str, password: str) -> None:
    # Not a superuser: row-level security does not hold for one. It may create the databases of the tests.
    file = stage.secret_file("role.sql", f"CREATE ROLE lastro LOGIN CREATEDB PASSWORD '{password}';")
    stage.run_tool(
        [
            binaries.postgres / "bin" / "psql",
            *(
                "--no-psqlrc",
                "--quiet",
                "--set",
                "ON_ERROR_STOP=1",
                "--host",
                stage.folder,
                "--port",
                str(PORT),
            ),
            *("--username", "postgres", "--dbname", "postgres", "--file", file),
            *("--command", "CREATE DATABASE lastro OWNER lastro"),
        ],
        variables={"PGPASSWORD": administrator},
    )
    file.unlink()
