"""Jobs that run at once, each in a thread with a connection of its own to the database."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import connections

from tests.parallel import at_once


def in_parallel(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Start all jobs at the same moment; give their results, in order, or raise the first error."""
    results = at_once(len(jobs), lambda number: jobs[number]())
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


def apart(job: Callable[[], Any]) -> Any:
    """Do a job in this thread, whose connection ends with it."""
    try:
        return job()
    finally:
        connections.close_all()
