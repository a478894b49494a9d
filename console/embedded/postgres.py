"""A private PostgreSQL cluster on a Unix socket, as honest about durability as a real one (PL-13)."""

import secrets
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from console.embedded.binaries import Binaries
from console.embedded.process import Service, Stage, stop, wait_ready

PORT = 5432
"""No TCP port: only part of the socket's name."""
OWNER = "lastro_owner"
"""It owns the databases and every table, and migrates them; row-level security holds for the other roles."""
DATABASES = {"lastro": "DATABASE", "lastro_keys": "KEYS_DATABASE"}
"""Each database, whose name is the application's role there too, and what the variables of its URLs begin with."""
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
    """Start a new cluster with its roles and its two databases, give their URLs, and stop it at the end."""
    administrator = secrets.token_urlsafe(24)
    _initialise(stage, binaries, administrator)
    child = stage.start(
        [binaries.postgres / "bin" / "postgres", "-D", _data(stage), *_options(stage)],
        death_signal="INT",
    )
    try:
        wait_ready(child, lambda: _is_ready(stage), name="PostgreSQL", log=stage.log)
        passwords = {role: secrets.token_urlsafe(24) for role in (OWNER, *DATABASES)}
        _create_databases(stage, binaries, administrator=administrator, passwords=passwords)
        variables = _variables(stage, passwords)
        yield Service(name="PostgreSQL", child=child, log=stage.log, variables=variables)
    finally:
        stop(child, (signal.SIGINT, 20), (signal.SIGQUIT, 5))  # fast, then immediate shutdown


def _variables(stage: Stage, passwords: Mapping[str, str]) -> dict[str, str]:
    place = f"?host={quote(str(stage.folder))}"
    return {
        name: f"postgres://{role}:{passwords[role]}@:{PORT}/{database}{place}"
        for database, prefix in DATABASES.items()
        for name, role in ((f"{prefix}_URL", database), (f"{prefix}_OWNER_URL", OWNER))
    }


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


def _create_databases(
    stage: Stage, binaries: Binaries, *, administrator: str, passwords: Mapping[str, str]
) -> None:
    file = stage.secret_file("roles.sql", "\n".join(_statements(passwords)))
    stage.run_tool(
        [
            binaries.postgres / "bin" / "psql",
            *("--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--host", stage.folder),
            *("--port", str(PORT), "--username", "postgres", "--dbname", "postgres", "--file", file),
        ],
        variables={"PGPASSWORD": administrator},
    )
    file.unlink()


def _statements(passwords: Mapping[str, str]) -> Iterator[str]:
    # Nobody is a superuser: row-level security does not hold for one. The owner makes the databases of the tests.
    yield f"CREATE ROLE {OWNER} LOGIN CREATEDB PASSWORD '{passwords[OWNER]}';"
    for name in DATABASES:
        yield f"CREATE ROLE {name} LOGIN PASSWORD '{passwords[name]}';"
        yield f"CREATE DATABASE {name} OWNER {OWNER};"
        yield f"REVOKE CONNECT, TEMPORARY ON DATABASE {name} FROM PUBLIC;"
        yield f"GRANT CONNECT ON DATABASE {name} TO {name};"
