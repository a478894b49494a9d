"""Who counts a request: the provider's endpoint, or the host's own function (HI-14, HI-15)."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from lastro.history.errors import ProviderContextCountUnavailable
from lastro.history.guard import Request, TokenGuard, require_count, serialized
from lastro.history.steps import discard


def counts_by(guard: TokenGuard | None, endpoint: Callable[[Request], int]) -> Callable[[Request], int]:
    """Give the counter of the sync form."""
    if guard is None or guard.counter is None:
        return endpoint
    counter = guard.counter

    def count(request: Request) -> int:
        tokens = _asked(counter, request)
        if inspect.isawaitable(tokens):
            discard(tokens)
            raise ProviderContextCountUnavailable("a counter that has to be awaited needs the async form")
        return require_count(tokens)

    return count


def acounts_by(
    guard: TokenGuard | None, endpoint: Callable[[Request], Awaitable[int]]
) -> Callable[[Request], Awaitable[int]]:
    """Give the counter of the async form."""
    if guard is None or guard.counter is None:
        return endpoint
    counter = guard.counter

    async def count(request: Request) -> int:
        tokens = _asked(counter, request)
        return require_count(await _awaited(tokens) if inspect.isawaitable(tokens) else tokens)

    return count


def _asked(counter: Callable[[str], Any], request: Request) -> Any:
    text = serialized(request)
    try:
        return counter(text)
    except Exception:  # the host's function: whatever it raises, there is no count
        return None


async def _awaited(tokens: Awaitable[Any]) -> Any:
    try:
        return await tokens
    except Exception:  # as above
        return None
