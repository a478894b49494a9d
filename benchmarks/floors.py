"""The floors: the same work with nothing around it."""

import os
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from time import perf_counter
from types import TracebackType
from typing import Any

import psycopg
import valkey

from benchmarks.rounds import Slice, WrongAnswer, slice_of

TABLE = """
CREATE TABLE IF NOT EXISTS floor (
    scope_hash bytea, agent text, version bigint NOT NULL, body bytea NOT NULL, updated_at timestamptz NOT NULL,
    PRIMARY KEY (scope_hash, agent)
)"""
SWAP = """
UPDATE floor SET body = %b, version = version + 1, updated_at = now()
WHERE scope_hash = %b AND agent = %t AND version = %b RETURNING version"""
AGENT = "order-taker"


class Threads:
    """A contender: one thread per client, each doing one step again and again."""

    def __init__(self, steps: Sequence[Callable[[], None]]) -> None:
        self._steps = steps

    def run(self, seconds: float) -> Slice:
        """Let all threads begin at once and count their steps."""
        start, latencies = threading.Barrier(len(self._steps)), list[float]()
        threads = [
            threading.Thread(target=_repeat, args=(step, start, seconds, latencies)) for step in self._steps
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return slice_of(latencies, seconds=seconds)


class RawWrites(ExitStack):
    """One prepared compare-and-swap UPDATE per client, each on a connection and a row of its own."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def contender(self, *, clients: int, size: int) -> Threads:
        """Give one client per row, with bodies of a size, durable at every commit."""
        return Threads([self._step(size) for _ in range(clients)])

    def _step(self, size: int) -> Callable[[], None]:
        connection = self.enter_context(psycopg.connect(self._url, autocommit=True))
        connection.execute(TABLE)
        _require_durable(connection)
        scope, body, version = secrets.token_bytes(32), os.urandom(size), 1
        connection.execute("INSERT INTO floor VALUES (%b, %t, 1, %b, now())", (scope, AGENT, body))
        cursor = connection.cursor(binary=True)

        def swap() -> None:
            nonlocal version
            row = cursor.execute(SWAP, (body, scope, AGENT, version), prepare=True).fetchone()
            if row is None or row[0] != version + 1:
                raise WrongAnswer("The raw UPDATE did not find its row.")
            version = row[0]

        return swap


class RawReads:
    """GETs of a value, each client on a connection of its own."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> "RawReads":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        valkey.Valkey.from_url(self._url).delete("benchmark:floor")

    def contender(self, *, clients: int, size: int) -> Threads:
        """Give clients that read one value of a size."""
        valkey.Valkey.from_url(self._url).set("benchmark:floor", os.urandom(size))
        return Threads([self._step(size) for _ in range(clients)])

    def _step(self, size: int) -> Callable[[], None]:
        store = valkey.Valkey.from_url(self._url, single_connection_client=True)

        def get() -> None:
            found: Any = store.get("benchmark:floor")
            if len(found) != size:
                raise WrongAnswer("The raw GET answered something else.")

        return get


def _repeat(
    step: Callable[[], None], start: threading.Barrier, seconds: float, latencies: list[float]
) -> None:
    start.wait()
    before = perf_counter()
    until = before + seconds
    while before < until:
        step()
        now = perf_counter()
        if now < until:
            latencies.append(now - before)
        before = now


def _require_durable(connection: psycopg.Connection) -> None:
    row = connection.execute("SHOW synchronous_commit").fetchone()
    if row is None or row[0] != "on":
        raise WrongAnswer("The floor must be durable: synchronous_commit is not on.")
