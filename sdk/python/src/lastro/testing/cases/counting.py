"""The token guard of a case: what it counts, what it keeps free, and what it refuses to count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lastro.history.errors import ProviderContextCountUnavailable, ProviderContextWindowExceeded
from lastro.history.guard import TokenGuard, require_count, require_countable, serialized
from lastro.testing.cases.case import Case, Step, members

CEILINGS = ("contextWindowTokens", "contextWindow", "contextTokens", "ceiling", "window")
"""Names of the ceiling in tokens; without one, nothing is above it."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What the counter was shown, and the tokens that are kept free for it."""

    text: str
    reserved: int


def counted(case: Case, step: Step) -> Counted:
    """Count the request of a case with the counter that it brings. Raises what the guard refuses."""
    request = _request(case)
    require_countable(case.provider, request)
    stub: Mapping[str, Any] = members(case.input.get("counter_stub"))
    if "returns" not in stub:
        raise ProviderContextCountUnavailable("the counter of the case gives no count")
    text = serialized(request)
    ceiling = next((int(step.args[name]) for name in CEILINGS if step.args.get(name)), 10**9)
    guard = TokenGuard(context_window_tokens=ceiling)
    tokens = require_count(stub["returns"])
    reserved = guard.reserved(tokens, max_output_tokens=int(step.args.get("maxOutputTokens", 0)))
    if reserved > ceiling:
        raise ProviderContextWindowExceeded(reserved=reserved, allowed=ceiling)
    return Counted(text, reserved)


def _request(case: Case) -> Mapping[str, Any]:
    given: Mapping[str, Any] = members(case.input.get("request"))
    messages: Sequence[Any] = list(case.given.values())
    name = {"openai.responses": "input", "gemini.contents": "contents"}.get(case.provider, "messages")
    tools = {"tools": case.input["tools"]} if "tools" in case.input else {}
    return {name: messages, **tools, **given}
