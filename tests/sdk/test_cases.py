"""The cases made from public reports, played on a running server by the SDK's own command (HI-11, CA-15)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import factories
from tests.history.talk import ready_workspace
from tests.server import Server

CASES = Path(__file__).resolve().parents[2] / "sdk" / "python" / "tests" / "history_cases"
SKIPPED = {"O25"}
"""It sets the clock, which a server lets nobody do."""


@pytest.fixture
def key(committed: None) -> str:
    workspace = ready_workspace("Aurora")
    factories.switch(workspace, "context", on=True)
    return factories.make_key(workspace, "history", "context")


def test_every_case_passes_on_a_server(server: Server, key: str) -> None:
    """HI-11, HI-21, CA-15: the same cases as in process, over HTTP: a crash, two tenants and contexts among them."""
    environment = {**os.environ, "LASTRO_KEY": key}
    command = [sys.executable, "-m", "lastro.testing", "cases", str(CASES), "--server", server.url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    words = {line.split()[1]: line.split()[0] for line in done.stdout.splitlines()}
    assert (done.returncode, words) == (
        0,
        {path.name[:3]: "SKIP" if path.name[:3] in SKIPPED else "PASS" for path in CASES.glob("*.json")},
    ), done.stdout + done.stderr
