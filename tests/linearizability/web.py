"""The web servers under test, over the services of the test alone, with an application of the test's choice."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from console.embedded.port import HOST
from console.embedded.services import PROJECT
from tests.linearizability import processes

SOUND = "console.wsgi:application"
START_SECONDS = 60


class Web:
    """Servers by name behind one URL; each can be killed at any moment and started again on the same port."""

    def __init__(self, port: int, folder: Path, variables: Mapping[str, str], application: str) -> None:
        self.url = f"http://{HOST}:{port}"
        self.log = folder / "server.log"
        self._port, self._application = port, application
        self._variables = {**os.environ, **variables, "LASTRO_BASE_URL": self.url}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Give the servers, without what only passes requests on."""
        return ("web",)

    def start(self) -> "Web":
        """Start what does not run, and wait until it answers."""
        for name in self.names:
            if name not in self._processes:
                self._processes[name] = self._started()
        self._wait()
        return self

    def kill(self, *names: str) -> None:
        """End by SIGKILL every process of the named servers, or of all."""
        for name in names or tuple(self._processes):
            process = self._processes.pop(name)
            processes.kill(process.pid)
            process.wait()

    def workers(self, name: str) -> list[int]:
        """Give the process ids of the workers of a server."""
        return list(processes.below(self._processes[name].pid))

    def _started(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", HOST]
        command += ["--port", str(self._port), "--workers", "3", "--blocking-threads", "4", "--no-access-log"]
        command += ["--respawn-failed-workers", "--respawn-interval", "0.5", self._application]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command, cwd=PROJECT, env=self._variables, stdout=log, stderr=log, start_new_session=True
            )

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/healthz", trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise RuntimeError(f"The server did not start: {self.log.read_text()[-2000:]}")
