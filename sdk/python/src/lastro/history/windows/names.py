"""Ids of calls that a strict server refuses: repeated in one request, or of another form (C5, A3)."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence, Set

from lastro.history.formats.shapes import Call, Format
from lastro.history.windows.units import Piece, Unit, renamed

MISTRAL = re.compile(r"[a-zA-Z0-9]{9}")


def unique(
    units: Sequence[Unit], form: Format, *, positions: Mapping[str, int], words: Set[str]
) -> Iterator[list[Piece]]:
    """Give the messages of each unit; a call whose id was taken gets another, and so do its results.

    The new id comes from the old one and the place of the call in its session, so that it is the same in every window
    in which both are.
    """
    taken: set[str] = set()
    for unit in units:
        names = _names(unit, form, taken, positions=positions, words=words) if form.unique_ids else {}
        taken |= {names.get((number, call.place), call.id) for number, call in _calls(unit, form)}
        yield _renamed(unit, names, form) if names else unit.pieces


def _calls(unit: Unit, form: Format) -> list[tuple[int, Call]]:
    return [
        (number, call)
        for number, piece in enumerate(unit.pieces)
        for call in form.read(piece.message).calls
        if call.id
    ]


def _names(
    unit: Unit, form: Format, taken: Set[str], *, positions: Mapping[str, int], words: Set[str]
) -> dict[tuple[int, int], str]:
    """Give the calls that need another id, by message and place in it."""
    used = set(taken)
    names: dict[tuple[int, int], str] = {}
    for number, call in _calls(unit, form):
        position = positions.get(unit.pieces[number].ids[0], 0)
        name = call.id
        while name in used or ("mistral" in words and not MISTRAL.fullmatch(name)):
            name = _next(name, call, position=position, short="mistral" in words)
        used.add(name)
        if name != call.id:
            names[number, call.place] = name
    return names


def _next(name: str, call: Call, *, position: int, short: bool) -> str:
    if short:
        return hashlib.sha256(f"{position}:{call.place}:{name}".encode()).hexdigest()[:9]
    return f"{name}_{position}" if name == call.id else f"{name}_{call.place}"


def _renamed(unit: Unit, names: Mapping[tuple[int, int], str], form: Format) -> list[Piece]:
    """Rename calls and results together; equal ids inside one response are told apart by their order."""
    pending = [(call.id, names.get((number, call.place), call.id)) for number, call in _calls(unit, form)]
    pieces: list[Piece] = []
    for number, piece in enumerate(unit.pieces):
        ids = {place: name for (at, place), name in names.items() if at == number}
        for result in form.read(piece.message).results:
            match = next((pair for pair in pending if pair[0] == result.id), None)
            if match is not None:
                pending.remove(match)
                ids |= {result.place: match[1]} if match[0] != match[1] else {}
        pieces.append(renamed(piece, ids, form) if ids else piece)
    return pieces
