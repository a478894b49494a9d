"""What every fake provider is made of: the paths it serves, its checks, its counts and its answers."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from loopback.answers import Refusal, Turn

Body = dict[str, Any]


@dataclass
class Memory:
    """What a provider remembers of its own answers: it knows its signatures and which items were made together."""

    produced: dict[str, str] = field(default_factory=dict)
    number: int = 0

    def next(self, prefix: str) -> str:
        """Give an id that was not given before."""
        self.number += 1
        return f"{prefix}_{self.number:06d}"


class Wire(Protocol):
    """One provider."""

    def check(self, body: Body, memory: Memory) -> Refusal | None:
        """Give the first rule that a request breaks."""
        ...

    def counted(self, body: Body) -> Body:
        """Give the part of a body of the counting endpoint that counts as the request to check."""
        ...

    def count(self, tokens: int) -> Body:
        """Give the answer of the counting endpoint."""
        ...

    def answer(self, body: Body, turn: Turn, memory: Memory) -> Body:
        """Give the answer of the model in the provider's form."""
        ...

    def error(self, refusal: Refusal) -> Body:
        """Give the provider's kind of error body."""
        ...


Check = Callable[[], Iterator[Refusal]]


def first(found: Iterator[Refusal]) -> Refusal | None:
    """Give the first refusal of a check."""
    return next(found, None)


def tokens_of(body: Body) -> int:
    """Give a count that grows with every part of a body."""
    return -(-len(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")) // 4)


def opaque(text: str) -> str:
    """Give a signature of a text that only looks opaque."""
    return hashlib.sha256(text.encode()).hexdigest()
