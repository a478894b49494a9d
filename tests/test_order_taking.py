"""The example that the demo plays, against a real server."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from console.management.commands.load_demo import ORDER_TYPE
from tests import factories
from tests.server import Server
from workspaces.types import WorkspaceRef

SCRIPT = Path(__file__).parents[1] / "examples" / "order_taking.py"
PEOPLE = [
    {"name": role, "email": f"{role}@example.com", "roles": [role], "password": "-"}
    for role in ("support", "security")
]


@pytest.fixture
def ready(committed: None) -> WorkspaceRef:
    """A workspace with the demo's object type."""
    return factories.make_ready_workspace("Demo", ORDER_TYPE)


def play(workspace: WorkspaceRef, base_url: str, folder: Path) -> Any:
    """Run the script as a person would."""
    keys = [{"name": "chat backend", "key": factories.make_key(workspace), "scopes": ["agent_state"]}]
    file = folder / "demo.json"
    file.write_text(json.dumps({"base_url": base_url, "people": PEOPLE, "keys": keys}))
    environment = {**os.environ, "LASTRO_DEMO_FILE": str(file), "NO_PROXY": "127.0.0.1"}
    return subprocess.run(
        [sys.executable, SCRIPT], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_the_conversation(ready: WorkspaceRef, server: Server, tmp_path: Path) -> None:
    """PL-13, WM-8, WM-10, WM-12: parallel writes, a conflict, a refused field, a write over the cap, and masking."""
    played = play(ready, server.url, tmp_path)
    assert played.returncode == 0, played.stdout
    for told in ("nothing lost: True", "412 agent_state_conflict", "not_declared_field", "over_cap", "***78"):
        assert told in played.stdout


def test_with_the_feature_off(ready: WorkspaceRef, server: Server, tmp_path: Path) -> None:
    """PR-1: as the script promises, it is answered 404 feature_off, in a sentence."""
    factories.switch(ready, "agent_state", on=False)
    played = play(ready, server.url, tmp_path)
    assert (played.returncode, played.stderr) == (1, "")
    assert "404 feature_off" in played.stdout


def test_without_a_server(ready: WorkspaceRef, tmp_path: Path) -> None:
    """PL-13: a demo that is not up is said in a sentence."""
    played = play(ready, "http://127.0.0.1:9", tmp_path)
    assert (played.returncode, played.stderr) == (1, "")
    assert "is `make demo` up?" in played.stdout
