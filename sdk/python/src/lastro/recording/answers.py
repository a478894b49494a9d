"""What became of records: stored, waiting here, or refused. Nothing of what they say is in it (SD-11)."""

from dataclasses import dataclass
from typing import Any, Literal

from lastro.assembly.records import Reference


@dataclass(frozen=True, slots=True)
class Stored:
    """One record that the graph holds: as it came just now, or `unchanged` since an earlier time (CA-3)."""

    reference: Reference
    outcome: Literal["stored", "unchanged"]
    position: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of one `record`. With `pending` the records wait here and are sent later, in their order (SD-7)."""

    stored: tuple[Stored, ...] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Records that the server refused, or that could not be sent; they are in no graph.

    `code`, `status` and `request_id` are the server's, `status` 0 where the records never left this process.
    """

    code: str
    conversation: str
    references: tuple[Reference, ...]
    status: int = 0
    request_id: str | None = None
    pointers: tuple[str, ...] = ()


def stored_of(value: dict[str, Any]) -> tuple[Stored, ...]:
    """Read what the server says of each record of a batch."""
    return tuple(
        Stored(Reference(one["type"], one["id"]), one["outcome"], one["position"]) for one in value["records"]
    )
