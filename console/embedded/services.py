"""The run's hold on the services: started by a keeper, gone when the hold is released."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from console.embedded.errors import EmbeddedError

PROJECT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 60


@dataclass(frozen=True)
class Services:
    """The variables that lead to the services, and a folder of our own that goes with them."""

    variables: Mapping[str, str]
    scratch: Path
    keeper: subprocess.Popen[str]


@contextmanager
def embedded_services(*, environment: Mapping[str, str]) -> Iterator[Services]:
    """Start the services that the environment does not already name (PL-14), and stop them at the end."""
    keeper = subprocess.Popen(
        [sys.executable, "-m", "console.embedded", "keep", *wanted_services(environment)],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield _announced(keeper)
    finally:
        _release(keeper)


def wanted_services(environment: Mapping[str, str]) -> Sequence[str]:
    """Answer which services nobody else provides."""
    needs = {"postgres": ("DATABASE_URL", "KEYS_DATABASE_URL"), "valkey": ("HOT_STORE_URL", "BROKER_URL")}
    return [name for name, variables in needs.items() if not all(map(environment.get, variables))]


def _announced(keeper: subprocess.Popen[str]) -> Services:
    assert keeper.stdout is not None  # noqa: S101 - asked for with PIPE
    line = keeper.stdout.readline()
    if not line:
        raise EmbeddedError("The services did not start.")
    said = json.loads(line)
    scratch = Path(said["folder"]) / "scratch"
    scratch.mkdir(mode=0o700)
    return Services(variables=said["variables"], scratch=scratch, keeper=keeper)


def _release(keeper: subprocess.Popen[str]) -> None:
    assert keeper.stdin is not None  # noqa: S101 - asked for with PIPE
    keeper.stdin.close()
    try:
        keeper.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()
    if keeper.stdout:
        keeper.stdout.close()
