"""The processes of the demo that stay up: reader, writer and their front, worker and scheduler."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from console.embedded.front import Ports, front_command
from console.embedded.port import HOST
from console.embedded.process import private_log, tied
from console.embedded.services import PROJECT

STOP_SECONDS = 15


@dataclass(frozen=True)
class Part:
    """One process, with the log that it writes."""

    name: str
    child: subprocess.Popen[bytes]
    log: Path


@dataclass(frozen=True)
class Size:
    """How much of the machine the web servers take: workers of each, and threads in each worker.

    A reader waits for the hot store alone: more than two threads only hand the interpreter's lock around. A writer's
    threads also wait for the database.
    """

    workers: int = 2
    reader_threads: int = 2
    writer_threads: int = 4


def commands(ports: Ports, *, folder: Path) -> Mapping[str, Sequence[str]]:
    """Answer what runs, as in production but for the sizes, in the order in which it is needed (PL-14)."""
    celery = (sys.executable, "-m", "celery", "-A", "console")
    worker = (*celery, "worker", "--concurrency", "2", "--without-gossip", "--without-mingle", "-l", "INFO")
    beat = (*celery, "beat", "--schedule", str(folder / "beat-schedule"), "-l", "INFO")
    return {"worker": worker, "beat": beat, **web_commands(ports, folder=folder)}


def web_commands(ports: Ports, *, folder: Path, size: Size = Size()) -> Mapping[str, Sequence[str]]:
    """Answer reader, writer and front, whose configuration is written into the folder (WM-19).

    The servers need `TRUSTED_PROXIES` set to `front.TRUSTED`, and `PROMETHEUS_MULTIPROC_DIR` to one folder of both.
    """
    return {
        "reader": web_server(port=ports.reader, workers=size.workers, threads=size.reader_threads),
        "writer": web_server(port=ports.writer, workers=size.workers, threads=size.writer_threads),
        "front": front_command(ports, folder=folder),
    }


def web_server(*, port: int, workers: int, threads: int) -> Sequence[str]:
    """Answer one granian over the whole application; a worker that was killed is started again."""
    return (
        *(sys.executable, "-m", "granian", "--interface", "wsgi", "--host", HOST, "--port", str(port)),
        *("--workers", str(workers), "--blocking-threads", str(threads), "--runtime-threads", "1"),
        *(
            "--http",
            "1",
            "--no-ws",
            "--no-access-log",
            "--respawn-failed-workers",
            "--respawn-interval",
            "0.5",
        ),
        "console.wsgi:application",
    )


@contextmanager
def running_parts(
    wanted: Mapping[str, Sequence[str]], *, variables: Mapping[str, str], logs: Path
) -> Iterator[Sequence[Part]]:
    """Start the parts, each with a log of its own; at the end stop the front first, then the others together."""
    parts: list[Part] = []
    try:
        for name, command in wanted.items():
            parts.append(_start(name, command, variables=variables, log=logs / f"{name}.log"))
        yield parts
    finally:
        _stop([part for part in parts if part.name == "front"])
        _stop([part for part in parts if part.name != "front"])


def _stop(parts: Sequence[Part]) -> None:
    for part in parts:
        part.child.terminate()
    for part in parts:
        _wait_or_kill(part)


def _start(name: str, command: Sequence[str], *, variables: Mapping[str, str], log: Path) -> Part:
    with private_log(log) as output:
        child = subprocess.Popen(
            tied(command, death_signal="TERM"),
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
