"""Doing one thing many times at the same moment, each on a database connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connections


def at_once(count: int, deed: Callable[[int], Any]) -> list[Any]:
    """Call `deed` with 0 to `count` - 1 from as many threads that start together; give what each gave or raised."""
    start = Barrier(count)

    def run(number: int) -> Any:
        start.wait(timeout=30)
        try:
            return deed(number)
        except Exception as error:  # handed to the test, which says what it expected
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def raised(results: list[Any]) -> list[str]:
    """Name the kinds of what was raised."""
    return sorted(type(found).__name__ for found in results if isinstance(found, Exception))
