"""A real server for tests: reader, writer and front over the test database, with their log in one file."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

import httpx
from django.conf import settings
from django.db import connections

from console.embedded.front import TRUSTED, Ports
from console.embedded.parts import Size, web_commands
from console.embedded.port import HOST, reserved_port

FIRST_PORT = 21_000
"""Below the ports that the system gives to callers, so that a server finds its own again after a kill."""
START_SECONDS = 60


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
    """Reader, writer and front; each can be killed or held at any moment, and started again on the same port."""

    def __init__(self, folder: Path, *, size: Size = Size(workers=1), **environment: str) -> None:  # noqa: B008
        self.log = folder / "server.log"
        self._folder, self._size, self._environment = folder, size, environment
        self._reserved = ExitStack()
        self._ports = Ports(
            *(self._reserved.enter_context(reserved_port(first=FIRST_PORT)) for _ in range(3))
        )
        self.port = self._ports.front
        self.url = f"http://{HOST}:{self.port}"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> "Server":
        """Start what does not run, all at once, and wait until it answers.

        As the supervisor of a deployment would: a server whose worker dies twice within seconds ends itself.
        """
        self._processes = {name: each for name, each in self._processes.items() if each.poll() is None}
        for name, command in web_commands(self._ports, folder=self._folder, size=self._size).items():
            if name not in self._processes:
                self._processes[name] = self._started(command)
        self._wait()
        return self

    def kill(self, *names: str) -> None:
        """End by SIGKILL every process of the named parts, or of all."""
        ended = [self._processes.pop(name) for name in names or tuple(self._processes)]
        for process in ended:
            os.killpg(process.pid, signal.SIGKILL)
        for process in ended:
            process.wait()

    def end(self, name: str) -> None:
        """End one part in order, as a supervisor would, and wait until it has."""
        process = self._processes.pop(name)
        process.terminate()
        process.wait(START_SECONDS)

    def stop(self) -> None:
        """End all of it, and give its ports back."""
        self.kill()
        self._reserved.close()

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Let every process of one part stand still for a while."""
        group = self._processes[name].pid
        os.killpg(group, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(group, signal.SIGCONT)

    def workers(self, name: str) -> list[int]:
        """Give the process ids of the workers of the reader or the writer."""
        pid = self._processes[name].pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def url_of(self, name: str) -> str:
        """Give the address of one part, past the front."""
        return f"http://{HOST}:{getattr(self._ports, name)}"

    def _started(self, command: Sequence[str]) -> "subprocess.Popen[bytes]":
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command, env=dict(self._variables()), stdout=log, stderr=log, start_new_session=True
            )

    def _variables(self) -> Mapping[str, str]:
        apart = {"HOT_STORE_GENERATION": str(settings.HOT_STORE_GENERATION)}
        own = {**database_urls_of_tests(), **apart, "LASTRO_BASE_URL": self.url, "TRUSTED_PROXIES": TRUSTED}
        return {**os.environ, **own, **self._environment}

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        waiting = [self.url_of("reader"), self.url]
        while waiting and time.monotonic() < deadline:
            waiting = [url for url in waiting if not _answers(url)]
            time.sleep(0.02 if waiting else 0)
        if waiting:
            raise RuntimeError(f"The server did not start: {self.log.read_text()[-2000:]}")


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
