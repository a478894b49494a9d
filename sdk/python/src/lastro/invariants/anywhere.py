"""X1 to X12: what holds of every window, whichever the provider."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from lastro.invariants.subject import Message, Subject, Violation, role_of

Told = tuple[Sequence[str], Sequence[str]]
"""The calls and the results of one message, by id, or by name where there is none."""
MAY = "may:"
"""In front of a call that need not have a result."""
MARK = re.compile(r"untrusted.*?\b\d+\b.*?\b[0-9a-f]{64}\b", re.IGNORECASE | re.DOTALL)


def together(subject: Subject, tell: Callable[[Message], Told]) -> Iterator[Violation]:
    """X1: no call without its result, no result without its call before it."""
    waiting: Counter[str] = Counter()
    may: set[str] = set()
    where: dict[str, int] = {}
    for index, message in subject.spoken:
        calls, results = tell(message)
        for name in results:
            if not waiting[name] and name not in may:
                yield Violation("X1", index, "a result without its call")
            waiting[name] = max(waiting[name] - 1, 0)
        may.update(name.removeprefix(MAY) for name in calls if name.startswith(MAY))
        waiting.update(name for name in calls if not name.startswith(MAY))
        where |= dict.fromkeys(calls, index)
    yield from (
        Violation("X1", where[name], "a call without its result") for name in waiting if waiting[name] > 0
    )


def unbroken(subject: Subject, tell: Callable[[Message], Told]) -> Iterator[Violation]:
    """X2: one tail in the stored order, behind a pinned message of a user, with all that is missing from it told of."""
    if subject.stored is None or subject.sources is None:
        return
    order = [source for source in subject.sources[subject.instructions :] if source is not None]
    spoken = [place for place in order if not tell(subject.stored[place])[1]]
    if any(first >= second for first, second in pairwise(spoken)):
        yield Violation("X2", -1, "not in the stored order")
    pinned = spoken[1:2] if spoken and role_of(subject.stored[spoken[0]]) == "user" else []
    known = {*order, *subject.account.omitted}
    missing = min((_missing(subject.stored, start, known) for start in (*spoken[:1], *pinned)), default=0)
    if missing:
        yield Violation("X2", -1, f"{missing} messages missing from the middle")


def _missing(stored: Sequence[Message], start: int, known: set[int]) -> int:
    unknown = (place for place in range(start, len(stored)) if place not in known)
    return sum(not is_instruction(stored[place]) for place in unknown)


def unaltered(subject: Subject) -> Iterator[Violation]:
    """X3: what is not marked as changed is deep-equal to what was stored."""
    for index, message, stored in subject.pairs:
        if index not in subject.account.changed and (message != stored or _typed(message) != _typed(stored)):
            yield Violation("X3", index, "differs from what was stored")


def _typed(value: Any) -> str:
    """Tell 1 from True and 1.0, which are equal in Python and not in JSON."""
    return json.dumps(value, sort_keys=True)


def instructed(subject: Subject) -> Iterator[Violation]:
    """X4: instructions stand first, and all of them are there."""
    for index, message in subject.spoken:
        if is_instruction(message):
            yield Violation("X4", index, "an instruction behind other messages")
    if subject.stored is None:
        return
    told = [message for message in subject.stored if is_instruction(message)]
    here = [message for message in subject.served if is_instruction(message)]
    if [message for message in told if message not in here]:
        yield Violation("X4", -1, "an instruction is missing")


def current(subject: Subject, tell: Callable[[Message], Told]) -> Iterator[Violation]:
    """X5: the latest user input and the results that no response has followed are there."""
    if subject.stored is None or subject.sources is None:
        return
    for place in _current(subject.stored, tell):
        if place not in subject.sources and place not in subject.account.omitted:
            yield Violation("X5", -1, "the latest input or a current result is missing")


def _current(stored: Sequence[Message], tell: Callable[[Message], Told]) -> Iterator[int]:
    for place in range(len(stored) - 1, -1, -1):
        brings = bool(tell(stored[place])[1])
        if brings or role_of(stored[place]) == "user":
            yield place
        if not brings and not is_instruction(stored[place]):
            return


def strict(subject: Subject) -> Iterator[Violation]:
    """X6: strict UTF-8 JSON, no lone surrogate."""
    for index, message in enumerate(subject.served):
        try:
            json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
        except ValueError:
            yield Violation("X6", index, "no strict UTF-8 JSON")


def bounded(subject: Subject) -> Iterator[Violation]:
    """X7: number and bytes of the messages are within the bounds, instructions not counted."""
    if subject.limits is None:
        return
    messages = [message for _, message in subject.spoken]
    written = json.dumps(messages, ensure_ascii=False, separators=(",", ":"))
    size = len(written.encode("utf-8", "surrogatepass"))
    if len(messages) > subject.limits.max_messages:
        yield Violation("X7", -1, f"{len(messages)} messages, {subject.limits.max_messages} allowed")
    if size > subject.limits.max_bytes:
        yield Violation("X7", -1, f"{size} bytes, {subject.limits.max_bytes} allowed")


def summarized(subject: Subject) -> Iterator[Violation]:
    """X10: at most one message was added as a summary: user's data, marked untrusted, with count and digest."""
    if subject.sources is None:
        return
    added = [index for index, source in enumerate(subject.sources) if source is None]
    for index in added:
        message = subject.served[index]
        if role_of(message) != "user" or not MARK.search(json.dumps(message, ensure_ascii=False)):
            yield Violation("X10", index, "an added message that is no marked data of a user")
    if len(added) > 1:
        yield Violation("X10", added[1], "more than one summary")


def on_path(subject: Subject) -> Iterator[Violation]:
    """X12: nothing is served that is not on the path."""
    if subject.stored is None or subject.sources is None:
        return
    for index, source in enumerate(subject.sources):
        if source is not None and not 0 <= source < len(subject.stored):
            yield Violation("X12", index, "not on the path")


def is_instruction(message: Message) -> bool:
    """Say whether the system or a developer speaks."""
    return role_of(message) in ("system", "developer")
