"""The agent of docs/how-to/history-in-an-agent.md, run as the page says: in a file, and on a server."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import factories
from tests.server import Server

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "how-to" / "history-in-an-agent.md").read_text(encoding="utf-8")
SCRIPT = PROJECT / "examples" / "room_agent.py"


@pytest.fixture(params=["file", "server"])
def kept(request: pytest.FixtureRequest) -> dict[str, str]:
    """Where sessions are kept, as variables."""
    if request.param == "file":
        return {}
    request.getfixturevalue("committed")
    workspace = factories.make_ready_workspace("Aurora")
    factories.switch(workspace, "history", on=True)
    server: Server = request.getfixturevalue("server")
    return {"LASTRO_KEY": factories.make_key(workspace, "history"), "LASTRO_URL": server.url}


class Runs:
    """Runs of the agent, each a process of its own."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self._folder = folder
        self._environment = {**os.environ, "NO_PROXY": "127.0.0.1", **variables}

    def started(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(SCRIPT), "c-1", *words],
            cwd=self._folder,
            env={**self._environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def said(self, *words: str) -> tuple[int, str]:
        with self.started(*words) as process:
            out, err = process.communicate(timeout=60)
        return process.returncode, (out + err).strip()


def killed(runs: Runs) -> None:
    """Kill the agent with SIGKILL while it waits for a model that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with runs.started("A room for Monday?", OPENAI_BASE_URL=address) as process:
            connection, _ = silent.accept()
            process.kill()
        connection.close()


def test_it_goes_on_where_it_was(kept: dict[str, str], model: dict[str, str], tmp_path: Path) -> None:
    """HI-1, HI-5: each run goes on with the messages of the last; a killed one is told, and freed by a word."""
    runs = Runs(tmp_path, {**model, **kept})
    assert runs.said("A", "room", "for", "Friday?") == (0, "Room 12 is free.")
    assert runs.said("And", "Saturday?") == (0, "Room 12 is free.")
    killed(runs)
    refused = runs.said("Hello?")
    assert refused == (1, "decision_history_busy: a decision is running on this session")
    assert refused[1] in PAGE
    assert runs.said("--recover") == (0, "")
    assert runs.said("And Sunday?") == (0, "Room 12 is free.")
    assert (tmp_path / "rooms.sqlite").exists() == (not kept)


def dedented_lines(text: str) -> str:
    """Give a text without the white space that its lines begin with."""
    return re.sub(r"^ +", "", text, flags=re.MULTILINE)


def test_the_page_shows_the_script() -> None:
    """PL-9: what the page shows of the script is what the script says."""
    shown = re.findall(r"^ *```python\n(.*?)^ *```$", PAGE, re.DOTALL | re.MULTILINE)
    said = dedented_lines(SCRIPT.read_text(encoding="utf-8"))
    assert len(shown) == 3
    assert [block for block in shown if dedented_lines(block) not in said] == []
