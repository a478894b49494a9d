"""Readers who would rather be refused than wait for a database (WM-19)."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection

from tests.agentstate.threads import apart
from tests.database import logged_in
from tests.parallel import at_once
from workspaces.postgresql import patience
from workspaces.postgresql.calls import ask
from workspaces.postgresql.patience import within

PATIENCE = 0.25
END_SLEEPERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND query LIKE '%pg_sleep%'
"""
SLACK = 10
"""A bound in seconds is asserted at ten times its value (PL-18)."""


@pytest.fixture(autouse=True)
def _sound(committed: None) -> Iterator[None]:
    """Begin and end with a database that answers, and a connection of one's own."""
    patience.note_answer()
    connection.close()
    yield
    patience.note_answer()
    with connection.cursor() as cursor:
        cursor.execute(END_SLEEPERS)
    connection.close()


def seconds_of(deed: Callable[[], Any]) -> float:
    """Measure a deed that has to be refused."""
    begin = time.monotonic()
    with pytest.raises(OperationalError):
        deed()
    return time.monotonic() - begin


def sleep(seconds: float) -> Any:
    """Ask the database to answer late."""
    with within(PATIENCE):
        return ask("SELECT pg_sleep(%s)::text", (seconds,))


def one() -> Any:
    """Ask the database for something that it has at once."""
    with within(PATIENCE * SLACK):
        return ask("SELECT %s::int", (1,))


@contextmanager
def deaf_server() -> Iterator[dict[str, Any]]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=8) as listener:
        yield {"host": "127.0.0.1", "port": listener.getsockname()[1]}


def test_an_answer_in_time_is_given() -> None:
    """WM-19: patience changes nothing for a database that answers."""
    assert one() == [(1,)]
    assert sleep(0.01) == [("",)]


def test_a_statement_without_patience_waits() -> None:
    """WM-19: outside a block, as in a worker, nothing is given up."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.4)")
        assert cursor.fetchall() == [("",)]


def test_a_late_answer_is_not_waited_for() -> None:
    """WM-19: a statement that is not answered in time is given up."""
    one()
    assert PATIENCE <= seconds_of(lambda: sleep(20)) < PATIENCE * SLACK


def test_the_connection_is_given_up_too() -> None:
    """WM-19: the late answer to one statement is never read as the answer to another."""
    one()
    before = connection.connection
    seconds_of(lambda: sleep(20))
    assert before.closed
    patience.note_answer()
    assert one() == [(1,)]
    assert connection.connection is not before


def test_the_statements_of_a_block_share_its_time() -> None:
    """WM-19: the time is the request's, not each statement's."""
    one()

    def many() -> None:
        with within(PATIENCE * 2):
            for _ in range(100):
                ask("SELECT pg_sleep(%s)::text", (PATIENCE / 2,))

    assert PATIENCE * 2 <= seconds_of(many) < PATIENCE * 2 * SLACK


def test_further_readers_are_refused_at_once() -> None:
    """WM-19, PF-9: after a silence nobody waits for a second, on whichever thread, so that no reader holds one."""
    one()
    seconds_of(lambda: sleep(20))
    begin = time.monotonic()
    refused = at_once(8, lambda _: seconds_of(lambda: sleep(20)))
    if time.monotonic() - begin < patience.PAUSE_SECONDS:
        assert max(refused) < PATIENCE
    assert len(refused) == 8


def test_nobody_else_is_refused_meanwhile() -> None:
    """WM-19: writers and workers, who have their own patience, go on as they did."""
    one()
    seconds_of(lambda: sleep(20))
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)


def test_it_works_again_after_the_pause() -> None:
    """WM-19: the first reader after the pause, who has to connect anew, is answered, and so is everybody after."""
    one()
    seconds_of(lambda: sleep(20))
    time.sleep(patience.PAUSE_SECONDS)
    assert one() == [(1,)]
    assert at_once(4, lambda _: one()) == [[(1,)]] * 4


def test_it_works_again_for_statements_of_the_models() -> None:
    """WM-19: a reader whose first question after the pause is a model's is answered too, and says so to the others."""
    one()
    seconds_of(lambda: sleep(20))
    time.sleep(patience.PAUSE_SECONDS)
    with within(PATIENCE * SLACK), connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
    assert at_once(4, lambda _: one()) == [[(1,)]] * 4


