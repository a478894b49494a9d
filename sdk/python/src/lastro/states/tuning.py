"""How long calls may take, and what else a client may be told: pauses, copies, time and chance (SD-7)."""

import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from lastro.states.backoff import Backoff


@dataclass(frozen=True, slots=True)
class Budgets:
    """How long a call may take, in seconds, connecting included (SD-7).

    `read` and `write` bound one call each, `update` one with all its tries, `record` how long a record of the graph is
    waited for, `assemble` one assembly of a context, `attempt` one late sending in the background, `close` the last
    sending when a client is closed.
    """

    read: float = 0.25
    write: float = 1.0
    update: float = 3.0
    record: float = 1.0
    assemble: float = 2.0
    attempt: float = 5.0
    close: float = 5.0


@dataclass(frozen=True, slots=True)
class Chances:
    """Where times and random choices come from."""

    clock: Callable[[], float] = time.time
    random: Callable[[], float] = random.random
    key: Callable[[], str] = lambda: uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Tuning:
    """What hardly anybody changes: the pauses of late writes, how many local copies are kept, time and chance."""

    backoff: Backoff = field(default_factory=Backoff)
    max_copies: int = 10_000
    chances: Chances = field(default_factory=Chances)
