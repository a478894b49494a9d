"""What an answer of the server means for who asked: done, in conflict, refused for good, or to be asked later (SD-4).

An answer in another form than the server's own is `strange`: something between it and us speaks. A call raises it; a
late write waits, since nothing says that the server has seen it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any, Literal, cast

from lastro.errors import ServerRefusal, UnexpectedAnswer, refusal

Meaning = Literal["done", "conflict", "refused", "later", "strange"]
Shape = Mapping[str, type]
LATER = (408, 421, 425, 429)
LONGEST_WAIT_SECONDS = 300.0
SKEW_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of HTTP; the names of its headers are in small letters."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    raw: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer means. `wait` is how long the server asks to wait (seconds), none where it does not say."""

    meaning: Meaning
    code: str = ""
    status: int = 0
    request_id: str | None = None
    value: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    pointers: tuple[str, ...] = field(default=(), repr=False)
    wait: float | None = None
    problem: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @property
    def error(self) -> ServerRefusal:
        """Give the error that a call raises for it."""
        if self.meaning == "strange":
            return UnexpectedAnswer(status=self.status, request_id=self.request_id)
        return refusal(code=self.code, status=self.status, request_id=self.request_id, pointers=self.pointers)


NO_ANSWER = Verdict("later", code="unreachable")


def judge(reply: Reply | None, *, now: float, shape: Shape = MappingProxyType({})) -> Verdict:
    """Tell what an answer means; none is that nobody answered in time.

    `now` is in seconds since 1970, `shape` what a good answer has at least.
    """
    if reply is None:
        return NO_ANSWER
    body = _object(reply.raw)
    request_id = reply.headers.get("x-request-id") or _text(body, "request_id")
    if 200 <= reply.status < 300:
        # A body that cannot be read is a lost answer: what was asked may have been done.
        meaning: Meaning = "done" if body is not None and _has(body, shape) else "later"
        return Verdict(meaning, status=reply.status, request_id=request_id, value=body or {})
    return _problem(reply, body, request_id, now=now)


def skew(reply: Reply, *, now: float) -> float | None:
    """Give the seconds by which the server's clock is ahead of ours, none where it does not tell.

    It tells in whole seconds and some time ago: what is less than SKEW_SECONDS is not told apart.
    """
    try:
        ahead = parsedate_to_datetime(reply.headers.get("date", "")).timestamp() - now
    except (TypeError, ValueError, OverflowError):
        return None
    return ahead if abs(ahead) > SKEW_SECONDS else 0.0


def _problem(reply: Reply, body: dict[str, Any] | None, request_id: str | None, *, now: float) -> Verdict:
    code = _text(body, "code") or ""
    if reply.status >= 500 or reply.status in LATER:
        wait = _wait(reply.headers.get("retry-after"), now=now)
        return Verdict("later", code or "unavailable", reply.status, request_id, wait=wait)
    if not code:
        return Verdict("strange", "unexpected_answer", reply.status, request_id)
    meaning: Meaning = "conflict" if code == "agent_state_conflict" else "refused"
    return Verdict(meaning, code, reply.status, request_id, pointers=_pointers(body), problem=body or {})


def _has(body: dict[str, Any], shape: Shape) -> bool:
    return all(isinstance(body.get(name), kind) for name, kind in shape.items())


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        found: object = json.loads(raw)
    except ValueError:
        return None
    return cast(dict[str, Any], found) if isinstance(found, dict) else None


def _text(body: dict[str, Any] | None, name: str) -> str | None:
    found = (body or {}).get(name)
    return found if isinstance(found, str) and found else None


def _pointers(body: dict[str, Any] | None) -> tuple[str, ...]:
    found = (body or {}).get("errors")
    listed = cast(list[object], found) if isinstance(found, list) else []
    named = (_text(cast(dict[str, Any], each), "pointer") for each in listed if isinstance(each, dict))
    return tuple(pointer for pointer in named if pointer)


def _wait(text: str | None, *, now: float) -> float | None:
    """Read Retry-After, in seconds or as a date; never longer than LONGEST_WAIT_SECONDS."""
    if text is None:
        return None
    if text.strip().isascii() and text.strip().isdigit():
        return min(float(text), LONGEST_WAIT_SECONDS)
    try:
        seconds = parsedate_to_datetime(text).timestamp() - now
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)
