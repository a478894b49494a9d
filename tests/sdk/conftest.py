"""What the tests of the SDK against the real server share: a line that can be cut, and clients behind it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lastro import Backoff, Budgets, Lastro, Tuning
from tests import factories
from tests.clients.relay import Relay
from tests.server import Server
from workspaces.types import WorkspaceRef

PROJECT = Path(__file__).resolve().parents[2]

QUICK = Tuning(backoff=Backoff(first=0.02, longest=0.2))
"""Late writes are tried again soon, so that a test need not wait."""

PATIENT = Budgets(read=10.0, write=10.0, update=30.0)
"""A machine that does other things too is slow, and not out of reach."""


class Line:
    """A line to the server that can be cut, or let no answer through."""

    def __init__(self, relay: Relay, folder: Path) -> None:
        self.url = relay.url
        self.cut, self.deaf = folder / "cut", folder / "deaf"

    def mend(self) -> None:
        """Let everything through again."""
        self.cut.unlink(missing_ok=True)
        self.deaf.unlink(missing_ok=True)


@pytest.fixture
def line(server: Server, tmp_path: Path) -> Iterator[Line]:
    """A line to the real server."""
    with Relay(server.port, tmp_path / "cut", tmp_path / "deaf") as relay:
        yield Line(relay, tmp_path)


@pytest.fixture
def shop(committed: None) -> WorkspaceRef:
    """A workspace whose data stays, in which working memory is on."""
    return factories.make_ready_workspace("Aurora")


Connect = Callable[..., Lastro]


@pytest.fixture
def connect(shop: WorkspaceRef, server: Server) -> Iterator[Connect]:
    """Make a client of the shop: straight, or by another URL; closed with the test."""
    with ExitStack() as stack:

        def made(url: str = "", *, key: str = "", **options: Any) -> Lastro:
            wanted = {
                "agent": "order-taker",
                "trust_env": False,
                "tuning": QUICK,
                "budgets": PATIENT,
                **options,
            }
            client = Lastro(key or factories.make_key(shop), base_url=url or server.url, **wanted)
            stack.callback(client.close, 0.0)
            return client

        yield made


@pytest.fixture
def model() -> Iterator[dict[str, str]]:
    """The fake provider that the page names, as the variables that it prints."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "sdk" / "python" / "tests")}
    command = [sys.executable, "-m", "loopback"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield dict(word.split("=", 1) for word in process.stdout.readline().split()[1:])
        process.send_signal(signal.SIGINT)
