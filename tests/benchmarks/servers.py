"""A small HTTP server for the tests of the load, which answers as it is told."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def answering(answer: Callable[[bytes], list[bytes]]) -> Iterator[tuple[str, int]]:
    """Answer every request with some segments, each sent for itself."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_accept, args=(listener, answer), daemon=True)
        thread.start()
        yield listener.getsockname()


def _accept(listener: socket.socket, answer: Callable[[bytes], list[bytes]]) -> None:
    while True:
        try:
            connection = listener.accept()[0]
        except OSError:
            return
        threading.Thread(target=_serve, args=(connection, answer), daemon=True).start()


def _serve(connection: socket.socket, answer: Callable[[bytes], list[bytes]]) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while request := connection.recv(65_536):
            for segment in answer(request):
                connection.sendall(segment)
    except OSError:
        connection.close()
