"""The shapes of the runtime graph on the wire."""

from typing import Literal

import msgspec


class PayloadAnswer(msgspec.Struct, frozen=True):
    """What became of a payload: its length, its SHA-256, and whether it was stored now or there already."""

    payload_id: str
    bytes: int
    sha256: str
    outcome: Literal["stored", "unchanged"]
