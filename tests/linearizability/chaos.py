"""What befalls the servers and their stores while clients play: chosen by a seed, told afterwards."""

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from tests.linearizability.services import Mortal, hot_store, paused
from tests.linearizability.web import Web

Deed = Callable[[], None]
GAP_SECONDS = (0.2, 1.2)


class Chaos:
    """One mishap after another. Every one of them ends with all that was running running again."""

    def __init__(self, web: Web, services: dict[str, Mortal], seed: int) -> None:
        self._web, self._services = web, services
        self._chance = random.Random(f"chaos {seed}")  # noqa: S311
        self._deeds: dict[str, tuple[int, Deed]] = {
            "a web worker was killed": (4, self._kill_worker),
            "a web server was killed": (2, self._kill_server),
            "the hot store was flushed": (5, self._flush),
            "the hot store stood still": (3, self._hold_hot_store),
            "the hot store was started again": (1, self._restart_hot_store),
            "the database was started again": (2, self._restart_database),
            "the database stood still": (2, self._hold_database),
            "the database was killed": (1, self._kill_database),
        }
        self.told: list[tuple[int, str]] = []

    def rage(self, calm_seconds: float) -> None:
        """Go on until the calm between the mishaps has lasted long enough: a slow machine plays no less."""
        while calm_seconds > 0:
            gap = self._chance.uniform(*GAP_SECONDS)
            time.sleep(gap)
            calm_seconds -= gap
            self.strike()

    def strike(self) -> None:
        """Let one mishap happen."""
        names, weights = list(self._deeds), [weight for weight, _ in self._deeds.values()]
        name = self._chance.choices(names, weights)[0]
        self.told.append((time.monotonic_ns(), name))
        self._deeds[name][1]()

    def _kill_worker(self) -> None:
        workers = self._web.workers(self._chance.choice(self._web.names))
        if workers:
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(workers), signal.SIGKILL)

    def _kill_server(self) -> None:
        self._web.kill(self._chance.choice(self._web.names))
        time.sleep(self._chance.uniform(0, 0.5))
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
