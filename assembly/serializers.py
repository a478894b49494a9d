"""The shapes of context assembly on the wire (CA-3)."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from lastro.assembly.records import MAX_RECORDS


class RecordGraph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Records in their order, stored all or none."""

    records: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            min_length=1,
            max_length=MAX_RECORDS,
            description="Typed records: `type`, an `id` that is the caller's own, and the members of the type.",
        ),
    ]


class PayloadAnswer(msgspec.Struct, frozen=True):
    """What became of a payload: its length, its SHA-256, and whether it was stored now or there already."""

    payload_id: str
    bytes: int
    sha256: str
    outcome: Literal["stored", "unchanged"]
