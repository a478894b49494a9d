"""Waiting for what the loop of a client does, in either way."""

import asyncio
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def waited(future: "Future[T]") -> T:
    """Wait in this thread; who gives up ends the call."""
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def awaited(future: "Future[T]") -> T:
    """Wait in any event loop."""
    return await asyncio.wrap_future(future)
