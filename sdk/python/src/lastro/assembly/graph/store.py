"""A workspace's records in memory, append-only (CA-3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from lastro.assembly.errors import AssemblyError
from lastro.assembly.graph.facts import Facts
from lastro.assembly.graph.measuring import Measures, measures_of
from lastro.assembly.locators import canonical
from lastro.assembly.policy import Policy
from lastro.assembly.records import (
    Record,
    Reference,
    ToolArtifact,
    ToolCall,
    conversation_of,
    reference_to,
    require_acyclic,
    require_known,
)
from lastro.assembly.records.references import replaced_by
from lastro.assembly.rendering.sizes import Count
from lastro.assembly.snapshot import AssemblyRequest, Selectable, Snapshot


class RecordConflict(AssemblyError):
    """An id is taken by a record of other content (CA-3)."""

    code = "record_conflict"

    def __init__(self, pointer: str, *, request_id: str | None = None) -> None:
        super().__init__(pointer, request_id=request_id)
        self.pointer = pointer


@dataclass(slots=True)
class RuntimeGraph:
    """A workspace's records, append-only, with a position that only grows. `count` counts tokens.

    `erased` and `expires_at` are what erasure and retention say of records, by name.
    """

    count: Count
    workspace: str = ""
    payloads: dict[str, bytes] = field(default_factory=dict[str, bytes])
    erased: set[Reference] = field(default_factory=set[Reference])
    expires_at: dict[Reference, datetime] = field(default_factory=dict[Reference, datetime])
    _records: dict[Reference, tuple[int, Record]] = field(default_factory=dict[Reference, tuple[int, Record]])

    @property
    def position(self) -> int:
        """Give how many records there are."""
        return len(self._records)

    def record(self, records: Sequence[Record]) -> int:
        """Append records in their order, all or none, and give the position; one that is there already changes nothing.

        Raises UnknownReference, SupersessionCycle, RecordConflict.
        """
        require_known(records, stored=self._conversation)
        require_acyclic(records, stored=self._older)
        new: dict[Reference, Record] = {}
        for number, one in enumerate(records):
            known = new.get(reference_to(one)) or self._records.get(reference_to(one), (0, one))[1]
            if known != one:
                raise RecordConflict(f"/records/{number}")
            if reference_to(one) not in self._records:
                new[reference_to(one)] = one
        for reference, one in new.items():
            self._records[reference] = (self.position + 1, one)
        return self.position

    def read(self, artifact: str) -> bytes | None:
        """Give the result of an artifact."""
        found = self._records.get(Reference(ToolArtifact.wire, artifact))
        if found is None or Reference(ToolArtifact.wire, artifact) in self.erased:
            return None
        result = cast(ToolArtifact, found[1]).result
        if result is None or result.sha256 is not None:
            return self.payloads.get(artifact)
        return self.payloads.get(artifact, canonical(result.value))

    def measures(self, record: Selectable, call: ToolCall | None) -> Measures:
        """Measure a record with its payload as it is now."""
        return measures_of(record, call=call, read=self.read, count=self.count)

    def snapshot(self, request: AssemblyRequest, policy: Policy, *, position: int | None = None) -> Snapshot:
        """Give what one request needs of the graph as it was at a position; the newest where none is named (CA-11)."""
        seen = self.position if position is None else position
        facts = Facts([record for at, record in self._records.values() if at <= seen], self)
        return facts.snapshot(request, policy, position=seen)

    def _conversation(self, reference: Reference) -> str | None:
        found = self._records.get(reference)
        return conversation_of(found[1]) if found else None

    def _older(self, memory: str) -> Iterator[str]:
        for _, record in self._records.values():
            new, olds = replaced_by(record) or ("", ())
            if new == memory:
                yield from olds
