"""What is measured of a record when it is recorded, and again when its payload comes; no assembly measures (CA-16)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lastro.assembly.locators import content_at, repaired
from lastro.assembly.records import ToolArtifact, ToolCall, ToolMemory
from lastro.assembly.rendering.sizes import Count, naive_size, sizes_of
from lastro.assembly.rules.provenance import provenance_of
from lastro.assembly.snapshot import Candidate, Form, Provenance, Reader, Selectable, Size

_REPAIR_ATTEMPTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """How much a record takes in each form and of a naive transcript, its payload, and how its locators stand."""

    sizes: Mapping[Form, Size] = field(default_factory=dict[Form, Size])
    naive: Size = field(default_factory=Size)
    result_bytes: int = 0
    result_sha256: str | None = None
    provenance: Provenance = field(default_factory=Provenance)


def measures_of(record: Selectable, *, call: ToolCall | None, read: Reader, count: Count) -> Measures:
    """Measure a record. `call` is an artifact's; `read` gives the result of an artifact, None where it is not there."""
    bare = Candidate(record=record, placed=(record.recorded_at, ""), call=call)
    content = _content(record, read)
    is_payload = isinstance(record, ToolArtifact) and content is not None
    return Measures(
        sizes=sizes_of(bare, count=count, content=content),
        naive=naive_size(bare, count=count, content=content),
        result_bytes=len(content) if is_payload and content is not None else 0,
        result_sha256=_digest_said(record),
        provenance=provenance_of(record, read=read) if isinstance(record, ToolMemory) else Provenance(),
    )


def _content(record: Selectable, read: Reader) -> bytes | None:
    if isinstance(record, ToolArtifact):
        return read(record.id) if record.result else None
    if not isinstance(record, ToolMemory) or not record.locators:
        return None
    # Not a list: of several long payloads one at a time is in memory.
    places = (
        (repaired(locator, payload, attempts=_REPAIR_ATTEMPTS).locator, payload)
        for locator in record.locators
        if (payload := read(locator.artifact)) is not None
    )
    return b"\n".join(content_at(place, payload) or b"" for place, payload in places)


def _digest_said(record: Selectable) -> str | None:
    """Give the digest that a host named for a payload that it sends apart."""
    result = record.result if isinstance(record, ToolArtifact) else None
    return result.sha256 if result else None
