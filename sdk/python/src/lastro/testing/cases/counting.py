"""The token guard of a case: what it counts, what it keeps free, and what it refuses to count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lastro.history.errors import ProviderContextCountUnavailable
from lastro.history.guard import TokenGuard, require_count, require_countable, serialized
from lastro.testing.cases.case import Case, Step, members


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
    guard = TokenGuard(context_window_tokens=int(step.args.get("contextWindowTokens") or 10**9))
    tokens = require_count(stub["returns"])
    return Counted(text, guard.reserved(tokens, max_output_tokens=int(step.args["maxOutputTokens"])))


def _request(case: Case) -> Mapping[str, Any]:
    given: Mapping[str, Any] = members(case.input.get("request"))
    messages: Sequence[Any] = list(case.given.values())
    name = {"openai.responses": "input", "gemini.contents": "contents"}.get(case.provider, "messages")
    tools = {"tools": case.input["tools"]} if "tools" in case.input else {}
    return {name: messages, **tools, **given}
