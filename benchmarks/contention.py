"""Sixteen writers of one state, beside sixteen writers of a state each (PF-5)."""

from collections.abc import Sequence

import msgspec

from benchmarks.ours import Ours
from benchmarks.plan import CONTENDING, SIZE
from benchmarks.rounds import Slice, play


class Contention(msgspec.Struct, frozen=True):
    """The two, in turns, and the writes that were answered as stored and are not there."""

    together: Sequence[Slice]
    apart: Sequence[Slice]
    lost: int


def contention(ours: Ours, *, rounds: int, seconds: float) -> Contention:
    """Merge different fields of one state, and of as many states as there are writers."""
    together = ours.merges(writers=CONTENDING, is_one_state=True, size=SIZE)
    apart = ours.merges(writers=CONTENDING, is_one_state=False, size=SIZE)
    played = play({"together": together, "apart": apart}, rounds=rounds, seconds=seconds)
    return Contention(played["together"], played["apart"], lost=together.lost() + apart.lost())
