"""Stored records, opened once each, as the pure code asks for them (CA-13, CA-16)."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from assembly import encryption
from assembly.models import GraphRecord
from assembly.selectors.ends import end_of
from assembly.selectors.graphs import SeenGraph
from assembly.selectors.snapshots.related import SourceRow
from lastro.assembly.graph.facts import Facts
from lastro.assembly.graph.measuring import Measures
from lastro.assembly.records import (
    Message,
    Owned,
    Record,
    Reference,
    ToolArtifact,
    ToolCall,
    reference_to,
)
from lastro.assembly.records.classes import STRICTEST
from lastro.assembly.records.parsing import RECORD_TYPES
from lastro.assembly.snapshot import Point, Selectable, Source

_GONE = SourceRow("", STRICTEST, is_erased=True)


class OpenedRecords:
    """Records of a graph in clear, and what is said of them outside of it.

    What has expired by now has expired for every `as_of`.
    """

    def __init__(
        self, seen: SeenGraph, rows: Iterable[GraphRecord], *, as_of: datetime, now: datetime
    ) -> None:
        self.workspace = str(seen.workspace.id)
        self.erased: set[Reference] = set()
        self.expires_at: dict[Reference, datetime] = {}
        self.rows: dict[Reference, GraphRecord] = {}
        self.records: dict[Reference, Record] = {}
        self._measures: dict[Reference, Measures] = {}
        for row in rows:
            self._open(seen, row, as_of=as_of, now=now)

    def measures(self, record: Selectable, call: ToolCall | None) -> Measures:
        """Give what was measured of a record when it, or its payload, was recorded."""
        return self._measures[reference_to(record)]

    def _open(self, seen: SeenGraph, row: GraphRecord, *, as_of: datetime, now: datetime) -> None:
        opened = encryption.open_record(seen.workspace, row, seen.key)
        name = Reference(row.kind, row.name)
        self.rows[name], self._measures[name] = row, opened.measures
        self.records[name] = _decoder(row.kind).decode(opened.record)
        end = end_of(row, seen.bounds, now=now)
        if end is not None:
            self.expires_at[name] = min(end, as_of) if end <= now else end


class StoredFacts(Facts):
    """What stored records say of each other: where a column tells it, the records that told it are not read."""

    store: OpenedRecords

    def __init__(self, opened: OpenedRecords, sources: Mapping[str, SourceRow], *, position: int) -> None:
        super().__init__(opened.records.values(), opened)
        self._sources_by_name, self._position = sources, position

    def placed(self, record: Owned) -> Point:
        """Give where a record stands in its branch."""
        row = self._row(record)
        return row.placed_at or record.recorded_at, row.placed_name

    def is_final(self, record: Selectable) -> bool:
        """Say whether a message is final at this position."""
        return not isinstance(record, Message) or self._holds(self._row(record).settled_at)

    def is_resolved(self, record: Selectable) -> bool:
        """Say whether a call, an artifact or a run needs nobody's care at this position."""
        is_open = isinstance(record, ToolCall) or getattr(record, "status", "succeeded") != "succeeded"
        return not is_open or self._holds(self._row(record).settled_at)

    def is_remembered(self, record: Selectable) -> bool:
        """Say whether a memory derives from an artifact at this position."""
        return isinstance(record, ToolArtifact) and self._holds(self._row(record).taken_up_at)

    def source(self, artifact: str) -> Source:
        """Give what a memory takes from an artifact; one that is gone takes the memory with it."""
        found = self._sources_by_name.get(artifact, _GONE)
        return Source(artifact, found.tool, found.privacy, found.is_erased)

    def _row(self, record: Record) -> GraphRecord:
        return self.store.rows[reference_to(record)]

    def _holds(self, since: int | None) -> bool:
        return since is not None and since <= self._position


@cache
def _decoder(kind: str) -> "msgspec.json.Decoder[Any]":
    """Make the decoder of a type of record: it was checked when it was recorded, and is not checked again."""
    return msgspec.json.Decoder(RECORD_TYPES[kind])
