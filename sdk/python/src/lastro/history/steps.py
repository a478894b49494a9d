"""One code for both forms: steps that yield what is to be called, and a sync and an async way to take them."""

import inspect
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar, cast

T = TypeVar("T")

Steps = Generator[Callable[[], Any], Any, T]
"""Yields calls of the host's code, is sent what they give, and returns the result."""


def taken(steps: Steps[T]) -> T:
    """Take the steps; a host's code that has to be awaited is a TypeError."""
    answer: Any = None
    while True:
        try:
            call = steps.send(answer)
        except StopIteration as end:
            return cast(T, end.value)
        answer = call()
        if inspect.isawaitable(answer):
            discard(answer)
            raise TypeError("what has to be awaited needs the async form")


async def ataken(steps: Steps[T]) -> T:
    """Take the steps, awaiting what has to be awaited."""
    answer: Any = None
    while True:
        try:
            call = steps.send(answer)
        except StopIteration as end:
            return cast(T, end.value)
        answer = call()
        if inspect.isawaitable(answer):
            answer = await answer


def discard(answer: Awaitable[Any]) -> None:
    """Close a coroutine that nobody will await."""
    if inspect.iscoroutine(answer):
        answer.close()
