"""What is handed over at once: records of one conversation, as bytes, with the payloads that go apart (CA-3, CA-4)."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from lastro.assembly.locators import canonical, digest_of
from lastro.assembly.records import (
    MAX_RECORDS,
    Payload,
    Record,
    Reference,
    ToolArtifact,
    conversation_of,
    parse_records,
    reference_to,
)
from lastro.assembly.records.writing import to_json
from lastro.errors import InvalidCall
from lastro.recording.answers import Recorded
from lastro.states.bodies import compact
from lastro.states.writes import Request

RECORD = ("POST", "/v1/graph")
APART_BYTES = 65_536
"""A larger result does not stand in its record: it is sent by itself."""


@dataclass(frozen=True, slots=True)
class Written:
    """A record as it is sent, the first time and any later one."""

    reference: Reference
    raw: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Content:
    """A payload that is sent apart."""

    raw: bytes = field(repr=False)
    media_type: str


@dataclass(eq=False, slots=True)
class Unit:
    """Records that are stored together or not at all. `is_ensured`: one that stands there otherwise is left alone."""

    conversation: str
    records: tuple[Written, ...]
    contents: Mapping[str, Content] = field(default_factory=dict[str, Content])
    is_ensured: bool = False
    settled: "Future[Recorded]" = field(default_factory=Future[Recorded], repr=False)

    @property
    def size(self) -> int:
        """Give the bytes that it takes while it waits."""
        records = sum(len(one.raw) for one in self.records)
        return records + sum(len(one.raw) for one in self.contents.values())

    @property
    def references(self) -> tuple[Reference, ...]:
        """Name its records."""
        return tuple(one.reference for one in self.records)


def units_of(
    records: Sequence[Record], payloads: Mapping[str, bytes] | None = None, *, is_ensured: bool = False
) -> Iterator[Unit]:
    """Check records and make a unit of each conversation's; a large result goes apart, as does one of `payloads`.

    `payloads` are results as bytes, by the ids of their artifacts. Raises RecordsInvalid and InvalidCall.
    """
    if not 1 <= len(records) <= MAX_RECORDS:
        raise InvalidCall(f"1 to {MAX_RECORDS} records at a time")
    split = [_split(record, (payloads or {}).get(record.id)) for record in records]
    parse_records([to_json(record) for record, _ in split], pointer="")
    for conversation in dict.fromkeys(conversation_of(record) for record in records):
        own = [pair for pair in split if conversation_of(pair[0]) == conversation]
        yield Unit(
            conversation,
            tuple(Written(reference_to(record), compact(to_json(record))) for record, _ in own),
            {record.id: content for record, content in own if content is not None},
            is_ensured,
        )


def batch_of(units: Iterable[Unit]) -> Request:
    """Give the request that sends units together."""
    raw = b",".join(one.raw for unit in units for one in unit.records)
    return Request(*RECORD, b'{"records":[' + raw + b"]}")


def payload_request(payload_id: str, content: Content) -> Request:
    """Give the request that sends a payload."""
    path = f"/v1/graph/artifacts/{payload_id}/payload"
    return Request("PUT", path, content.raw, media_type=content.media_type)


def without(unit: Unit, number: int) -> Unit:
    """Give a unit without one of its records, under the same word of what became of it."""
    kept = tuple(one for place, one in enumerate(unit.records) if place != number)
    return replace(unit, records=kept)


def _split(record: Record, raw: bytes | None) -> tuple[Record, Content | None]:
    if not isinstance(record, ToolArtifact):
        return record, None
    result = record.result
    if raw is None and (result is None or result.value is None):
        return record, None
    media_type = result.media_type if result else "application/octet-stream"
    content = canonical(result.value) if raw is None and result else raw or b""
    if raw is None and len(content) <= APART_BYTES:
        return record, None
    apart = Payload(bytes=len(content), sha256=digest_of(content), media_type=media_type)
    return replace(record, result=apart), Content(content, media_type)


def records_in(request: Request) -> list[object]:
    """Give the records of a batch, as the other side reads them."""
    found: list[object] = json.loads(request.raw)["records"]
    return found
