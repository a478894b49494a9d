"""The processes of the demo that stay up: web server, worker and scheduler."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from console.embedded.process import private_log, tied
from console.embedded.services import PROJECT

STOP_SECONDS = 15


@dataclass(frozen=True)
class Part:
    """One process, with the log that it writes."""

    name: str
    child: subprocess.Popen[bytes]
    log: Path


def commands(*, port: int, scratch: Path) -> Mapping[str, Sequence[str]]:
    """Answer what runs, as in production but for the sizes (PL-14)."""
    celery = ("celery", "-A", "console")
    return {
        "web": (
            *("granian", "--interface", "wsgi", "--workers", "2", "--blocking-threads", "4"),
            *("--host", "127.0.0.1", "--port", str(port), "console.wsgi:application"),
        ),
        "worker": (
            *celery,
            "worker",
            "--concurrency",
            "2",
            "--without-gossip",
            "--without-mingle",
            "-l",
            "INFO",
        ),
        "beat": (*celery, "beat", "--schedule", str(scratch / "beat-schedule"), "-l", "INFO"),
    }


@contextmanager
def running_parts(
    wanted: Mapping[str, Sequence[str]], *, variables: Mapping[str, str], logs: Path
) -> Iterator[Sequence[Part]]:
    """Start the parts, each with a log of its own, and stop them together at the end."""
    parts: list[Part] = []
    try:
        for name, module in wanted.items():
            parts.append(_start(name, module, variables=variables, log=logs / f"{name}.log"))
        yield parts
    finally:
        for part in parts:
            part.child.terminate()
        for part in parts:
            _wait_or_kill(part)


def _start(name: str, module: Sequence[str], *, variables: Mapping[str, str], log: Path) -> Part:
    with private_log(log) as output:
        child = subprocess.Popen(
            tied([sys.executable, "-m", *module], death_signal="TERM"),
            cwd=PROJECT,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C is for us; we stop them in order
        )
    return Part(name=name, child=child, log=log)


def _wait_or_kill(part: Part) -> None:
    with suppress(subprocess.TimeoutExpired):
        part.child.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):  # a web server that was killed leaves its workers behind
        os.killpg(part.child.pid, signal.SIGKILL)
    part.child.wait()
