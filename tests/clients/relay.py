"""A line to a server that can fail: a relay of TCP, which fails while a file is there."""

import selectors
import socket
import threading
from pathlib import Path
from types import TracebackType


class Relay:
    """Passes bytes between its own port and a server's.

    While the file `switch` exists it drops every connection; while `deaf` exists it drops one at the first byte of an
    answer, so that the server has done what the client never hears of.
    """

    def __init__(self, port: int, switch: Path, deaf: Path) -> None:
        self._target, self._switch, self._deaf = port, switch, deaf
        self._servers: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._peers: dict[socket.socket, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Relay":
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._cut()
        self._listener.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            ready = [key.fileobj for key, _ in self._selector.select(timeout=0.01)]
            if self._switch.exists():
                self._cut()
            for end in ready:
                if end is self._listener:
                    self._accept()
                elif isinstance(end, socket.socket) and end in self._peers:
                    self._pass(end)

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        if self._switch.exists():
            near.close()
            return
        far = socket.create_connection(("127.0.0.1", self._target))
        self._servers.add(far)
        for end, other in ((near, far), (far, near)):
            self._peers[end] = other
            self._selector.register(end, selectors.EVENT_READ)

    def _pass(self, end: socket.socket) -> None:
        try:
            data = end.recv(65536)
            if data and not (end in self._servers and self._deaf.exists()):
                self._peers[end].sendall(data)
                return
        except OSError:
            pass
        self._drop(end)

    def _drop(self, end: socket.socket) -> None:
        for each in (end, self._peers[end]):
            self._selector.unregister(each)
            del self._peers[each]
            self._servers.discard(each)
            each.close()

    def _cut(self) -> None:
        for end in list(self._peers):
            if end in self._peers:
                self._drop(end)
