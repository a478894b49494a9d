"""A session's append and window when it has ten messages, a hundred, a thousand and ten thousand (PF-4, HI-21)."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from benchmarks.load import Over
from benchmarks.ours import Ours
from benchmarks.plan import CLIENTS, Plan
from benchmarks.rounds import Contender, Slice, play
from benchmarks.scripts import NUMBER, compact, numbered, post

LENGTHS = (10, 100, 1_000, 10_000)
SERVED = 8
"""Messages in a window: the same work at every length."""
MESSAGE_BYTES = 200
PER_CALL = 1_000
APART = 64
"""Short sessions are many, so that what is measured does not make them long ones."""


class Sessions(msgspec.Struct, frozen=True):
    """The turns of both kinds of work, by the length of the session."""

    appends: Mapping[int, Sequence[Slice]]
    windows: Mapping[int, Sequence[Slice]]


class Append:
    """Appends of one message each, to sessions in turn."""

    def __init__(self, key: str, sessions: Sequence[str]) -> None:
        self._templates = [
            numbered(post("/v1/history/append", key, {"session": {"session_id": name}, "items": [_item()]}))
            for name in sessions
        ]
        self._number = int(NUMBER)

    def request(self) -> bytes:
        self._number += 1
        return self._templates[self._number % len(self._templates)] % {b"serial": b"%10d" % self._number}

    def accept(self, status: int, body: bytes) -> bool:
        return status == 200


class Window:
    """Windows of the last messages of one session."""

    def __init__(self, key: str, session: str) -> None:
        members = {
            "session": {"session_id": session},
            "provider": "openai.chat",
            "max_messages": SERVED,
        }
        self._request = post("/v1/history/window", key, members)

    def request(self) -> bytes:
        return self._request

    def accept(self, status: int, body: bytes) -> bool:
        return status == 200 and b'"message_count":%d' % SERVED in body


def sessions(ours: Ours, plan: Plan) -> Sessions:
    """Make sessions of each length, and let all of them take turns."""
    contenders: dict[str, Contender] = {}
    for length in LENGTHS:
        grown = _made(ours, length, count=max(CLIENTS, CLIENTS * APART // max(1, length // 10)))
        share = len(grown) // CLIENTS
        shares = [grown[at * share : (at + 1) * share] for at in range(CLIENTS)]
        contenders[f"append {length}"] = Over(ours.address, [Append(ours.key, part) for part in shares])
        # Others than those that grow, whose last messages are another thing each time.
        still = _made(ours, length, count=CLIENTS)
        contenders[f"window {length}"] = Over(ours.address, [Window(ours.key, name) for name in still])
    played = play(contenders, rounds=plan.rounds, seconds=plan.slice_seconds)
    return Sessions(
        appends={length: played[f"append {length}"] for length in LENGTHS},
        windows={length: played[f"window {length}"] for length in LENGTHS},
    )


def _made(ours: Ours, length: int, *, count: int) -> list[str]:
    """Make so many sessions of a length."""
    names = [f"s-{secrets.token_hex(8)}" for _ in range(count)]
    for name in names:
        for start in range(0, length, PER_CALL):
            ours.ask(_Fill(ours.key, name, min(PER_CALL, length - start)))
    return names


class _Fill:
    """One call that adds many messages: a question and its answer by turns."""

    def __init__(self, key: str, session: str, count: int) -> None:
        items = [_item("user" if number % 2 == 0 else "assistant") for number in range(count)]
        members = {"session": {"session_id": session}, "items": items, "create": True}
        self._request = post("/v1/history/append", key, members)

    def request(self) -> bytes:
        return self._request

    def accept(self, status: int, body: bytes) -> bool:
        return status == 200


def _item(role: str = "user") -> dict[str, Any]:
    message = {"role": role, "content": f"{NUMBER} "}
    message["content"] += secrets.token_hex(MESSAGE_BYTES)[: MESSAGE_BYTES - len(compact(message))]
    return {"message": message}
