"""The calls on one state, as futures: a client waits for them in its own way."""

import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from lastro.client.runtime import Runtime
from lastro.errors import InvalidCall, StateConflict
from lastro.states.bodies import DELETE
from lastro.states.types import Body, Conflict, Handle, Mode, StateCleared, StateName, StateRead, StateWritten

LONGEST_PAUSE_SECONDS = 0.1


class Calls:
    """One state of one agent; made inside a replay it stays there (SD-6)."""

    def __init__(self, runtime: Runtime, name: StateName, subject: Handle | None) -> None:
        self.name = name
        self._runtime, self._subject = runtime, subject
        self._replay = runtime.replay()
        self.options = runtime.options

    def get(self, *, latest: float = float("inf")) -> "Future[StateRead]":
        """Read it within the budget of a read, and before `latest`."""
        deadline = min(time.monotonic() + self.options.budgets.read, latest)
        return self._runtime.call(
            lambda states: states.read(self.name, deadline=deadline), replay=self._replay
        )

    def put(
        self, body: Mapping[str, Any], *, mode: Mode, if_version: int | None, latest: float = float("inf")
    ) -> "Future[StateWritten]":
        """Write it within the budget of a write, and before `latest`."""
        if mode not in ("cas", "merge_by_key"):
            raise InvalidCall("mode is cas or merge_by_key")
        deadline = min(time.monotonic() + self.options.budgets.write, latest)
        return self._runtime.call(
            lambda states: states.write(
                self.name, mode, body, if_version=if_version, subject=self._subject, deadline=deadline
            ),
            replay=self._replay,
        )

    def delete(self, fields: tuple[str, ...]) -> "Future[StateWritten]":
        """Remove fields."""
        if not fields:
            raise InvalidCall("name the fields to remove")
        body = {name: dict(DELETE) for name in fields}
        return self.put(body, mode="merge_by_key", if_version=None)

    def clear(self, *, if_version: int | None) -> "Future[StateCleared]":
        """Remove the whole state."""
        deadline = time.monotonic() + self.options.budgets.write
        return self._runtime.call(
            lambda states: states.clear(self.name, if_version=if_version, deadline=deadline),
            replay=self._replay,
        )

    def conflicts(self) -> tuple[Conflict, ...]:
        """Give the late writes that were refused."""
        return () if self._replay else self._runtime.outbox.conflicts(self.name)

    def dismiss(self) -> None:
        """Forget the late writes that were refused."""
        if not self._replay:
            self._runtime.outbox.dismiss(self.name)

    def tries(self, most: int) -> "Tries":
        """Begin an update."""
        if most < 1:
            raise InvalidCall("an update is tried at least once")
        return Tries(self, most)


class Tries:
    """The bounded tries of one update: how often, until when, and with which pauses (SD-2)."""

    def __init__(self, calls: Calls, most: int) -> None:
        options = calls.options
        self._calls, self._left, self._made = calls, most, 0
        self._random = options.tuning.chances.random
        self.latest = time.monotonic() + options.budgets.update

    def get(self) -> "Future[StateRead]":
        """Read what the change begins with."""
        return self._calls.get(latest=self.latest)

    def put(self, read: StateRead, body: object) -> "Future[StateWritten]":
        """Write what the change made of it, if nobody wrote since."""
        if not isinstance(body, Mapping):
            raise InvalidCall("the function of an update gives the new body")
        self._made += 1
        changed: Body = dict(body)  # pyright: ignore[reportUnknownArgumentType]
        return self._calls.put(changed, mode="cas", if_version=read.version, latest=self.latest)

    def pause(self) -> float:
        """Give the seconds to wait before the next try. Raises StateConflict after the last one."""
        wanted: float = min(0.005 * 2.0**self._made, LONGEST_PAUSE_SECONDS) * self._random()
        if self._made >= self._left or time.monotonic() + wanted >= self.latest:
            raise StateConflict(status=412)
        return wanted
