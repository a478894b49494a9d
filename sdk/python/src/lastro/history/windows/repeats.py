"""Items that stand in a request twice under one id: a server that names its items refuses the second (R3, R4)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lastro.history.formats.shapes import Format
from lastro.history.messages import size_of
from lastro.history.records import Message
from lastro.history.windows.types import Omission
from lastro.history.windows.units import Piece


@dataclass
class Repeats:
    """What was met so far of a tail, unit by unit. `omissions`: the copies that are left out."""

    form: Format
    omissions: list[Omission] = field(default_factory=list[Omission])
    _met: dict[str, Message] = field(default_factory=dict[str, Message])
    _results: list[Message] = field(default_factory=list[Message])

    def without(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Leave out of a unit what was met already; another item under a known id is served without its id."""
        if not any(self._is_known(piece) for piece in pieces):
            return self._meet(pieces)
        if self._calls(pieces):
            return self._whole(pieces)
        return self._meet(self._freed(self._split(pieces, self._is_copy)))

    def _whole(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Leave a round that was stored twice out with its results; of another one, the ids."""
        if all(self._is_copy(piece) or piece.message in self._results for piece in pieces):
            self._split(pieces, lambda _: True)
            return []
        return self._meet(self._freed(list(pieces)))

    def _split(self, pieces: Sequence[Piece], leaves: Callable[[Piece], bool]) -> list[Piece]:
        gone = [piece for piece in pieces if leaves(piece)]
        self.omissions += [Omission(id, "repeated") for piece in gone for id in piece.ids]
        return [piece for piece in pieces if piece not in gone]

    def _freed(self, pieces: list[Piece]) -> list[Piece]:
        """Take the ids from all of a response: reasoning and what came with it lose theirs together (R4)."""
        return [self._anonymous(piece) for piece in pieces]

    def _anonymous(self, piece: Piece) -> Piece:
        message = self.form.anonymous(piece.message)
        if message is piece.message:
            return piece
        return Piece(message, piece.ids, size_of(message), changed=True)

    def _meet(self, pieces: list[Piece] | Sequence[Piece]) -> list[Piece]:
        self._met |= {name: piece.message for piece in pieces if (name := self.form.item_id(piece.message))}
        self._results += [piece.message for piece in pieces if self.form.read(piece.message).results]
        return list(pieces)

    def _calls(self, pieces: Sequence[Piece]) -> bool:
        return any(self.form.read(piece.message).calls for piece in pieces)

    def _is_known(self, piece: Piece) -> bool:
        return self.form.item_id(piece.message) in self._met

    def _is_copy(self, piece: Piece) -> bool:
        """Tell a copy of a response; what a user said again under one id stays, without it (X5)."""
        name = self.form.item_id(piece.message)
        is_response = self.form.read(piece.message).role == "response"
        return bool(name) and is_response and self._met.get(name) == piece.message
