"""Our endpoints as contenders. What they read is written before by the same calls."""

import json
import secrets
from collections.abc import Sequence
from math import inf
from time import monotonic
from typing import Any

import msgspec

from benchmarks.load import Client, Over, Script
from benchmarks.plan import CLIENTS
from benchmarks.rounds import Slice, WrongAnswer
from benchmarks.scripts import FIELDS, Fleet, Merge, Read, Write, body_of


class Ours(msgspec.Struct, frozen=True):
    """Our server, and a key for it."""

    address: tuple[str, int]
    key: str

    def reads(self, *, clients: int, size: int) -> Over:
        """Give clients that each read a state of their own, warm."""
        return Over(self.address, [self._stored(size) for _ in range(clients)])

    def writes(self, *, mode: str, clients: int, size: int) -> Over:
        """Give clients that each write a state of their own; every second one names its customer."""
        return Over(self.address, [self.write(mode, size, number) for number in range(clients)])

    def write(self, mode: str, size: int, number: int = 0) -> Write:
        """Give one client that writes a state of its own."""
        subject = f"+55 11 9{1_0000_000 + number:08d}" if number % 2 else None
        return Write(self.key, new_scope(), body_of(size), mode=mode, subject=subject)

    def fleet(self, *, states: int, body: dict[str, Any], most_seconds: float = inf) -> "Fleets":
        """Store so many new states, or as many as the time allows, and give the clients that write them again."""
        fleets = [Fleet(self.key, body) for _ in range(CLIENTS)]
        over, until = Over(self.address, fleets), monotonic() + most_seconds
        while sum(fleet.stored for fleet in fleets) < states and monotonic() < until:
            done = over.run(0.5)
            if done.failed:
                raise WrongAnswer(f"A new state was not stored: {done.wrong}")
        for fleet in fleets:
            fleet.is_growing = False
        return Fleets(over, sum(fleet.stored for fleet in fleets))

    def merges(self, *, writers: int, is_one_state: bool, size: int) -> "Merges":
        """Give writers that each merge a field of their own, into one state or each into its own (PF-5)."""
        scopes = [new_scope()] * writers if is_one_state else [new_scope() for _ in range(writers)]
        part = size // writers - 60
        scripts = []
        for number, scope in enumerate(scopes):
            if number == 0 or not is_one_state:
                self._fill(scope, part)
            scripts.append(Merge(self.key, scope, FIELDS[number], part))
        return Merges(ours=self, scripts=scripts)

    def ask(self, script: Script) -> None:
        """Do one exchange, which must be right."""
        client = Client(self.address, script)
        try:
            client.send(0.0)
            answer = client.receive()
            while answer is None:
                answer = client.receive()
            if not script.accept(*answer):
                raise WrongAnswer(f"{answer[0]}: {answer[1][:300].decode(errors='replace')}")
        finally:
            client.socket.close()

    def body(self, scope: dict[str, str]) -> dict[str, Any]:
        """Read one state with its version."""
        kept = _Kept(self.key, scope, 0)
        self.ask(kept)
        answer: dict[str, Any] = json.loads(kept.body)
        return answer

    def _stored(self, size: int) -> Read:
        write = self.write("cas", size)
        self.ask(write)
        return Read(self.key, write.scope, write.version)

    def _fill(self, scope: dict[str, str], part: int) -> None:
        for field in FIELDS:
            self.ask(Merge(self.key, scope, field, part))


class Fleets(msgspec.Struct, frozen=True):
    """A contender that writes any of many states."""

    over: Over
    states: int

    def run(self, seconds: float) -> Slice:
        """Write states in any order."""
        return self.over.run(seconds)


class Merges(msgspec.Struct, frozen=True):
    """A contender whose writes can be counted at the end."""

    ours: Ours
    scripts: Sequence[Merge]

    def run(self, seconds: float) -> Slice:
        """Let every writer merge its field again and again."""
        return Over(self.ours.address, self.scripts).run(seconds)

    def lost(self) -> int:
        """Count the writes that were answered as stored and are not there."""
        stored = sum(script.stored for script in self.scripts)
        found, missing = 0, 0
        for scope in {script.scope["id"]: script.scope for script in self.scripts}.values():
            answer = self.ours.body(scope)
            found += answer["version"] - len(FIELDS)
            of_scope = [script for script in self.scripts if script.scope == scope]
            missing += sum(answer["body"][script.field]["serial"] < script.confirmed for script in of_scope)
        return max(0, stored - found) + missing


class _Kept(Read):
    """A read at any version, whose body is kept."""

    body = b""

    def accept(self, status: int, body: bytes) -> bool:
        self.body = body
        return status == 200


def new_scope() -> dict[str, str]:
    """Name a conversation that nobody has written."""
    return {"kind": "conversation", "id": f"c-{secrets.token_hex(16)}"}
