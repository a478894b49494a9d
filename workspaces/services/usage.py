"""Counting what happens, in this process first, so that no request waits for a number (CO-10).

Every ten seconds, and at its end, a web process adds what it has counted to the rows of the hours. A process that is
killed loses what it has counted since.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from multiprocessing.util import Finalize
from threading import Event, Lock, Thread
from uuid import UUID

import msgspec
from django.db import Error, connection, connections, transaction

from workspaces import access
from workspaces.models import UsageHour
from workspaces.rules import usage as rules

KEEP_EVERY_SECONDS = 10.0
FORGOTTEN_AT_ONCE = 5_000

# In the order of their names, so that two processes that add to the same rows do not wait for each other in a ring.
_ADD = """
INSERT INTO workspaces_usagehour (workspace_id, hour, kind, name, count)
SELECT %s, hour, kind, name, count
FROM unnest(%s::timestamptz[], %s::text[], %s::text[], %s::bigint[]) AS counted (hour, kind, name, count)
ORDER BY hour, kind, name
ON CONFLICT (workspace_id, hour, kind, name) DO UPDATE SET count = workspaces_usagehour.count + EXCLUDED.count
"""

log = logging.getLogger("lastro.usage")


class Number(msgspec.Struct, frozen=True, order=True):
    """What a number is of: an hour, a kind, and an agent, a code or another name."""

    hour: int
    kind: str
    name: str


_Key = tuple[int, int, str, str]
_lock = Lock()
_counted: dict[_Key, int] = {}


def count(workspace_id: UUID, kind: str, name: str, *, now: datetime, amount: int = 1) -> None:
    """Count something that has happened in a workspace; nothing is written yet."""
    # By the number of the id: a UUID is hashed and compared in Python, on the way of every request.
    key = workspace_id.int, rules.hour_of(now), kind, name[: rules.MAX_NAME_LENGTH]
    with _lock:
        _counted[key] = _counted.get(key, 0) + amount


def count_answer(workspace_id: UUID, *, status: int, refusal: str, now: datetime) -> None:
    """Count an answered request of a known caller, and why it was refused."""
    count(workspace_id, rules.REQUEST, rules.status_class(status), now=now)
    if refusal:
        count(workspace_id, rules.REFUSAL, refusal, now=now)


def count_assembly(workspace_id: UUID, *, naive_tokens: int, assembled_tokens: int, now: datetime) -> None:
    """Count the tokens of one assembled context, and those that everything together would have had."""
    count(workspace_id, rules.TOKENS, rules.NAIVE, now=now, amount=naive_tokens)
    count(workspace_id, rules.TOKENS, rules.ASSEMBLED, now=now, amount=assembled_tokens)


def keep_counted() -> int:
    """Add what this process has counted to the rows of the hours; give how many of its numbers could not be kept.

    Those are tried again the next time.
    """
    left = 0
    for workspace_id, numbers in _taken().items():
        try:
            _add(workspace_id, numbers)
        except Error as error:
            log.warning("usage.not_kept", extra={"numbers": len(numbers), "error": type(error).__name__})
            _give_back(workspace_id, numbers)
            left += len(numbers)
    return left


def keep_counting() -> None:
    """Let a thread of its own keep what this process counts from now on, and keep the rest when the process ends."""
    ended = Event()
    keeper = Thread(target=_keep_until, args=(ended,), name="usage", daemon=True)
    keeper.start()
    # Not atexit alone: a process of `multiprocessing`, such as a worker of granian, may leave without it.
    Finalize(None, _end, args=(ended, keeper), exitpriority=1)


def forget_counted() -> None:
    """Forget what this process has counted and not kept, as a kill would."""
    _taken()


def forget_old_hours(*, now: datetime) -> int:
    """Remove a batch of the bound workspace's numbers that are older than 92 days; give how many."""
    old = UsageHour.objects.filter(hour__lt=now - rules.KEPT).order_by("hour")
    found = list(old.values_list("id", flat=True)[:FORGOTTEN_AT_ONCE])
    return UsageHour.objects.filter(id__in=found).delete()[0]


def _taken() -> dict[UUID, dict[Number, int]]:
    """Take everything that was counted, by workspace."""
    with _lock:
        counted = _counted.copy()
        _counted.clear()
    taken: dict[UUID, dict[Number, int]] = defaultdict(dict)
    for (workspace, hour, kind, name), amount in counted.items():
        taken[UUID(int=workspace)][Number(hour, kind, name)] = amount
    return taken


def _give_back(workspace_id: UUID, numbers: Mapping[Number, int]) -> None:
    with _lock:
        for number, amount in numbers.items():
            key = workspace_id.int, number.hour, number.kind, number.name
            _counted[key] = _counted.get(key, 0) + amount


def _add(workspace_id: UUID, numbers: Mapping[Number, int]) -> None:
    columns = (
        [rules.start_of(number.hour) for number in numbers],
        [number.kind for number in numbers],
        [number.name for number in numbers],
        list(numbers.values()),
    )
    with access.bound(workspace_id), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ADD, [workspace_id, *columns])


def _keep_until(ended: Event) -> None:
    while not ended.wait(KEEP_EVERY_SECONDS):
        _keep_and_hang_up()


def _end(ended: Event, keeper: Thread) -> None:
    ended.set()
    keeper.join(KEEP_EVERY_SECONDS)
    _keep_and_hang_up()


def _keep_and_hang_up() -> None:
    # Between two times the database keeps no connection for this.
    keep_counted()
    connections.close_all()
