"""Free ports for the front and the web servers, reserved for as long as the run lasts."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

from console.embedded.errors import EmbeddedError

HOST = "127.0.0.1"
FIRST = 8000
FIRST_BEHIND = 18000
TRIES = 200


@contextmanager
def reserved_port(*, first: int = FIRST) -> Iterator[int]:
    """Give the first port, or the next one that is free, and keep other runs from taking it."""
    for port in range(first, first + TRIES):
        reservation = _reserve(port)
        if reservation:
            with closing(reservation):
                yield port
            return
    raise EmbeddedError(f"No free port between {first} and {first + TRIES - 1}.")


def _reserve(port: int) -> socket.socket | None:
    # The web server binds with SO_REUSEPORT: a second one on the same port would start, and the two would
    # share the requests. A name in the abstract namespace, which ends with its holder, tells our runs apart.
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0lastro-port-{port}")
    except FileNotFoundError:
        pass  # not Linux: no such namespace, and only the probe
    except OSError:
        name.close()
        return None
    if _is_free(port):
        return name
    name.close()
    return None


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Connections of a server that has just ended do not count, a server that listens does.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
