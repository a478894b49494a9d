"""Working memory between the two stores: what readers are served, and a writer's turn (WM-18 to WM-20)."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import msgspec
from django.utils import timezone

from agentstate import access
from agentstate.access import Place
from agentstate.types import StateRow
from workspaces import coherence, hotstore
from workspaces.errors import OutcomeUnknown, Problem
from workspaces.hotstore import HotStoreDown, Mark, Seen

_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")
_decoder = msgspec.msgpack.Decoder(StateRow | None)


def current(place: Place, seen: Seen | None = None) -> StateRow | None:
    """Give the row of a state: from the hot store, else from the database, which no writer blocks (WM-19)."""
    seen = seen if seen is not None else coherence.look(place.name)
    payload = coherence.served(place.name, seen, lambda: _entry(access.read_row(place)))
    return _decoder.decode(payload)


class Turn:
    """One write: its marker, what the hot store held when it was put, and what is to be published."""

    def __init__(self, place: Place, marked: Mark | None) -> None:
        self.place = place
        # After this moment the write must not commit, since its marker may be lifted (WM-20).
        self.commit_until = timezone.now() + timedelta(seconds=hotstore.COMMIT_WITHIN_SECONDS)
        self._marked = marked
        self._is_known = self._is_gone = False
        self._row: StateRow | None = None
        self.has_changed = False

    @property
    def is_alone(self) -> bool:
        """Tell whether no other writer of the state is at work."""
        return self._marked is not None and self._marked.others == 0

    def current(self) -> StateRow | None:
        """Give the row as the hot store held it when the marker was put, else from the database."""
        entry = self._marked.entry if self._marked is not None else None
        return _decoder.decode(entry) if entry is not None else access.read_row(self.place)

    def leaves(self, row: StateRow | None, *, changed: bool) -> None:
        """Note what the database holds at the end of the turn, and whether the turn changed it."""
        self._is_known, self._row, self.has_changed = True, row, changed

    def removes(self) -> None:
        """Note that nothing of the state may be served any more."""
        self._is_gone = self.has_changed = True

    def finish(self) -> None:
        """Publish what is stored and lift the marker; a change that cannot be published is not known to hold."""
        try:
            self._publish()
        except HotStoreDown as error:
            if self.has_changed:
                raise OutcomeUnknown from error

    def _publish(self) -> None:
        if self._marked is None:
            return
        if self._is_gone:
            hotstore.drop(self._marked)
        elif not self._is_known:
            hotstore.lift(self._marked)
        else:
            change, payload = _entry(self._row)
            hotstore.publish(self._marked, change=change, payload=payload)


@contextmanager
def turn(place: Place) -> Iterator[Turn]:
    """Take a turn at writing a state: mark, do the work of the block, publish (WM-20).

    A refusal has changed nothing: the stored version is published, or the marker lifted, before it is answered. Any
    other error leaves the marker, since whether the write holds is not known: a reader repairs after its deadline.
    """
    mine = Turn(place, coherence.begin(place.name))
    try:
        yield mine
    except OutcomeUnknown:
        raise
    except Problem:
        with suppress(OutcomeUnknown):
            mine.finish()
        raise
    mine.finish()


def _entry(row: StateRow | None) -> tuple[int, bytes]:
    return row.change if row is not None else 0, _encoder.encode(row)
