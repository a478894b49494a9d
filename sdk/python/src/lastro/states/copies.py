"""What this process knows of each state, and what it serves of it (SD-3, WM-9).

Within one life (`epoch`) the newest version counts. An answer of another life counts when it was asked for after the
last one came; where the two overlap nobody can tell which is older, and nothing is kept, so that no late answer brings
back what was erased.
"""

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lastro.states.bodies import detached, merged
from lastro.states.types import Body, StateName
from lastro.states.writes import Write, from_rfc3339

LONGEST_UNHEARD_SECONDS = 86_400.0
NO_LIFE = "none"
UNKNOWN_LIFE = ""


@dataclass(frozen=True, slots=True)
class Copy:
    """A local copy: a whole body at a version, and what this process has written since without seeing the whole.

    `floor` is the newest version known to exist, `over` the fields merged after `version`. `learned` is the tick at
    which it was learned, `heard_at` the time, since when it has not been heard of. Times are seconds since 1970.
    """

    body: Body = field(default_factory=dict[str, Any], repr=False)
    version: int = 0
    epoch: str = NO_LIFE
    floor: int = 0
    over: Body = field(default_factory=dict[str, Any], repr=False)
    expires: Mapping[str, float] = field(default_factory=dict[str, float])
    updated_at: float | None = None
    valid_until: float | None = None
    learned: int = 0
    heard_at: float = 0.0

    @property
    def is_known(self) -> bool:
        """Tell whether anything is known of the state."""
        return self.epoch != UNKNOWN_LIFE

    def is_served(self, now: float, *, unheard: float = LONGEST_UNHEARD_SECONDS) -> bool:
        """Tell whether it may still stand for the state."""
        return self.is_known and now < self.heard_at + unheard

    def has_ended(self, now: float) -> bool:
        """Tell whether the state has expired since."""
        return self.valid_until is not None and now >= self.valid_until

    def whole(self, now: float) -> Body:
        """Give the fields that are served at a moment, detached; a field is gone at its moment (WM-21)."""
        if self.has_ended(now):
            return {}
        body = merged(self.body, self.over)
        found: Body = detached({name: value for name, value in body.items() if not self._is_over(name, now)})
        return found

    def _is_over(self, name: str, now: float) -> bool:
        return name in self.expires and now >= self.expires[name]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a state will be once the writes that wait have arrived.

    `version` is none, and `epoch` empty, where that is not known.
    """

    body: Body = field(repr=False)
    version: int | None
    numbering: int = 0
    epoch: str = ""


def read_copy(answer: Mapping[str, Any], *, tick: int, now: float) -> Copy:
    """Give the copy that a read brings (WM-17)."""
    version: int = answer.get("version", 0)
    ends: dict[str, str] = answer.get("expires") or {}
    expires = {name: from_rfc3339(text) or now for name, text in ends.items()}
    return Copy(
        body=detached(answer.get("body") or {}),
        version=version,
        epoch=answer.get("epoch") or NO_LIFE,
        floor=version,
        expires=expires,
        updated_at=from_rfc3339(answer.get("updated_at")),
        valid_until=from_rfc3339(answer.get("valid_until")),
        learned=tick,
        heard_at=now,
    )


def after_read(copy: Copy | None, read: Copy, *, began: int) -> Copy:
    """Give what is known after a read that was asked for at the tick `began`."""
    if copy is None:
        return read
    if copy.epoch != read.epoch:
        return read if began > copy.learned else unknown(read.learned)
    if read.version >= copy.floor:
        return read
    if read.version > copy.version:
        return replace(read, floor=copy.floor, over=copy.over)
    return replace(copy, heard_at=read.heard_at)


def after_write(
    copy: Copy | None, write: Write, *, version: int, epoch: str, began: int, tick: int, now: float
) -> Copy:
    """Give what is known after a write was stored at `version`."""
    if copy is not None and copy.epoch != epoch:
        if began <= copy.learned:
            return unknown(tick)
        copy = None
    if copy is not None and version <= copy.floor:
        return replace(copy, heard_at=now, learned=tick)
    base = copy or Copy(epoch=epoch, floor=version - 1 if version == 1 else -1)
    base = replace(base, floor=version, learned=tick, heard_at=now, **_times(base, write.fields, now=now))
    if write.kind == "cas":
        return replace(base, body=write.fields, version=version, over={})
    is_next = version == 1 or (copy is not None and not copy.over and version == copy.version + 1)
    if is_next:
        return replace(base, body=merged(base.body, write.fields), version=version)
    return replace(base, over={**base.over, **write.fields})


def after_clear(*, epoch: str, tick: int, now: float) -> Copy:
    """Give what is known after a state was removed."""
    return Copy(epoch=epoch, learned=tick, heard_at=now)


def unknown(tick: int) -> Copy:
    """Give what stands for a state of which nothing can be said before the next read."""
    return Copy(epoch=UNKNOWN_LIFE, learned=tick)


def predict(copy: Copy | None, writes: Collection[Write], *, me: str, now: float) -> Prediction:
    """Tell what the server will make of the writes that wait, in their order.

    A write that may have been stored before the copy was learned counts for no version: it may be in it already.
    """
    known = copy if copy is not None and copy.is_known else None
    is_live = known is not None and not known.has_ended(now)
    body = known.whole(now) if known is not None else {}
    found = Prediction(body, (known.version if is_live else 0) if known else None)
    if known is not None and is_live and known.version:
        found = replace(found, epoch=known.epoch)
    for write in writes:
        is_new = known is None or (write.born_by == me and write.born > known.learned)
        found = _after(found, write, is_new=is_new)
    return found


def fits(write: Write, version: int | None) -> bool:
    """Tell whether a write holds at a version, as far as is known."""
    return write.if_version is None or version is None or write.if_version == version


def _after(found: Prediction, write: Write, *, is_new: bool) -> Prediction:
    if not fits(write, found.version):
        return found
    known = write.if_version if write.if_version is not None else found.version
    numbering = max(found.numbering, known or 0)
    if write.kind == "clear":
        return Prediction({}, 0 if is_new or write.if_version is not None else found.version, numbering)
    body = write.fields if write.kind == "cas" else {}
    if write.kind == "merge_by_key":
        body = merged(found.body, write.fields)
    if write.if_version is None and not is_new:
        return replace(found, body=body, numbering=numbering)
    return Prediction(body, None if known is None else numbering + 1, numbering + 1, found.epoch)


def _times(copy: Copy, fields: Body, *, now: float) -> dict[str, Any]:
    """Count the retentions that are known from this write on, never longer than they are."""
    if copy.updated_at is None:
        return {"updated_at": now, "expires": dict(copy.expires), "valid_until": copy.valid_until}
    longer = now - copy.updated_at
    expires = {
        name: end + (max(longer, 0.0) if name in fields else 0.0) for name, end in copy.expires.items()
    }
    until = None if copy.valid_until is None else copy.valid_until + max(longer, 0.0)
    return {"updated_at": now, "expires": expires, "valid_until": until}


class Copies:
    """The copies of one process, the longest unused of which leave first. It keeps the ticks by which they are learned.

    Not safe across threads: it belongs to one event loop.
    """

    def __init__(self, *, most: int, unheard: float = LONGEST_UNHEARD_SECONDS) -> None:
        self._found: OrderedDict[StateName, Copy] = OrderedDict()
        self._most, self._unheard, self._tick = most, unheard, 0

    def tick(self) -> int:
        """Give a moment in the order of what happens here."""
        self._tick += 1
        return self._tick

    def get(self, name: StateName, *, now: float) -> Copy | None:
        """Give the copy of a state, none where there is none that may be served."""
        copy = self._found.get(name)
        return copy if copy is not None and copy.is_served(now, unheard=self._unheard) else None

    def raw(self, name: StateName) -> Copy | None:
        """Give what is kept of a state, served or not."""
        return self._found.get(name)

    def keep(self, name: StateName, copy: Copy) -> Copy:
        """Keep what is known of a state now."""
        self._found[name] = copy
        self._found.move_to_end(name)
        while len(self._found) > self._most:
            self._found.popitem(last=False)
        return copy

    def forget(self, name: StateName) -> None:
        """Know nothing of a state before the next read."""
        if name in self._found:
            self.keep(name, unknown(self.tick()))

    def clear(self) -> None:
        """Know nothing at all, as in a new process."""
        self._found.clear()
