"""Workers in processes of their own, for tests that stop them (HI-5, HI-7)."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def started(name: str, *words: object) -> "subprocess.Popen[str]":
    """Start a worker; it says in lines what it did, and reads lines for what to do next."""
    command = [sys.executable, "-m", f"store_workers.{name}", *map(str, words)]
    return subprocess.Popen(
        command, cwd=HERE.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def heard(worker: "subprocess.Popen[str]") -> str:
    """Wait for the next line of a worker."""
    assert worker.stdout is not None
    return worker.stdout.readline().strip()


def told(worker: "subprocess.Popen[str]", line: str) -> None:
    """Tell a worker to go on."""
    assert worker.stdin is not None
    worker.stdin.write(f"{line}\n")
    worker.stdin.flush()


def killed(worker: "subprocess.Popen[str]") -> None:
    """Stop a worker as a power cut would, and wait for its end."""
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        if pipe is not None:
            pipe.close()
