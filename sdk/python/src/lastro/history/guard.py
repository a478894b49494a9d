"""The token guard: count the whole request, and let old exchanges leave until it fits (HI-14 to HI-17).

One code for both forms: what is to be counted is a step that the caller takes.
"""

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from lastro.history.errors import (
    DecisionHistoryMessageInvalid,
    ProviderContextCountUnavailable,
    ProviderContextWindowExceeded,
)
from lastro.history.events import OnEvent, ProviderContextCount
from lastro.history.formats.shapes import objects
from lastro.history.records import Provider
from lastro.history.steps import Steps
from lastro.history.windows import Window

Request = dict[str, Any]
"""The body of a generation as it goes over the wire: messages, instructions, tools, schemas, metadata."""

Counter = Callable[[str], int | Awaitable[int]]
"""A host's own counter: takes the whole serialized request, gives its tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGuard:
    """A ceiling of the context in tokens, and the margin kept below it (HI-14).

    `context_window_tokens` is the host's word, at most the model's verified window; it is guessed from no name.
    `counter` None means the provider's counting endpoint. Raises ValueError for a bound that is none.
    """

    context_window_tokens: int
    input_token_multiplier: Decimal | int | float | str = "1.2"
    safety_margin_tokens: int = 512
    counter: Counter | None = None

    def __post_init__(self) -> None:
        if self.context_window_tokens < 1 or self.safety_margin_tokens < 0 or self.multiplier < 1:
            raise ValueError("a ceiling of at least 1, a margin of at least 0 and a multiplier of at least 1")

    @property
    def multiplier(self) -> Fraction:
        """Give the multiplier as it was written: 1.2 is 6/5, not the double next to it."""
        return Fraction(str(self.input_token_multiplier))

    def reserved(self, input_tokens: int, *, max_output_tokens: int) -> int:
        """Give the tokens to keep free: the multiplied input, rounded up, the margin and the longest answer."""
        return math.ceil(input_tokens * self.multiplier) + self.safety_margin_tokens + max_output_tokens


@dataclass(frozen=True, slots=True)
class Fitted:
    """A window whose request fits, and that request."""

    window: Window
    request: Request = field(repr=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a window becomes a request, how that is counted, and which window is left when an exchange leaves it.

    `count` gives the tokens, or what is awaited for them; `shorter` gives None where nothing more may leave.
    """

    provider: Provider
    request_of: Callable[[Window], Request]
    count: Callable[[Request], Any]
    shorter: Callable[[Window], Steps[Window | None]]
    max_output_tokens: int
    on_event: OnEvent


def fitted(guard: TokenGuard, window: Window, plan: Plan) -> Steps[Fitted]:
    """Count, and let the oldest exchange leave, until the request fits the ceiling (HI-15).

    Raises ProviderContextWindowExceeded when nothing more may leave, ProviderContextCountUnavailable for what cannot
    be counted (HI-16).
    """
    left: Window | None = window
    reservation = 0
    while left is not None:
        request = plan.request_of(left)
        require_countable(plan.provider, request)
        event = _judged(guard, plan, (yield partial(plan.count, request)))
        plan.on_event(event)
        if event.fits:
            return Fitted(left, request)
        reservation, left = event.reservation, (yield from plan.shorter(left))
    raise ProviderContextWindowExceeded(reserved=reservation, allowed=guard.context_window_tokens)


def _judged(guard: TokenGuard, plan: Plan, counted: int) -> ProviderContextCount:
    count = require_count(counted)
    reservation = guard.reserved(count, max_output_tokens=plan.max_output_tokens)
    fits = reservation <= guard.context_window_tokens
    return ProviderContextCount(
        provider=plan.provider,
        count=count,
        reservation=reservation,
        window=guard.context_window_tokens,
        fits=fits,
    )


def require_count(counted: object) -> int:
    """Refuse a count that is no whole number of tokens (HI-15)."""
    if not isinstance(counted, int) or isinstance(counted, bool) or counted < 0:
        raise ProviderContextCountUnavailable("the counter gave no whole number of tokens")
    return counted


def serialized(request: Mapping[str, Any]) -> str:
    """Give the text of a request, every part of it, as a host's counter sees it (HI-14).

    Raises DecisionHistoryMessageInvalid for what strict UTF-8 JSON cannot carry (X6).
    """
    try:
        text = json.dumps(request, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
    except (TypeError, ValueError):
        text = ""
    if not text:
        raise DecisionHistoryMessageInvalid(pointer="", reason="the request is no strict UTF-8 JSON")
    return text


@dataclass(frozen=True, slots=True)
class _Members:
    """The members of a provider's request that a count covers or that carry nothing for the model."""

    known: frozenset[str]
    disabled: Mapping[str, str]


def _members(names: str, **disabled: str) -> _Members:
    return _Members(frozenset(names.split()), disabled)


_KNOWN: Mapping[Provider, _Members] = {
    "openai.responses": _members(
        "model input instructions tools tool_choice text reasoning parallel_tool_calls personality store include "
        "max_output_tokens metadata temperature top_p top_logprobs user safety_identifier prompt_cache_key "
        "prompt_cache_retention service_tier max_tool_calls",
        truncation="disabled",
    ),
    "openai.chat": _members(
        "model messages tools tool_choice response_format reasoning_effort parallel_tool_calls store verbosity "
        "max_completion_tokens max_tokens metadata temperature top_p logprobs top_logprobs user safety_identifier "
        "prompt_cache_key prompt_cache_retention service_tier seed stop presence_penalty frequency_penalty n "
        "logit_bias modalities"
    ),
    "anthropic.messages": _members(
        "model messages system tools tool_choice thinking output_config cache_control max_tokens metadata "
        "stop_sequences temperature top_k top_p service_tier"
    ),
    "gemini.contents": _members(
        "contents systemInstruction tools toolConfig generationConfig safetySettings labels"
    ),
}


def require_countable(provider: Provider, request: Mapping[str, Any]) -> None:
    """Refuse a request with what no count covers: state or caches at the provider, automatic truncation (HI-16).

    A member that is not known to be covered is refused too, with its name. Raises ProviderContextCountUnavailable.
    """
    members = _KNOWN.get(provider)
    if members is None:
        raise ProviderContextCountUnavailable(f"{provider} needs an adapter to be counted")
    for name, value in request.items():
        if value is None or name in members.known or members.disabled.get(name) == value:
            continue
        raise ProviderContextCountUnavailable(f"a request with {name} cannot be counted")
    _require_no_references(request)


def _require_no_references(request: Mapping[str, Any]) -> None:
    if any(item.get("type") == "item_reference" for _, item in objects(request.get("input"))):
        raise ProviderContextCountUnavailable("an item_reference cannot be counted")
