"""Run one command on embedded services, and end as it ends."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from console.embedded.errors import EmbeddedError, Stopped
from console.embedded.process import tied
from console.embedded.services import embedded_services
from console.embedded.variables import completed

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(command: Sequence[str], *, badge: str) -> int:
    """Start the services, run the command with their addresses, and answer its exit code."""
    with stoppable(), embedded_services(environment=os.environ) as services:
        return run_to_end(command, variables=completed(os.environ, services, badge=badge))


@contextmanager
def stoppable() -> Iterator[None]:
    """Turn the signals that end a run into `Stopped`, so that everything on the way out is cleaned up."""
    before = {number: signal.signal(number, _raise_stopped) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_to_end(command: Sequence[str], *, variables: Mapping[str, str]) -> int:
    """Run a command in the foreground, forward signals to it, and answer its exit code as a shell would."""
    try:
        child = subprocess.Popen(tied(command, death_signal="TERM"), env=dict(variables))
    except OSError as error:
        raise EmbeddedError(f"Cannot run {command[0]}: {error.strerror}.") from error
    while True:
        try:
            code = child.wait()
            return code if code >= 0 else 128 - code
        except Stopped as stopped:
            _forward(stopped.number, child)


def _forward(number: int, child: subprocess.Popen[bytes]) -> None:
    if number != signal.SIGINT or not _in_foreground():
        child.send_signal(number)


def _in_foreground() -> bool:
    # Then the terminal has sent the Ctrl-C to the child too, and a second one would cut its clean-up short.
    with suppress(OSError):
        return os.tcgetpgrp(0) == os.getpgrp()
    return False


def _raise_stopped(number: int, _frame: FrameType | None) -> None:
    raise Stopped(number)
