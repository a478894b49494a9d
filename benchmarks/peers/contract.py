"""What a peer does: the same body written and read again, each client in a place of its own."""

from typing import Any, Protocol

Body = dict[str, Any]


class SyncPeer(Protocol):
    """A peer whose calls block: one thread per client."""

    def open(self, url: str, *, clients: int) -> None: ...

    def prepare(self, client: int, body: Body) -> None: ...

    def write(self, client: int) -> None: ...

    def read(self, client: int) -> None: ...

    def close(self) -> None: ...


class AsyncPeer(Protocol):
    """A peer whose calls are awaited: one task per client, all in one loop."""

    async def open(self, url: str, *, clients: int) -> None: ...

    async def prepare(self, client: int, body: Body) -> None: ...

    async def write(self, client: int) -> None: ...

    async def read(self, client: int) -> None: ...

    async def close(self) -> None: ...


class NotThere(Exception):
    """A read that did not give what was written."""


def require(is_right: object) -> None:
    """Refuse to count what is not there."""
    if not is_right:
        raise NotThere
