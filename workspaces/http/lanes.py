"""How many long bodies go through a process at once: a thread waits for each, as long as its peer likes (PL-5)."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from uuid import UUID

from workspaces.errors import RateLimited
from workspaces.hotstore import Spent
from workspaces.http.limits import BUFFERED_BYTES
from workspaces.types import Caller

AT_ONCE = 2
"""Of a process: fewer than it has threads, so that everything else is answered whoever sends or reads slowly."""
AT_ONCE_OF_ONE = 1
WAIT_MS = 5_000

_taken: Counter[UUID] = Counter()
_lock = Lock()


@contextmanager
def lane(holder: UUID, caller: Caller | None = None) -> Iterator[None]:
    """Take one of the few lanes for a key, or for a link. Raises RateLimited where all are taken, or it has its own."""
    _enter(holder, caller)
    try:
        yield
    finally:
        _leave(holder)


def outgoing(
    parts: Iterator[bytes], *, size_bytes: int, holder: UUID, caller: Caller | None = None
) -> Iterator[bytes]:
    """Give the parts of an answer, which has a lane while it goes where it is long. Raises RateLimited."""
    return _Held(parts, holder, caller) if size_bytes > BUFFERED_BYTES else parts


class _Held:
    """The parts of an answer, with a lane until the last has gone or nobody waits for it any more."""

    def __init__(self, parts: Iterator[bytes], holder: UUID, caller: Caller | None) -> None:
        self._parts, self._stack = parts, ExitStack()
        self._stack.enter_context(lane(holder, caller))

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._parts)

    def close(self) -> None:
        """Give the lane back, once: Django calls this however an answer ends."""
        self._stack.close()


def _enter(holder: UUID, caller: Caller | None) -> None:
    with _lock:
        if _taken.total() >= AT_ONCE or _taken[holder] >= AT_ONCE_OF_ONE:
            raise RateLimited(Spent(wait_ms=WAIT_MS), caller)
        _taken[holder] += 1


def _leave(holder: UUID) -> None:
    with _lock:
        _taken[holder] -= 1
        # Or it would keep a line for everyone who was ever here.
        if not _taken[holder]:
            del _taken[holder]
