"""The peers as contenders, in a process of their own: their packages never meet the server's."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.peers.catalogue import PEERS
from benchmarks.rounds import Slice, WrongAnswer, slice_of
from console.embedded.services import PROJECT

PYTHON = PROJECT / ".lastro" / "bench" / "bin" / "python"


class Peers(msgspec.Struct, frozen=True):
    """The process, and the versions of what runs in it."""

    process: subprocess.Popen[str]
    versions: Mapping[str, str]

    def open(self, *, clients: int) -> None:
        """Open every peer for so many clients."""
        for name in PEERS:
            self.ask(do="open", name=name, clients=clients)

    def contenders(self, *, clients: int, body: Mapping[str, Any]) -> dict[str, "Turn"]:
        """Write the body with every peer, and give each one's writes and reads."""
        for name in PEERS:
            self.ask(do="prepare", name=name, clients=clients, body=body)
        return {
            f"{name} {act}": Turn(self, name, act, clients) for name in PEERS for act in ("write", "read")
        }

    def ask(self, **order: Any) -> Any:
        """Give one order, and wait until it is done."""
        assert self.process.stdin is not None  # noqa: S101  (asked for with PIPE)
        assert self.process.stdout is not None  # noqa: S101
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise WrongAnswer(f"The peers ended at {order.get('name')}; what they said is in their log.")
        return json.loads(line)


class Turn(msgspec.Struct, frozen=True):
    """One peer's writes or reads."""

    peers: Peers
    name: str
    act: str
    clients: int

    def run(self, seconds: float) -> Slice:
        """Let the peer have its turn."""
        done = self.peers.ask(do="turn", name=self.name, act=self.act, clients=self.clients, seconds=seconds)
        return slice_of(done["latencies"], seconds=seconds)


@contextmanager
def running_peers(url: str, *, log: Path) -> Iterator[Peers]:
    """Start the process of the peers on a database of their own, and end it at the end."""
    with log.open("w") as said:
        process = subprocess.Popen(
            [str(PYTHON), "-m", "benchmarks.peers", url],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
    try:
        assert process.stdout is not None  # noqa: S101  (asked for with PIPE)
        line = process.stdout.readline()
        if not line:
            raise WrongAnswer(f"The peers did not start; what they said is in {log}.")
        yield Peers(process=process, versions=json.loads(line)["versions"])
    finally:
        assert process.stdin is not None  # noqa: S101
        process.stdin.close()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
