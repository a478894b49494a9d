"""The way to a provider's package and back: its failures in our words, without a word of what was sent (HI-20)."""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from lastro.decisions.reading import member, parsed
from lastro.history.errors import AgentDecisionProviderUnavailable, ProviderContextCountUnavailable
from lastro.history.guard import require_count

T = TypeVar("T")

Failures = tuple[type[BaseException], ...]
"""What a provider's package raises when it or the way to it failed."""

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Failure:
    """What is told of a failure: a status or what happened, the provider's own code, its request id."""

    code: str
    request_id: str | None = None


def failure_of(error: BaseException) -> Failure:
    """Describe a package's error by its codes only: its words may quote the request."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if not isinstance(status, int):
        timed_out = "timeout" in type(error).__name__.lower()
        return Failure("timeout" if timed_out else "connection")
    named = (getattr(error, name, None) for name in ("code", "type", "status"))
    id = getattr(error, "request_id", None)
    return Failure(code_of(f"http_{status}", *named), id if isinstance(id, str) else None)


def code_of(what: str, *named: Any) -> str:
    """Put the first of a provider's names that is a code, and not a sentence, behind what happened."""
    code = next((name for name in named if isinstance(name, str) and _CODE.fullmatch(name)), "")
    return f"{what}.{code}" if code else what


def sent(call: Callable[[], str], failures: Failures) -> Any:
    """Call a package once and read the JSON of its answer.

    Raises AgentDecisionProviderUnavailable, and AgentDecisionProviderSchemaViolation for an answer that is no JSON.
    """
    # Raised outside of the handler, so that no package's error with the request in it travels along as the context.
    try:
        text = call()
    except failures as error:
        failure = failure_of(error)
    else:
        return parsed(text, code="malformed_json")
    raise unavailable(failure)


async def asent(call: Callable[[], Awaitable[str]], failures: Failures) -> Any:
    """Do as `sent`."""
    try:
        text = await call()
    except failures as error:
        failure = failure_of(error)
    else:
        return parsed(text, code="malformed_json")
    raise unavailable(failure)


def unavailable(failure: Failure) -> AgentDecisionProviderUnavailable:
    """Give the error for a provider that could not be had."""
    return AgentDecisionProviderUnavailable(
        failure.code, provider_error_code=failure.code, request_id=failure.request_id
    )


def own_client(client: Any, retries: int) -> Any:
    """Give the host's client with the package's retries set; refuse a form for which no client was given."""
    if client is None:
        raise TypeError("give client= for the sync form, async_client= for the async one")
    return client.with_options(max_retries=retries)


def count_in(text: str, name: str) -> int:
    """Read the count in the answer of a counting endpoint."""
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    return require_count(member(answer, name))


def counted(call: Callable[[], T], failures: Failures) -> T:
    """Call a counting endpoint once; any failure is ProviderContextCountUnavailable (HI-15)."""
    try:
        return call()
    except failures as error:
        failure = failure_of(error)
    raise uncounted(failure)


async def acounted(call: Callable[[], Awaitable[T]], failures: Failures) -> T:
    """Do as `counted`."""
    try:
        return await call()
    except failures as error:
        failure = failure_of(error)
    raise uncounted(failure)


def uncounted(failure: Failure) -> ProviderContextCountUnavailable:
    """Give the error for a count that could not be had."""
    return ProviderContextCountUnavailable(failure.code, request_id=failure.request_id)


def require_direct(url: object, *, host: str, vouched: bool) -> None:
    """Refuse to count elsewhere than at the provider's own endpoint, unless the host vouches for it (HI-16)."""
    parts = urlsplit(str(url))
    if not vouched and (parts.scheme, parts.netloc) != ("https", host):
        raise ProviderContextCountUnavailable(f"only {host} is known to count as it generates")
