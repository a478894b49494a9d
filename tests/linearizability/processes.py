"""Signals to a process and everything below it, and its start with the same command."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def below(pid: int) -> Iterator[int]:
    """Give the descendants of a process, also those with a session of their own."""
    with suppress(FileNotFoundError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield int(child)
                yield from below(int(child))


def freeze(pid: int) -> None:
    """Let a process and everything below it stand still, those that it starts meanwhile too."""
    still: set[int] = set()
    while fresh := {pid, *below(pid)} - still:
        for each in fresh:
            _send(each, signal.SIGSTOP)
        still |= fresh


def thaw(pid: int) -> None:
    """Let it go on."""
    for each in (pid, *below(pid)):
        _send(each, signal.SIGCONT)


def kill(pid: int) -> None:
    """End a process and everything below it by SIGKILL."""
    freeze(pid)
    for each in [*below(pid), pid]:
        _send(each, signal.SIGKILL)


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
