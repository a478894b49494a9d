"""Working memory between the two stores: what readers are served, and a writer's turn (WM-18 to WM-20)."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import msgspec
from django.utils import timezone

from agentstate import access
from agentstate.access import Place
from agentstate.types import HotState, StateRow
from workspaces import coherence, encryption, hotstore
from workspaces.errors import KeyDestroyed, OutcomeUnknown, Problem
from workspaces.hotstore import HotStoreDown, Mark, Seen

_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")
_decoder = msgspec.msgpack.Decoder(HotState)


def current(place: Place, seen: Seen | None = None) -> HotState:
    """Give a state as it is: from the hot store, else from the database, which no writer blocks (WM-19)."""
    seen = seen if seen is not None else coherence.look(place.name)
    return _decoder.decode(coherence.served(place.name, seen, lambda: _read(place)))


def stored(place: Place) -> HotState:
    """Give a state as the database has it."""
    return with_key(place, access.read_row(place))


def with_key(place: Place, row: StateRow | None) -> HotState:
    """Add its data key to a row. Without that key nothing can be read any more: then there is no state.

    A write may give the state another key between the row and its key: then it is read again (WM-18).
    """
    while row is not None and row.data_key_id is not None:
        try:
            return HotState(row, encryption.find_wrapped(place.workspace, row.data_key_id))
        except KeyDestroyed:
            again = access.read_row(place)
            if again is not None and again.data_key_id == row.data_key_id:
                return HotState(again)
            row = again
    return HotState(row)


class Turn:
    """One write: its marker, what the hot store held when it was put, and what is to be published."""

    def __init__(self, place: Place, marked: Mark | None) -> None:
        self.place = place
        # After this moment the write must not commit, since its marker may be lifted (WM-20).
        self.commit_until = timezone.now() + timedelta(seconds=hotstore.COMMIT_WITHIN_SECONDS)
        self._marked = marked
        self._now_stored: HotState | None = None
        self._is_gone = False
        self.has_changed = False

    @property
    def is_alone(self) -> bool:
        """Tell whether no other writer of the state is at work."""
        return self._marked is not None and self._marked.others == 0

    def known(self) -> HotState | None:
        """Give the state as the hot store held it when the marker was put."""
        entry = self._marked.entry if self._marked is not None else None
        return _decoder.decode(entry) if entry is not None else None

    def leaves(self, state: HotState, *, changed: bool) -> None:
        """Note what the database holds at the end of the turn, and whether the turn changed it."""
        self._now_stored, self.has_changed = state, changed

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
        elif self._now_stored is None:
            hotstore.lift(self._marked)
        else:
            change, payload = _entry(self._now_stored)
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


def _read(place: Place) -> tuple[int, bytes]:
    return _entry(stored(place))


def _entry(state: HotState) -> tuple[int, bytes]:
    return state.row.change if state.row is not None else 0, _encoder.encode(state)
