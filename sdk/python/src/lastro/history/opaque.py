"""Another framework's records in a session: kept as they are, listed, taken back (HI-25)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

from lastro.history.contract import View
from lastro.history.records import Item, Message, NewItem, Outcome
from lastro.history.stores.appends import removal

T = TypeVar("T")


class Transacting(Protocol):
    """What opaque items ask of their session."""

    def append(self, messages: Sequence[Message | NewItem], *, key: str = "") -> tuple[str, ...]:
        """Keep messages."""
        ...

    async def aappend(self, messages: Sequence[Message | NewItem], *, key: str = "") -> tuple[str, ...]:
        """Do as `append`."""
        ...

    def transact(self, operation: Callable[[View | None], Outcome[T]]) -> T:
        """Run an operation on the session."""
        ...

    async def atransact(self, operation: Callable[[View | None], Outcome[T]]) -> T:
        """Do as `transact`."""
        ...

    def now(self) -> float:
        """Give the time."""
        ...


@dataclass(frozen=True, slots=True)
class OpaqueItems:
    """The opaque items of a session; no part of any window, but of what the store's bounds count.

    Taking one back appends a record that says so; the next access to the session sweeps both away.
    """

    session: Transacting

    def add(self, records: Sequence[Message], *, key: str = "") -> tuple[str, ...]:
        """Keep JSON objects and give their ids; the same key again is the first answer (DecisionHistoryConflict)."""
        return self.session.append(opaque(records), key=key)

    async def aadd(self, records: Sequence[Message], *, key: str = "") -> tuple[str, ...]:
        """Do as `add`."""
        return await self.session.aappend(opaque(records), key=key)

    def list(self, limit: int | None = None) -> tuple[Item, ...]:
        """Give what was kept and not taken back, in the order of keeping; with a limit, the newest of it."""
        return self.session.transact(lambda view: Outcome(self._newest(view, limit)[::-1]))

    async def alist(self, limit: int | None = None) -> tuple[Item, ...]:
        """Do as `list`."""
        return await self.session.atransact(lambda view: Outcome(self._newest(view, limit)[::-1]))

    def pop(self) -> Item | None:
        """Take the newest back, None where there is none."""
        return self.session.transact(self._popped)

    async def apop(self) -> Item | None:
        """Do as `pop`."""
        return await self.session.atransact(self._popped)

    def clear(self) -> None:
        """Take all of it back."""
        self.session.transact(self._cleared)

    async def aclear(self) -> None:
        """Do as `clear`."""
        await self.session.atransact(self._cleared)

    def _newest(self, view: View | None, limit: int | None) -> tuple[Item, ...]:
        return tuple(islice(self._live(view), limit))

    def _live(self, view: View | None) -> Iterator[Item]:
        now = self.session.now()
        found = iter(()) if view is None else view.opaque()
        return (item for item in found if item.expires_at is None or item.expires_at > now)

    def _popped(self, view: View | None) -> Outcome[Item | None]:
        newest = next(self._live(view), None)
        return Outcome(newest, () if newest is None else (removal([newest.id]),))

    def _cleared(self, view: View | None) -> Outcome[None]:
        return Outcome(None, (removal(),) if self._newest(view, 1) else ())


def opaque(records: Sequence[Message]) -> tuple[NewItem, ...]:
    """Give records as what is appended."""
    return tuple(NewItem(record, kind="opaque") for record in records)
