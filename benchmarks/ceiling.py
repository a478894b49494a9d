"""What our own load could do at most: against a server that answers the same bytes to everything."""

import multiprocessing
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.load import Over
from benchmarks.scripts import Get

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n" + b'{"hello":"world"}'
)


@contextmanager
def ceiling(*, clients: int) -> Iterator[Over]:
    """Give the contender that only our load holds back."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address: tuple[str, int] = listener.getsockname()
        server = multiprocessing.get_context("fork").Process(
            target=_answer_all, args=(listener,), daemon=True
        )
        server.start()
        try:
            yield Over(address, [Get("/") for _ in range(clients)])
        finally:
            server.terminate()
            server.join()


def _answer_all(listener: socket.socket) -> None:
    poll, connections = select.poll(), dict[int, socket.socket]()
    poll.register(listener.fileno(), select.POLLIN)
    while True:
        for number, _ in poll.poll():
            if number == listener.fileno():
                connection = listener.accept()[0]
                connections[connection.fileno()] = connection
                poll.register(connection.fileno(), select.POLLIN)
            elif connections[number].recv(65_536):
                connections[number].sendall(ANSWER)
            else:
                poll.unregister(number)
                connections.pop(number).close()
