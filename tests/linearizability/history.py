"""What clients did to states and what they were told: one operation an attempt, on one monotonic clock."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

Kind = Literal["read", "cas", "merge", "delete"]
Outcome = Literal["read", "stored", "not_declared_field", "over_cap", "conflict", "deleted", "absent"]
Body = tuple[tuple[str, str], ...]
FOREVER = 2**63
MILLISECOND = 1_000_000


class Answer(msgspec.Struct, frozen=True):
    """What a client was told; a `conflict` (412) tells no version, and only a `read` tells a body."""

    outcome: Outcome
    version: int = 0
    epoch: str = "none"
    body: Body = ()


class Operation(msgspec.Struct, frozen=True):
    """One attempt on one state. Without an answer it may have happened, may happen later, or never.

    A change to None removes a field. `name` is the Idempotency-Key, the same for each attempt of one write. `said` is
    what came in place of an answer.
    """

    number: int
    client: str
    state: str
    kind: Kind
    called: int
    changes: dict[str, str | None] = {}
    if_version: int | None = None
    name: str | None = None
    returned: int = FOREVER
    answer: Answer | None = None
    said: str = ""

    @property
    def identity(self) -> str | int:
        """Give what tells one write from another, whichever attempt got through."""
        return self.name or self.number

    @property
    def demanded(self) -> int | None:
        """Give the version at which alone it holds (WM-7, WM-8)."""
        return self.if_version or 0 if self.kind == "cas" else self.if_version

    @property
    def is_stored(self) -> bool:
        return self.answer is not None and self.answer.outcome == "stored"

    @property
    def told_version(self) -> int:
        """Give the live version that the answer tells; 0 where it tells none."""
        return self.answer.version if self.answer else 0


def body_of(fields: Mapping[str, str]) -> Body:
    """Bring a body into the form in which two can be compared."""
    return tuple(sorted(fields.items()))


def size_of(body: Body) -> int:
    """Give the size that the cap limits (WM-12)."""
    return len(json.dumps(dict(body), separators=(",", ":"), ensure_ascii=False).encode())


def by_state(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    """Part a history by state, each in the order of the calls; a read without an answer says nothing."""
    parts: dict[str, list[Operation]] = defaultdict(list)
    for operation in sorted(operations, key=lambda each: (each.called, each.number)):
        if operation.answer is not None or operation.kind != "read":
            parts[operation.state].append(operation)
    return parts


def told(operations: Sequence[Operation], *, since: int) -> str:
    """Write operations one a line, with milliseconds since a moment."""
    return "\n".join(
        _line(operation, since) for operation in sorted(operations, key=lambda each: each.called)
    )


def _line(operation: Operation, since: int) -> str:
    end = (
        "      ...." if operation.returned == FOREVER else f"{_milliseconds(operation.returned, since):10.3f}"
    )
    return (
        f"  {_milliseconds(operation.called, since):10.3f} to {end} ms  {operation.client:<8}"
        f" #{operation.number:<6} {_request(operation):<52} -> {_answer(operation.answer)}"
        f" {operation.said}"
    )


def _milliseconds(moment: int, since: int) -> float:
    return (moment - since) / MILLISECOND


def _request(operation: Operation) -> str:
    condition = "" if operation.demanded is None else f" at {operation.demanded}"
    name = f" key {operation.name}" if operation.name else ""
    changes = " ".join(f"{field}={value or '(removed)'}" for field, value in operation.changes.items())
    return f"{operation.kind}{condition} {changes[:60]}{name}"


def _answer(answer: Answer | None) -> str:
    if answer is None:
        return "unknown"
    body = " ".join(f"{field}={value}" for field, value in answer.body)
    return f"{answer.outcome} version {answer.version} epoch {answer.epoch[:6]} {body}".rstrip()
