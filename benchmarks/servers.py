"""The servers under load: ours and hello world, with the same workers and threads behind the same front."""

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from console.embedded.front import TRUSTED, Ports, front_command
from console.embedded.parts import Part, Size, running_parts, web_commands, web_server
from console.embedded.port import HOST, reserved_port
from console.embedded.process import wait_ready

APPLICATION = "console.wsgi:application"
HELLO = "benchmarks.hello.wsgi:application"
FIRST_PORT = 8600
USUAL = Size()

LIMITS = dict.fromkeys(
    ("RATE_PER_KEY", "BURST_PER_KEY", "RATE_PER_ADDRESS", "BURST_PER_ADDRESS"), "100000000"
)
"""One key asks here what a thousand would: the buckets are looked at as always, and never empty."""


class Served(msgspec.Struct, frozen=True):
    """A server that is up: where the front listens, and what stands behind it."""

    address: tuple[str, int]
    parts: tuple[Part, ...]


@contextmanager
def running_server(*, variables: Mapping[str, str], folder: Path, size: Size = USUAL) -> Iterator[Served]:
    """Start our reader, writer and front as a deployment would, and stop them at the end."""
    counts = folder / "counts"
    counts.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = {**LIMITS, **variables, "TRUSTED_PROXIES": TRUSTED, "PROMETHEUS_MULTIPROC_DIR": str(counts)}
    ours = partial(web_commands, size=size)
    with _running(ours, "/healthz", variables=own, folder=folder / "ours") as served:
        yield served


@contextmanager
def running_hello(*, variables: Mapping[str, str], folder: Path) -> Iterator[Served]:
    """Start hello world on one such server behind such a front, and stop it at the end."""
    with _running(_hello_commands, "/hello", variables=variables, folder=folder / "hello") as served:
        yield served


def _hello_commands(ports: Ports, *, folder: Path) -> Mapping[str, Sequence[str]]:
    ours = web_server(port=ports.writer, workers=USUAL.workers, threads=USUAL.reader_threads)
    hello = [HELLO if part == APPLICATION else part for part in ours]
    return {"hello": hello, "front": front_command(ports, folder=folder)}


@contextmanager
def _running(
    commands: Callable[..., Mapping[str, Sequence[str]]],
    probe: str,
    *,
    variables: Mapping[str, str],
    folder: Path,
) -> Iterator[Served]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        front, reader, writer = (
            stack.enter_context(reserved_port(first=FIRST_PORT + 20 * number)) for number in range(3)
        )
        ports = Ports(front=front, reader=reader, writer=writer)
        own = {**variables, "LASTRO_BASE_URL": f"http://{HOST}:{front}"}
        wanted = commands(ports, folder=folder)
        parts = stack.enter_context(running_parts(wanted, variables=own, logs=folder))
        listening = {"reader": reader, "writer": writer, "hello": writer, "front": front}
        for part in parts:
            _wait(part, (HOST, listening[part.name]), probe)
        yield Served(address=(HOST, front), parts=tuple(parts))


def _wait(part: Part, address: tuple[str, int], probe: str) -> None:
    wait_ready(part.child, lambda: answers(address, probe), name=f"The {part.name}", log=part.log)


def answers(address: tuple[str, int], path: str) -> bool:
    """Tell whether a server answers 200."""
    try:
        with socket.create_connection(address, timeout=5) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {HOST}\r\n\r\n".encode())
            return connection.recv(64)[8:12] == b" 200"
    except OSError:
        return False
