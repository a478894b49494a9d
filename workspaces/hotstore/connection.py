"""One connection per thread to the hot store, with short patience and a pause after a failure."""

import hashlib
import time
from functools import cache
from pathlib import Path
from threading import local
from typing import Any

import msgspec
import valkey
from django.conf import settings
from valkey.connection import ConnectionPool

ANSWER_SECONDS = 0.5
PAUSE_SECONDS = 0.5

_SCRIPTS = Path(__file__).parent / "scripts"
_mine = local()
_failed_until = 0.0


class HotStoreDown(Exception):
    """The hot store did not answer, or could not do what was asked. What was asked may still happen."""


class Script(msgspec.Struct, frozen=True):
    """A Lua script with the hash by which the hot store knows it."""

    text: bytes
    sha: bytes


@cache
def script(name: str) -> Script:
    """Read one of the scripts beside this file."""
    text = (_SCRIPTS / f"{name}.lua").read_bytes()
    return Script(text=text, sha=hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())


def run(name: str, keys: list[bytes], arguments: list[Any]) -> Any:
    """Run a script. Raises HotStoreDown, at once for half a second after a failure."""
    wanted = script(name)
    try:
        return _ask(b"EVALSHA", wanted.sha, len(keys), *keys, *arguments)
    except valkey.exceptions.NoScriptError:
        return ask(b"EVAL", wanted.text, len(keys), *keys, *arguments)
    except (valkey.exceptions.ValkeyError, OSError) as error:
        raise _down(error) from error


def ask(*command: Any) -> Any:
    """Send one command and give its answer. Raises HotStoreDown."""
    try:
        return _ask(*command)
    except (valkey.exceptions.ValkeyError, OSError) as error:
        raise _down(error) from error


def is_paused() -> bool:
    """Tell whether the hot store failed a moment ago, so that it is left alone."""
    return time.monotonic() < _failed_until


def _ask(*command: Any) -> Any:
    """Send a command; once more where a kept connection was closed in between, since each may run twice."""
    if is_paused():
        raise HotStoreDown
    try:
        return _sent(_mine.__dict__.get("connection") or _connect(), command)
    except (valkey.exceptions.TimeoutError, valkey.exceptions.ResponseError):
        raise
    except (valkey.exceptions.ValkeyError, OSError):
        return _sent(_connect(), command)


def _sent(connection: Any, command: tuple[Any, ...]) -> Any:
    try:
        connection.send_command(*command)
        return connection.read_response()
    except valkey.exceptions.ResponseError:
        raise
    except BaseException:
        # Half of an answer may be left in the connection.
        connection.disconnect()
        _mine.__dict__.pop("connection", None)
        raise


def _down(error: Exception) -> HotStoreDown:
    """Leave the hot store alone for a moment, unless it answered and only refused."""
    global _failed_until  # noqa: PLW0603  (one fact about the whole process)
    if not isinstance(error, valkey.exceptions.ResponseError):
        _failed_until = time.monotonic() + PAUSE_SECONDS
    return HotStoreDown()


def _connect() -> Any:
    _mine.connection = _pool().make_connection()
    return _mine.connection


@cache
def _pool() -> Any:
    """Read the URL once; each thread keeps a connection of its own."""
    return ConnectionPool.from_url(  # type: ignore[no-untyped-call]
        settings.HOT_STORE_URL,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=ANSWER_SECONDS,
        client_name="lastro",
    )
