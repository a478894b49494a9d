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
IN_MEMORY = [example for example in EXAMPLES if "LASTRO_KEY" in example]


@pytest.mark.parametrize("number", range(len(IN_MEMORY)))
def test_an_example(number: int, shop: WorkspaceRef, server: Server) -> None:
    """SD-1 to SD-7: each example about working memory runs by itself, against a real server."""
    variables = {"LASTRO_KEY": factories.make_key(shop), "LASTRO_URL": server.url, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IN_MEMORY[number]],
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
    assert len(IN_MEMORY) >= 6
