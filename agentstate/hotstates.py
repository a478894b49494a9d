"""Working memory between the two stores: what readers are served, and a writer's turn (WM-18 to WM-20)."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Lock
from uuid import UUID

import msgspec
from django.utils import timezone

from agentstate import access
from agentstate.access import Place
from agentstate.types import StateRow
from workspaces import coherence, encryption, hotstore
from workspaces.errors import OutcomeUnknown, Problem
from workspaces.hotstore import HotStoreDown, Name, Seen

_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")
# Which keys a state had: a guess at what to look at, by ids that are no secret.
_MOST_MET = 50_000
_keys_met: OrderedDict[bytes, tuple[UUID, ...]] = OrderedDict()
_lock = Lock()
_decoder = msgspec.msgpack.Decoder(StateRow | None)


class Held(msgspec.Struct, frozen=True):
    """The row of a state, and what was seen of its keys in the same look at the hot store."""

    row: StateRow | None
    keys: Mapping[UUID, Seen] = encryption.NOTHING_SEEN


class Look(msgspec.Struct, frozen=True):
    """What to look at in one call: a state, and the keys that it had when this process met it last."""

    place: Place
    keys: tuple[UUID, ...]

    @property
    def key_names(self) -> list[Name]:
        """Name the keys."""
        return [encryption.hot_name(key) for key in self.keys]

    @property
    def names(self) -> list[Name]:
        """Name the state, then the keys."""
        return [self.place.name, *self.key_names]


def look_for(place: Place) -> Look:
    """Say what to look at to read a state."""
    return Look(place, _keys_met.get(place.name.entry, ()))


def current(look: Look, seen: Sequence[Seen] = ()) -> Held:
    """Give a state: from the hot store, else from the database, which no writer blocks (WM-19).

    `seen` is what was seen of the names of the look, where that was done already.
    """
    first, *rest = seen or coherence.look_at(look.names)
    payload = coherence.served(look.place.name, first, lambda: _entry(access.read_row(look.place)))
    return _held(look, _decoder.decode(payload), rest)


def _held(look: Look, row: StateRow | None, seen: Sequence[Seen]) -> Held:
    keys = tuple(key for key in (row.handle_id, row.data_key_id) if key is not None) if row else ()
    if keys != look.keys:
        _meet(look.place, keys)
    return Held(row, dict(zip(look.keys, seen, strict=True)) if seen else encryption.NOTHING_SEEN)


def _meet(place: Place, keys: tuple[UUID, ...]) -> None:
    with _lock:
        _keys_met[place.name.entry] = keys
        while len(_keys_met) > _MOST_MET:
            _keys_met.popitem(last=False)


class Turn:
    """One write: its marker, what the hot store held when it was put, and what is to be published."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._look = look_for(place)
        self._marked = coherence.begin(place.name, self._look.key_names)
        # After this moment the write must not commit, since its marker may be lifted (WM-20).
        self.commit_until = timezone.now() + timedelta(seconds=hotstore.COMMIT_WITHIN_SECONDS)
        self._is_known = False
        self._row: StateRow | None = None
        self.has_changed = False
        self.has_begun = False

    @property
    def is_alone(self) -> bool:
        """Tell whether no other writer of the state is at work."""
        return self._marked is not None and self._marked.others == 0

    def current(self) -> Held:
        """Give the state as the hot store held it when the marker was put, else from the database."""
        marked = self._marked
        if marked is None or marked.entry is None:
            return Held(access.read_row(self.place, lock_timeout=access.WRITER_WAITS))
        return _held(self._look, _decoder.decode(marked.entry), marked.seen)

    def leaves(self, row: StateRow | None, *, changed: bool, begun: bool = False) -> None:
        """Note what the database holds at the end of the turn, and whether the turn changed it, or began it."""
        self._is_known, self._row = True, row
        self.has_changed, self.has_begun = changed, begun

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
        if not self._is_known:
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
    mine = Turn(place)
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
