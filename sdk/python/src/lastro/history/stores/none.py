"""The store that keeps nothing: `history=False` (HI-13)."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from lastro.history.contract import View
from lastro.history.errors import DecisionHistoryNotFound
from lastro.history.records import Outcome, SessionKey, Snapshot

T = TypeVar("T")


class NoStore:
    """Runs operations on nothing and forgets what they give."""

    def transact(
        self,
        key: SessionKey,
        operation: Callable[[View | None], Outcome[T]],
        *,
        worker: str = "",
        create: bool = True,
    ) -> T:
        """Run the operation."""
        return operation(None).result

    async def atransact(
        self,
        key: SessionKey,
        operation: Callable[[View | None], Awaitable[Outcome[T]]],
        *,
        worker: str = "",
        create: bool = True,
    ) -> T:
        """Run the operation."""
        return (await operation(None)).result

    def read(self, key: SessionKey) -> Snapshot | None:
        """Give nothing."""
        return None

    async def aread(self, key: SessionKey) -> Snapshot | None:
        """Give nothing."""
        return None

    def fork(self, key: SessionKey, to: SessionKey, *, at: str) -> None:
        """Find nothing to fork."""
        raise DecisionHistoryNotFound

    async def afork(self, key: SessionKey, to: SessionKey, *, at: str) -> None:
        """Find nothing to fork."""
        raise DecisionHistoryNotFound

    def recover(self, key: SessionKey, *, worker_stopped: bool = False) -> None:
        """Find nothing to recover."""
        raise DecisionHistoryNotFound

    async def arecover(self, key: SessionKey, *, worker_stopped: bool = False) -> None:
        """Find nothing to recover."""
        raise DecisionHistoryNotFound

    def delete(self, key: SessionKey) -> None:
        """Find nothing to delete, which is no error."""

    async def adelete(self, key: SessionKey) -> None:
        """Find nothing to delete, which is no error."""

    def close(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Do nothing."""
