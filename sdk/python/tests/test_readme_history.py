"""The README's examples of history and decisions run as they stand, with fake providers behind the real packages."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import Loopback
from loopback.obliging import obliging

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = [
    example
    for example in re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    if "LASTRO_KEY" not in example
]


@pytest.fixture
def providers() -> Iterator[dict[str, str]]:
    """Fake providers, as the variables by which the packages find them."""
    with Loopback() as loopback:
        loopback.answers(*[obliging] * 10)
        yield {
            **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "k"),
            "OPENAI_BASE_URL": f"{loopback.url}/v1",
            "ANTHROPIC_BASE_URL": loopback.url,
            "GOOGLE_GEMINI_BASE_URL": loopback.url,
            "NO_PROXY": "127.0.0.1",
        }


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example(number: int, providers: dict[str, str], tmp_path: Path) -> None:
    """SD-8: each example runs by itself, over the providers' own packages."""
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES[number]],
        env={**os.environ, **providers, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_there_are_examples() -> None:
    """SD-8: none was lost to a change of the page."""
    assert len(EXAMPLES) >= 12
