"""One glance at many values at once, which spares most bodies a walk through all they hold (PR-7b)."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from workspaces.masking.folding import fold
from workspaces.masking.passage import Passage
from workspaces.masking.scan import Search
from workspaces.masking.secret_names import names_a_secret, secret_kind
from workspaces.masking.text import is_too_long

_BETWEEN = "    "


class Glance(msgspec.Struct, frozen=True):
    """The detectors that may find something in some values, and whether anything else calls for a walk."""

    search: Search
    has_secret_name: bool
    has_too_long: bool

    @property
    def is_clean(self) -> bool:
        """Tell whether no string can hold anything, and no member is secret by its name."""
        return not (self.search.detectors or self.has_secret_name or self.has_too_long)


def glance_at(values: Sequence[Any], *, search: Search, regions: tuple[str, ...]) -> Glance:
    """Look at all the strings and names of some values together, for what a search is for."""
    written = _written(values)
    if written is None:
        return _strings_of(values).glance(search, regions)
    # Where it is ASCII, what folding takes out is written with an escape, so that nothing is left to fold.
    passage = Passage(written if written.isascii() else fold(written).text, regions=regions)
    return Glance(search.hopeful_in(passage), names_a_secret(passage.lower), is_too_long(written))


def _written(values: Sequence[Any]) -> str | None:
    """Write values as one JSON text with each string in it as it is; None where one would be written otherwise."""
    try:
        text = msgspec.json.encode(values).decode()
    except (TypeError, ValueError):
        return None
    return None if "\\" in text else text


class _Strings(msgspec.Struct, frozen=True):
    """Every string at any depth, in no order: values, and names of members."""

    values: list[str]
    names: list[str]

    def glance(self, search: Search, regions: tuple[str, ...]) -> Glance:
        names = set(self.names)
        passage = Passage(fold(_BETWEEN.join((*self.values, *names))).text, regions=regions)
        return Glance(
            search.hopeful_in(passage),
            any(map(secret_kind, names)),
            any(map(is_too_long, self.values)) or any(map(is_too_long, names)),
        )


def _strings_of(values: Iterable[Any]) -> _Strings:
    found: list[str] = []
    names: list[str] = []
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            names += value
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return _Strings(found, names)
