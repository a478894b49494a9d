"""A private Valkey on a Unix socket, without persistence: hot store in database 0, broker in 1 (PL-13)."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from console.embedded.binaries import Binaries
from console.embedded.process import Service, Stage, stop, wait_ready

OPTIONS = (
    *("--port", "0", "--unixsocketperm", "700", "--daemonize", "no"),
    *("--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"),
)


@contextmanager
def running_valkey(stage: Stage, binaries: Binaries) -> Iterator[Service]:
    """Start Valkey, give the URL of the hot store and the one of the broker, and stop it at the end."""
    path = stage.folder / "valkey.sock"
    child = stage.start(
        [binaries.valkey, "--unixsocket", path, "--dir", stage.folder, *OPTIONS], death_signal="TERM"
    )
    try:
        wait_ready(child, lambda: _is_ready(path), name="Valkey", log=stage.log)
        quoted = quote(str(path))
        variables = {
            "HOT_STORE_URL": f"unix://{quoted}?db=0",
            "BROKER_URL": f"redis+socket://{quoted}?virtual_host=1",
        }
        yield Service(name="Valkey", child=child, log=stage.log, variables=variables)
    finally:
        stop(child, (signal.SIGTERM, 10))


def _is_ready(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        try:
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
