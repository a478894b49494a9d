"""The examples of the SDK's README run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import factories
from tests.server import Server
from workspaces.types import WorkspaceRef

README = Path(__file__).resolve().parents[2] / "sdk" / "python" / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
ON_A_SERVER = [example for example in EXAMPLES if "LASTRO_KEY" in example]


@pytest.mark.parametrize("number", range(len(ON_A_SERVER)))
def test_an_example(number: int, shop: WorkspaceRef, server: Server, model: dict[str, str]) -> None:
    """SD-1 to SD-10: each example that needs a server runs by itself, against a real one."""
    for feature in ("history", "context"):
        factories.switch(shop, feature, on=True)
    key = factories.make_key(shop, "agent_state", "history", "context")
    variables = {**model, "LASTRO_KEY": key, "LASTRO_URL": server.url, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ON_A_SERVER[number]],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr


def test_there_are_examples() -> None:
    """SD-1: none was lost to a change of the page."""
    assert len(ON_A_SERVER) >= 9
