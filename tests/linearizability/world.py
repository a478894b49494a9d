"""Everything that a game needs: services that may die, web servers over them, a workspace, and players."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from console.embedded.services import PROJECT
from tests.linearizability.chaos import Chaos
from tests.linearizability.checker import problems
from tests.linearizability.history import MILLISECOND, Operation, told
from tests.linearizability.model import Model
from tests.linearizability.players import CAP_BYTES, FIELDS, Plan
from tests.linearizability.services import Mortal, mortal_services
from tests.linearizability.web import SOUND, Web

MODEL = Model(declared=frozenset(FIELDS), cap_bytes=CAP_BYTES)
STATES, PLAYERS = 4, ("p", "q")
END_SECONDS = 60


class Game(msgspec.Struct, frozen=True):
    """What happened in one game."""

    operations: tuple[Operation, ...]
    mishaps: tuple[tuple[int, str], ...]

    def problems(self) -> list[str]:
        """List what no correct server could have answered; an error of its own is one, whatever dies beside it."""
        errors = [operation for operation in self.operations if operation.said.startswith("500")]
        since = min((operation.called for operation in self.operations), default=0)
        broken = [f"Answered with an error of the server:\n{told(errors[:3], since=since)}"] if errors else []
        return broken + problems(self.operations, MODEL)

    def told_mishaps(self) -> str:
        """Write the mishaps, on the clock of the problems."""
        since = min((operation.called for operation in self.operations), default=0)
        return "\n".join(
            f"  {(moment - since) / MILLISECOND:10.3f} ms  {what}" for moment, what in self.mishaps
        )

    @property
    def answered(self) -> int:
        return sum(operation.answer is not None for operation in self.operations)


class World:
    """The services and one key on them; web servers come and go with the application that is tried."""

    def __init__(self, services: dict[str, Mortal], folder: Path) -> None:
        self.services, self._folder = services, folder
        self.variables = {name: url for each in services.values() for name, url in each.variables.items()}
        self._run("manage.py", "migrate", "--no-input")
        self.key = self._run("-m", "tests.linearizability.prepare")

    @contextmanager
    def web(self, application: str = SOUND, **variables: str) -> Iterator[Web]:
        """Run the web servers of an application."""
        running = Web(self._folder, {**self.variables, **variables}, application)
        try:
            running.start()
            yield running
        finally:
            running.stop()

    def play(
        self, web: Web, *, seed: int, seconds: float, states: int = STATES, reads: int = 46, **mishaps: Any
    ) -> Game:
        """Let players and mishaps loose at once; the mishaps in this thread, which outlives what they start."""
        names = tuple(f"c-{uuid4().hex}" for _ in range(states))
        plans = [Plan(web.url, self.key, names, name=name, seed=seed, reads=reads) for name in PLAYERS]
        chaos = Chaos(web, self.services, seed, **mishaps)
        with ExitStack() as stack:
            playing = [stack.enter_context(started(plan)) for plan in plans]
            chaos.rage(seconds)
            operations = [operation for each in playing for operation in ended(each)]
        numbered = (msgspec.structs.replace(each, number=number) for number, each in enumerate(operations))
        return Game(tuple(numbered), tuple(chaos.told))

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=PROJECT,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, "DJANGO_SETTINGS_MODULE": "console.settings", **self.variables}


@contextmanager
def started(plan: Plan) -> Iterator["subprocess.Popen[bytes]"]:
    """Let a plan be played in a process of its own, and wait until it is."""
    command = [sys.executable, "-m", "tests.linearizability.players"]
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as playing:
        try:
            assert playing.stdin
            assert playing.stdout
            playing.stdin.write(msgspec.json.encode(plan) + b"\n")
            playing.stdin.flush()
            assert playing.stdout.readline() == b"playing\n"
            yield playing
        finally:
            playing.kill()


def ended(playing: "subprocess.Popen[bytes]") -> Sequence[Operation]:
    """End a game; give what its clients wrote down."""
    told, _ = playing.communicate(timeout=END_SECONDS)
    assert playing.returncode == 0
    return msgspec.json.decode(told, type=list[Operation])


@contextmanager
def made_world(folder: Path) -> Iterator[World]:
    """Start the services, make the tables and a workspace."""
    with mortal_services() as services:
        yield World(services, folder)
