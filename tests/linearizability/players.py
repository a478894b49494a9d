"""Clients that write, read and delete a few states over HTTP, and write down what they asked and were told.

This module is run in processes of its own (`python -m tests.linearizability.players`): the plan comes as a line of
JSON on the standard input, whose end ends the game; the operations leave as JSON. It knows nothing of Django.
"""

import http.client
import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tests.linearizability.history import Answer, Kind, Operation, Outcome, body_of

AGENT = "order-taker"
FIELDS = ("a", "b", "c", "d")
UNDECLARED = "undeclared"
CAP_BYTES = 400
OVER_CAP = "x" * CAP_BYTES
PATHS = {"read": "/v1/agent-state/read", "delete": "/v1/agent-state/delete"}
CERTAINLY_NOTHING = ("hot_store_unavailable",)
"""Codes of a 503 after which nothing was stored (WM-20)."""

WRITES = {"merge": 22, "cas": 22, "delete": 2, "undeclared": 2, "over_cap": 2, "again": 4}
"""How often each happens, one against another; `Plan.reads` stands beside them."""


class Plan(msgspec.Struct, frozen=True):
    """Which states to play on, with how many clients, and from which seed."""

    base_url: str
    key: str
    states: tuple[str, ...]
    name: str
    seed: int
    clients: int = 5
    reads: int = 46
    patience_seconds: float = 5.0


class Wish(msgspec.Struct, frozen=True):
    """What a client is about to ask."""

    state: str
    kind: Kind
    changes: dict[str, str | None] = {}
    if_version: int | None = None
    name: str | None = None


class Player:
    """One client: one connection, one request at a time, and what it knows of each state."""

    def __init__(self, plan: Plan, number: int, is_over: Event) -> None:
        self._plan, self._is_over = plan, is_over
        self._name = f"{plan.name}{number}"
        self._chance = random.Random(f"{plan.seed} {self._name}")  # noqa: S311
        self._numbers = count()
        self._versions = dict.fromkeys(plan.states, 0)
        self._named: list[Wish] = []
        self._connection: http.client.HTTPConnection | None = None
        self.operations: list[Operation] = []

    def play(self) -> None:
        """Go on until the game is over."""
        while not self._is_over.is_set():
            self._try(self._wish())

    def _try(self, wish: Wish) -> None:
        """Ask, and ask again after a lost answer: with an Idempotency-Key mostly, without one sometimes."""
        for _ in range(6):
            if self._ask(wish):
                return
            time.sleep(self._chance.uniform(0, 0.3))
            patience = 0.95 if wish.name else 0.1
            if wish.kind == "read" or self._chance.random() > patience:
                return

    def _wish(self) -> Wish:
        state = self._chance.choice(self._plan.states)
        deeds = {"read": self._plan.reads, **WRITES}
        deed = self._chance.choices(list(deeds), list(deeds.values()))[0]
        if deed == "again" and self._named:
            return self._chance.choice(self._named)
        if deed in {"read", "again"}:
            return Wish(state, "read")
        if deed == "delete":
            return Wish(
                state, "delete", if_version=self._version(state) if self._chance.random() < 0.5 else None
            )
        return self._write(state, deed)

    def _write(self, state: str, deed: str) -> Wish:
        kind: Kind = "merge" if deed == "merge" or self._chance.random() < 0.3 else "cas"
        fields = self._chance.sample(FIELDS, self._chance.choice((1, 1, 2)))
        changes: dict[str, str | None] = {field: self._value() for field in fields}
        if kind == "merge" and self._chance.random() < 0.1:
            changes[fields[0]] = None
        if deed in {"undeclared", "over_cap"}:
            changes |= {UNDECLARED: "1"} if deed == "undeclared" else {fields[0]: OVER_CAP}
        has_condition = kind == "cas" or self._chance.random() < 0.2
        name = f"{self._value()}-key" if self._chance.random() < 0.6 else None
        wish = Wish(state, kind, changes, self._version(state) if has_condition else None, name)
        self._named = [*self._named[-4:], wish] if name else self._named
        return wish

    def _value(self) -> str:
        return f"{self._name}.{next(self._numbers)}"

    def _version(self, state: str) -> int:
        return max(0, self._versions[state] + self._chance.choices((0, -1, 1), (90, 5, 5))[0])

    def _ask(self, wish: Wish) -> bool:
        """Make one request and write it down; tell whether it was answered for certain."""
        called = time.monotonic_ns()
        try:
            status, answer = self._request(wish)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._hang_up()
            status, answer = 0, {"code": type(error).__name__}
        returned = time.monotonic_ns()
        code = str(answer.get("code", ""))
        if code in CERTAINLY_NOTHING:
            return False
        understood = understand(wish.kind, status, answer)
        self._note(wish, called, returned, understood, said="" if understood else f"{status} {code}")
        return understood is not None

    def _note(self, wish: Wish, called: int, returned: int, answer: Answer | None, *, said: str) -> None:
        end = {"said": said} if answer is None else {"returned": returned, "answer": answer}
        asked = {name: getattr(wish, name) for name in wish.__struct_fields__}
        self.operations.append(Operation(number=0, client=self._name, called=called, **asked, **end))
        if answer is not None and answer.outcome != "conflict":
            self._versions[wish.state] = answer.version

    def _request(self, wish: Wish) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._plan.key}", "Content-Type": "application/json"}
        if wish.name:
            headers["Idempotency-Key"] = wish.name
        method, path = ("POST", PATHS[wish.kind]) if wish.kind in PATHS else ("PUT", "/v1/agent-state")
        connection = self._connected()
        connection.request(method, path, json.dumps(_body(wish)), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            place = urlsplit(self._plan.base_url)
            self._connection = http.client.HTTPConnection(
                str(place.hostname), place.port, timeout=self._plan.patience_seconds
            )
        return self._connection

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _body(wish: Wish) -> dict[str, Any]:
    body: dict[str, Any] = {"scope": {"kind": "conversation", "id": wish.state}, "agent": AGENT}
    if wish.if_version is not None:
        body["if_version"] = wish.if_version
    if wish.kind in PATHS:
        return body
    changes = {field: {"$delete": True} if value is None else value for field, value in wish.changes.items()}
    return body | {"mode": "cas" if wish.kind == "cas" else "merge_by_key", "body": changes}


def understand(kind: Kind, status: int, body: Any) -> Answer | None:
    """Bring an answer into the form that the checker knows; none for one that leaves it open what happened."""
    if status == 412:
        return Answer("conflict")
    if status >= 500 or status == 0:
        return None
    if status != 200:
        raise RuntimeError(f"{kind} was answered {status} {body.get('code')}")
    if kind == "read":
        return Answer("read", body["version"], body["epoch"], body_of(body["body"]))
    if kind == "delete":
        return Answer("deleted" if body["deleted"] else "absent")
    outcome: Outcome = "stored" if body["stored"] else body["reason"]
    return Answer(outcome, body["version"], body["epoch"])


def main() -> None:
    """Play the plan, every client at once, until the standard input ends."""
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=Plan)
    is_over = Event()
    players = [Player(plan, number, is_over) for number in range(plan.clients)]
    with ThreadPoolExecutor(len(players)) as pool:
        playing = [pool.submit(player.play) for player in players]
        sys.stdout.write("playing\n")
        sys.stdout.flush()
        sys.stdin.buffer.read()
        is_over.set()
        for done in playing:
            done.result()
    operations = [operation for player in players for operation in player.operations]
    sys.stdout.buffer.write(msgspec.json.encode(operations))


if __name__ == "__main__":
    main()
