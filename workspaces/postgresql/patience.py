"""Statements that must be answered in time, for readers who would rather be refused than wait (WM-19)."""

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import psycopg

PAUSE_SECONDS = 0.25

_until: ContextVar[float | None] = ContextVar("answer_until", default=None)
_silent_until = 0.0
_late: dict[str, "deque[Future[PatientConnection]]"] = {}
_connecting = ThreadPoolExecutor(max_workers=4, thread_name_prefix="connect")


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Give the statements of a block so many seconds together.

    After a time-out they fail at once for a quarter of a second, so that a database that stands still does not hold
    every thread; then one of them tries again. Raises psycopg.OperationalError, as Django's wrapper of it does.
    """
    token = _until.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _until.reset(token)


class PatientConnection(psycopg.Connection[Any]):
    """A connection that is given up when it does not answer in time."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for an answer, where `within` says so only until its time is over."""
        until = _until.get()
        if until is None:
            return super().wait(gen, interval)
        _require_sound()
        try:
            answer = super().wait(gen, interval, max(until - time.monotonic(), 0.001))
        except psycopg.OperationalError:
            if time.monotonic() >= until:
                self.pgconn.finish()
                _note_silence()
            raise
        note_answer()
        return answer


def connect(parameters: dict[str, Any]) -> PatientConnection:
    """Connect in the time that `within` leaves; elsewhere in the driver's own."""
    until = _until.get()
    if until is None:
        return PatientConnection.connect(**parameters)
    _require_sound()
    return _in_time(parameters, until)


def _in_time(parameters: dict[str, Any], until: float) -> PatientConnection:
    """Wait for a connection; one that comes too late is kept for who asks next, or a busy process never gets any."""
    late = _late.setdefault(_place(parameters), deque())
    future = late.popleft() if late else _connecting.submit(PatientConnection.connect, **parameters)
    try:
        connection = future.result(max(until - time.monotonic(), 0))
    except TimeoutError as error:
        late.append(future)
        _note_silence()
        raise psycopg.OperationalError("No connection in time.") from error
    note_answer()
    return connection


def _place(parameters: dict[str, Any]) -> str:
    names = ("host", "port", "dbname", "user", "options")
    return " ".join(str(parameters.get(name)) for name in names)


def _require_sound() -> None:
    global _silent_until  # noqa: PLW0603  (one fact about the whole process)
    if not _silent_until:
        return
    if time.monotonic() < _silent_until:
        raise psycopg.OperationalError("The database did not answer a moment ago.")
    # One tries; the others go on failing at once until it knows.
    _silent_until = time.monotonic() + PAUSE_SECONDS


def note_answer() -> None:
    """Note that the database answers."""
    global _silent_until  # noqa: PLW0603  (one fact about the whole process)
    _silent_until = 0.0


def _note_silence() -> None:
    global _silent_until  # noqa: PLW0603  (one fact about the whole process)
    _silent_until = time.monotonic() + PAUSE_SECONDS
