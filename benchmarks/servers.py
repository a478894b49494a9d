"""The servers under load: ours and hello world, with the same workers and threads behind the same front."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from console.embedded.parts import Part, commands, running_parts
from console.embedded.port import HOST, reserved_port
from console.embedded.process import wait_ready

APPLICATION = "console.wsgi:application"
HELLO = "benchmarks.hello.wsgi:application"

LIMITS = dict.fromkeys(
    ("RATE_PER_KEY", "BURST_PER_KEY", "RATE_PER_ADDRESS", "BURST_PER_ADDRESS"), "100000000"
)
"""One key asks here what a thousand would: the buckets are looked at as always, and never empty."""


class Served(msgspec.Struct, frozen=True):
    """A server that is up."""

    address: tuple[str, int]
    parts: tuple[Part, ...]


@contextmanager
def running_server(*, variables: Mapping[str, str], folder: Path) -> Iterator[Served]:
    """Start our server as a deployment would, and stop it at the end."""
    with _running(
        APPLICATION, "/healthz", variables=LIMITS | dict(variables), folder=folder / "ours"
    ) as served:
        yield served


@contextmanager
def running_hello(*, variables: Mapping[str, str], folder: Path) -> Iterator[Served]:
    """Start hello world in the same manner, and stop it at the end."""
    with _running(HELLO, "/hello", variables=variables, folder=folder / "hello") as served:
        yield served


@contextmanager
def _running(application: str, probe: str, *, variables: Mapping[str, str], folder: Path) -> Iterator[Served]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with reserved_port(first=8600) as port:
        web = commands(port=port, scratch=folder)["web"]
        command = [application if part == APPLICATION else part for part in web]
        own = {**variables, "LASTRO_BASE_URL": f"http://{HOST}:{port}"}
        with running_parts({"web": command}, variables=own, logs=folder) as parts:
            address = (HOST, port)
            wait_ready(parts[0].child, lambda: answers(address, probe), name=application, log=parts[0].log)
            yield Served(address=address, parts=tuple(parts))


def answers(address: tuple[str, int], path: str) -> bool:
    """Tell whether a server answers 200."""
    try:
        with socket.create_connection(address, timeout=5) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {HOST}\r\n\r\n".encode())
            return connection.recv(64)[8:12] == b" 200"
    except OSError:
        return False
