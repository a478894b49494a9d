"""What befalls the servers and their stores while clients play: chosen by a seed, told afterwards."""

import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from tests.linearizability.services import Mortal, hot_store, paused
from tests.linearizability.web import NAMES, Web

Deed = Callable[[], None]
GAP_SECONDS = (0.2, 1.2)

WORKER_KILLED, SERVER_KILLED = "a web worker was killed", "a web server was killed"
SERVER_HELD = "a web server stood still"
HOT_STORE_FLUSHED, HOT_STORE_HELD = "the hot store was flushed", "the hot store stood still"
HOT_STORE_KILLED, DATABASE_RESTARTED = "the hot store was killed", "the database was started again"
DATABASE_HELD, DATABASE_KILLED = "the database stood still", "the database was killed"
WRITER_LOST = "the writers were killed, and then the hot store stood still"

WEIGHTS: Mapping[str, int] = {
    WORKER_KILLED: 4,
    SERVER_KILLED: 2,
    SERVER_HELD: 2,
    HOT_STORE_FLUSHED: 5,
    HOT_STORE_HELD: 3,
    HOT_STORE_KILLED: 1,
    DATABASE_RESTARTED: 2,
    DATABASE_HELD: 2,
    DATABASE_KILLED: 1,
}
"""How often each mishap happens, one against another."""


class Chaos:
    """One mishap after another. Every one of them ends with all that was running running again."""

    def __init__(
        self,
        web: Web,
        services: dict[str, Mortal],
        seed: int,
        *,
        weights: Mapping[str, int] = WEIGHTS,
        gap_seconds: tuple[float, float] = GAP_SECONDS,
    ) -> None:
        self._web, self._services = web, services
        self._chance = random.Random(f"chaos {seed}")  # noqa: S311
        self._weights, self._gap_seconds = weights, gap_seconds
        self._deeds: dict[str, Deed] = {
            WORKER_KILLED: self._kill_worker,
            SERVER_KILLED: self._kill_server,
            SERVER_HELD: self._hold_server,
            HOT_STORE_FLUSHED: self._flush,
            HOT_STORE_HELD: self._hold_hot_store,
            HOT_STORE_KILLED: self._restart_hot_store,
            DATABASE_RESTARTED: self._restart_database,
            DATABASE_HELD: self._hold_database,
            DATABASE_KILLED: self._kill_database,
            WRITER_LOST: self._lose_writer,
        }
        self.told: list[tuple[int, str]] = []

    def rage(self, calm_seconds: float) -> None:
        """Go on until the calm between the mishaps has lasted long enough: a slow machine plays no less."""
        while calm_seconds > 0:
            gap = self._chance.uniform(*self._gap_seconds)
            time.sleep(gap)
            calm_seconds -= gap
            self.strike()

    def strike(self) -> None:
        """Let one mishap happen, to servers that all run."""
        self._web.start()
        name = self._chance.choices(list(self._weights), list(self._weights.values()))[0]
        self.told.append((time.monotonic_ns(), name))
        self._deeds[name]()

    def _kill_worker(self) -> None:
        workers = self._web.workers(self._chance.choice(NAMES))
        if workers:
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(workers), signal.SIGKILL)

    def _kill_server(self) -> None:
        self._web.kill(self._chance.choice(NAMES))
        time.sleep(self._chance.uniform(0, 0.5))
        self._web.start()

    def _hold_server(self) -> None:
        with self._web.held(self._chance.choice(NAMES)):
            time.sleep(self._chance.uniform(0.1, 2))

    def _lose_writer(self) -> None:
        """Leave commits without their publication, and let readers be told by the database alone for a while."""
        self._web.kill("writer")
        paused(self._services["valkey"], self._chance.uniform(1.0, 1.5))
        self._web.start()

    def _flush(self) -> None:
        hot_store(self._services["valkey"].variables).flushall()

    def _hold_hot_store(self) -> None:
        paused(self._services["valkey"], self._chance.uniform(0.1, 2))

    def _restart_hot_store(self) -> None:
        self._services["valkey"].kill()
        self._services["valkey"].start()

    def _restart_database(self) -> None:
        self._services["postgres"].stop()
        self._services["postgres"].start()

    def _hold_database(self) -> None:
        paused(self._services["postgres"], self._chance.uniform(0.3, 1.5))

    def _kill_database(self) -> None:
        self._services["postgres"].kill()
        self._services["postgres"].start()
