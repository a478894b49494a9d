"""Jobs that run at once, each in a thread with a connection of its own to the database."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection


def in_parallel(jobs: Sequence[Callable[[], Any]], *, timeout_seconds: float = 120) -> list[Any]:
    """Start all jobs at the same moment; give their results, in order, or raise the first error."""
    start = Barrier(len(jobs))

    def run(job: Callable[[], Any]) -> Any:
        start.wait()
        return apart(job)

    with ThreadPoolExecutor(len(jobs)) as pool:
        running = [pool.submit(run, job) for job in jobs]
        return [each.result(timeout=timeout_seconds) for each in running]


def apart(job: Callable[[], Any]) -> Any:
    """Do a job in this thread, whose connection ends with it."""
    try:
        return job()
    finally:
        connection.close()
