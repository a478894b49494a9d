"""What a window says of itself, as places in the stored path, for the checker of invariants."""

from collections.abc import Sequence

from lastro.history.windows import Window
from lastro.invariants import Account


def account_of(window: Window, stored: Sequence[str]) -> Account:
    """Translate the ids of a window's account into places; an item joined into another's message is accounted for."""
    place = {name: number for number, name in enumerate(stored)}
    sources = [place[name] if name else None for name in window.items]
    omitted = {place[omission.item] for omission in window.omissions if omission.item in place}
    joined = {place[name] for name in window.changed} - set(sources)
    changed = {number for number, name in enumerate(window.items) if name in window.changed}
    return Account(sources, changed, omitted | joined)
