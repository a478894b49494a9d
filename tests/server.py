"""A real server for tests: granian over the test database, with its log in a file."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import httpx
from django.conf import settings
from django.db import connections


def database_urls_of_tests() -> dict[str, str]:
    """Give the URLs of both databases that this test process uses, as the application's roles."""
    return {"DATABASE_URL": database_url_of_tests(), "KEYS_DATABASE_URL": database_url_of_tests("keys")}


def database_url_of_tests(alias: str = "default") -> str:
    """Give the URL of one of the databases that this test process uses."""
    settings = connections[alias].settings_dict
    host, port = settings["HOST"], settings["PORT"] or "5432"
    user, password = quote(settings["USER"]), quote(settings["PASSWORD"])
    options = settings.get("OPTIONS", {})
    query = f"?host={options['host']}" if "host" in options else ""
    return f"postgres://{user}:{password}@{host}:{port}/{settings['NAME']}{query}"


class Server:
    """One granian with two workers; it can be killed at any moment and started again on the same port."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "server.log"
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Server":
        """Start and wait until it answers."""
        command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1"]
        command += ["--port", str(self.port), "--workers", "2", "--blocking-threads", "4"]
        command += ["--no-access-log", "console.wsgi:application"]
        environment = {**os.environ, **database_urls_of_tests(), **_own(), "LASTRO_BASE_URL": self.url}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, env=environment | self._environment, stdout=log, stderr=log, start_new_session=True
            )
        self._wait()
        return self

    def kill(self) -> None:
        """End every process of it by SIGKILL."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    stop = kill

    def _wait(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/healthz", trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise RuntimeError(f"The server did not start: {self.log.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _own() -> dict[str, str]:
    """Give what keeps the servers of parallel workers apart."""
    return {"HOT_STORE_GENERATION": str(settings.HOT_STORE_GENERATION)}
