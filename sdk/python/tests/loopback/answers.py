"""What a fake provider answers: turns of a model in neutral words, and faults."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Call:
    """A call that the model proposes; `raw` replaces the JSON text of its arguments."""

    name: str
    arguments: Any = None
    raw: str | None = None


@dataclass(frozen=True)
class Turn:
    """One answer of a model: thinking, text, calls; `stop` replaces the reason that it ends for."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    stop: str = ""


@dataclass(frozen=True)
class Fault:
    """An answer that is none: a status with the provider's error body, silence, a cut line, or what is no answer."""

    kind: Literal["status", "timeout", "cut", "malformed", "body"]
    status: int = 500
    body: Any = None
    message: str = "The server had an error."


@dataclass(frozen=True)
class Refusal:
    """A request that breaks a rule: which rule of ours, and the provider's words and place for it."""

    rule: str
    message: str
    param: str = ""
    status: int = 400
