"""Short random sleeps between the steps of readers and writers, so that what may come between them does."""

import random
import time
from collections.abc import Callable
from typing import Any

from agentstate.views import AgentStateReadView
from workspaces import coherence, hotstore

LONGEST_SECONDS = 0.15
SHARE = 0.5
# Shorter than in life, so that a game of seconds sees markers that are past their deadlines.
MARKER_MS, COMMIT_WITHIN_SECONDS = 4000, 2.0
# Longer than in life, since what is slept counts.
READ_WITHIN_SECONDS = 3.0


def widen() -> None:
    """Sleep before a commit, before a publication, before a read of the database, and before a fill."""
    AgentStateReadView.seconds = READ_WITHIN_SECONDS
    hotstore.entries.MARKER_MS = MARKER_MS
    hotstore.COMMIT_WITHIN_SECONDS = COMMIT_WITHIN_SECONDS
    _replace(hotstore, "mark", _then_sleep)
    _replace(hotstore, "publish", _after_sleep)
    _replace(hotstore, "drop", _after_sleep)
    _replace(hotstore, "fill", _after_sleep)
    _replace(coherence, "cold", _with_slow_read)


def _replace(module: Any, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    setattr(module, name, wrap(getattr(module, name)))


def _after_sleep(step: Callable[..., Any]) -> Callable[..., Any]:
    def slow(*arguments: Any, **named: Any) -> Any:
        _sleep()
        return step(*arguments, **named)

    return slow


def _with_slow_read(cold: Callable[..., Any]) -> Callable[..., Any]:
    def slow(name: Any, seen: Any, read: Callable[..., Any]) -> Any:
        return cold(name, seen, _after_sleep(read))

    return slow


def _then_sleep(step: Callable[..., Any]) -> Callable[..., Any]:
    def slow(*arguments: Any, **named: Any) -> Any:
        done = step(*arguments, **named)
        _sleep()
        return done

    return slow


def _sleep() -> None:
    if random.random() < SHARE:  # noqa: S311
        time.sleep(random.uniform(0, LONGEST_SECONDS))  # noqa: S311
