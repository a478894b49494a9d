"""Statements that must be answered in time, for readers who would rather be refused than wait (WM-19)."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import psycopg

PAUSE_SECONDS = 1.0

_until: ContextVar[float | None] = ContextVar("answer_until", default=None)
_silent_until = 0.0
_connecting = ThreadPoolExecutor(max_workers=4, thread_name_prefix="connect")


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Give the statements of a block so many seconds together.

    After a time-out they fail at once for a second, so that a database that stands still does not hold every thread;
    then one of them tries again. Raises psycopg.OperationalError, as Django's wrapper of it does.
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
    future = _connecting.submit(PatientConnection.connect, **parameters)
    return _in_time(future, until)


def _in_time(future: "Future[PatientConnection]", until: float) -> PatientConnection:
    try:
        connection = future.result(max(until - time.monotonic(), 0))
    except TimeoutError as error:
        future.add_done_callback(_close)
        _note_silence()
        raise psycopg.OperationalError("No connection in time.") from error
    note_answer()
    return connection


def _close(future: "Future[PatientConnection]") -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().close()


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
