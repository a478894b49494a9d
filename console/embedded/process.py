"""Start and stop child processes that never outlive us."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from console.embedded.account import Account
from console.embedded.errors import EmbeddedError

POLL_SECONDS = 0.01
READY_SECONDS = 60
TAIL_LINES = 8


def tied(command: Sequence[str | Path], *, death_signal: str) -> list[str]:
    """Prefix a command so that Linux signals it when its parent dies, even by SIGKILL.

    setpriv asks for it after the account has changed: asked for earlier, the kernel would forget it there.
    """
    setpriv = shutil.which("setpriv")
    prefix = [setpriv, "--pdeathsig", death_signal] if setpriv else []
    return [*prefix, *map(str, command)]


@dataclass(frozen=True)
class Service:
    """A running service, and the variables that lead to it."""

    name: str
    child: subprocess.Popen[bytes]
    log: Path
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Stage:
    """Where, as whom and under which lock a service and its tools run."""

    folder: Path
    account: Account | None
    lock: int

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    def secret_file(self, name: str, text: str) -> Path:
        """Write a file that only the service's account (and root) can read."""
        path = self.folder / name
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as file:
            if self.account:
                os.fchown(descriptor, self.account.uid, self.account.gid)
            file.write(text)
        return path

    def run_tool(self, command: Sequence[str | Path], *, variables: Mapping[str, str] | None = None) -> None:
        """Run a tool of the service to its end, or raise with what it said."""
        done = subprocess.run(
            [*map(str, command)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env=_bare_environment() | dict(variables or {}),
            user=self.account.uid if self.account else None,
            group=self.account.gid if self.account else None,
            extra_groups=[] if self.account else None,
        )
        if done.returncode:
            raise EmbeddedError(
                f"{Path(command[0]).name} ended with {done.returncode}: {done.stderr.strip()}"
            )

    def start(self, command: Sequence[str | Path], *, death_signal: str) -> subprocess.Popen[bytes]:
        """Start a service, tied to us; it holds the folder's lock as long as it lives."""
        with private_log(self.log) as log:
            return subprocess.Popen(
                tied(command, death_signal=death_signal),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=_bare_environment(),
                pass_fds=(self.lock,),
                user=self.account.uid if self.account else None,
                group=self.account.gid if self.account else None,
                extra_groups=[] if self.account else None,
            )


def private_log(path: Path) -> BinaryIO:
    """Open a log for appending that only we can read."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "ab")


def wait_ready(child: subprocess.Popen[bytes], is_ready: Callable[[], bool], *, name: str, log: Path) -> None:
    """Wait until a child is ready, or raise with the end of its log."""
    deadline = time.monotonic() + READY_SECONDS
    while not is_ready():
        if child.poll() is not None:
            raise EmbeddedError(f"{name} ended with {child.returncode} before it was ready.{tail(log)}")
        if time.monotonic() > deadline:
            raise EmbeddedError(f"{name} was not ready after {READY_SECONDS} seconds.{tail(log)}")
        time.sleep(POLL_SECONDS)


def stop(child: subprocess.Popen[bytes], *requests: tuple[signal.Signals, float]) -> None:
    """Ask a child to end, signal by signal with its patience in seconds, and kill it at last."""
    for number, patience_seconds in requests:
        if child.poll() is None:
            child.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                child.wait(patience_seconds)
    if child.poll() is None:
        child.kill()
        child.wait()


def tail(log: Path) -> str:
    """Answer the last lines of a log, indented, for the end of an error."""
    try:
        lines = log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
    except OSError:
        return ""
    return "".join(f"\n    {line}" for line in lines)


def _bare_environment() -> dict[str, str]:
    # Not ours: PGPORT, PGDATA or LD_LIBRARY_PATH of the person's shell would change the service.
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