def test_one_tries_and_the_others_do_not_wait() -> None:
    """WM-19: while one reader finds out whether the database is back, the others are refused at once."""
    one()
    seconds_of(lambda: sleep(20))
    time.sleep(patience.PAUSE_SECONDS)
    waits = at_once(6, lambda _: seconds_of(lambda: sleep(20)))
    assert sum(wait >= PATIENCE for wait in waits) == 1


def test_a_reader_of_a_locked_table_leaves_no_pause() -> None:
    """WM-19: a lock is no silence: who is refused by the server keeps the connection, and nobody else is refused."""
    one()
    before = connection.connection
    with logged_in("default") as other, other.transaction():
        other.execute("SELECT pg_advisory_xact_lock(4711)")

        def blocked() -> None:
            with within(PATIENCE * SLACK):
                ask("SELECT set_config('lock_timeout', '100ms', false)", ())
                ask("SELECT pg_advisory_lock(4711)::text", ())

        seconds_of(blocked)
    assert one() == [(1,)]
    assert connection.connection is before


def test_connecting_to_a_deaf_server_respects_the_time() -> None:
    """WM-19: a server that takes the connection and does not answer is given up in time as well."""
    with deaf_server() as place:
        parameters = {**connection.get_connection_params(), **place}
        begin = time.monotonic()
        with within(PATIENCE), pytest.raises(psycopg.OperationalError):
            patience.connect(parameters)
        assert PATIENCE <= time.monotonic() - begin < PATIENCE * SLACK
        with within(PATIENCE), pytest.raises(psycopg.OperationalError, match="a moment ago"):
            patience.connect(parameters)


def test_many_readers_of_a_deaf_server_all_respect_the_time() -> None:
    """WM-19, PF-9: more readers than there are threads for connecting: none waits longer than its time."""
    with deaf_server() as place:
        parameters = {**connection.get_connection_params(), **place}

        def connect(_: int) -> float:
            begin = time.monotonic()
            with within(PATIENCE), pytest.raises(psycopg.OperationalError):
                patience.connect(parameters)
            return time.monotonic() - begin

        assert max(at_once(12, connect)) < PATIENCE * SLACK


def test_a_connection_that_comes_too_late_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """WM-19: whoever asks next takes the connection that somebody else did not wait for, and none is made beside it."""
    come, made = Event(), list[Any]()

    class Slow:
        @classmethod
        def connect(cls, **_: Any) -> Any:
            come.wait(20)
            made.append(object())
            return made[-1]

    parameters = {"host": "late.invalid", "dbname": "late"}
    with monkeypatch.context() as patch:
        patch.setattr(patience, "PatientConnection", Slow)
        with within(PATIENCE), pytest.raises(psycopg.OperationalError):
            patience.connect(parameters)
        come.set()
        patience.note_answer()
        with within(PATIENCE * SLACK):
            assert patience.connect(parameters) is made[0]
    assert len(made) == 1


def test_a_connection_that_the_server_closed_is_made_anew() -> None:
    """WM-19: a restart of the database between two requests is not noticed by the next one."""
    one()
    with logged_in("default") as other:
        other.execute("SELECT pg_terminate_backend(%s)", [connection.connection.info.backend_pid])
    deadline = time.monotonic() + 20
    while not _is_gone():
        assert time.monotonic() < deadline
    assert apart(one) == one() == [(1,)]


def _is_gone() -> bool:
    from workspaces.postgresql.calls import _was_closed

    return _was_closed(connection.connection)
