"""Recording what a host reports: up to 500 typed records in their order, all or nothing (CA-1 to CA-5)."""

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db import IntegrityError, transaction

from assembly import encryption
from assembly.errors import RecordConflict, answered
from assembly.models import Graph, GraphRecord, Payload
from assembly.rules.people import people_named
from assembly.selectors.records import known_rows, older_memories, payloads_of
from assembly.services import graphs
from assembly.services.rows import NewRows
from assembly.types import NOTHING_WRITTEN, Bounds, Named, New, Recorded, RecordedItem, StagedBlob
from lastro.assembly.locators import canonical
from lastro.assembly.records import (
    Record,
    Reference,
    Supersession,
    conversation_of,
    reference_to,
    references_of,
    require_acyclic,
    require_known,
)
from lastro.assembly.records.writing import to_json
from workspaces.models import Handle
from workspaces.types import Caller, Key


@transaction.atomic
def record(
    *,
    caller: Caller,
    records: Sequence[Record],
    written: Mapping[str, StagedBlob] = NOTHING_WRITTEN,
    bounds: Bounds,
    now: datetime,
) -> Recorded:
    """Append records to the graphs of their conversations, in their order, all or none (CA-3).

    A record that is there with the same content changes nothing and answers where it stands. The number of queries
    grows with the conversations of a batch and not with its records. Raises InvalidInput for a handle that is none,
    UnknownReference, RecordConflict, SupersessionCycle, and SubjectErased for what was made before an erasure (PR-12);
    then nothing was stored. `written` are the staged blobs of what is over 64 KiB.
    """
    batch = _Batch(caller, records, written, bounds, now=now)
    with answered():
        batch.require_whole()
    new = batch.new()
    batch.name_people(new)
    rows = batch.insert(new)
    return batch.answer(rows)


class _Batch:
    """The records of one request, with the graphs that they belong to, locked, and the rows that they name."""

    def __init__(
        self,
        caller: Caller,
        records: Sequence[Record],
        written: Mapping[str, StagedBlob],
        bounds: Bounds,
        *,
        now: datetime,
    ) -> None:
        self._caller, self._records, self._bounds, self._now = caller, records, bounds, now
        self._written = written
        self._workspace = caller.workspace
        self._people = self._handles(people_named(records))
        self._graphs = self._locked()
        self._keys: dict[UUID, Key] = {
            graph.id: encryption.graph_key(self._workspace, graph) for graph in self._graphs.values()
        }
        self._rows = known_rows({*map(reference_to, records), *self._named()})

    def require_whole(self) -> None:
        """Refuse references to what is not there, and memories that replace themselves by way of others."""
        self._require_conversations()
        require_known(self._records, stored=self._conversation)
        older: Mapping[str, Collection[str]] = {}
        if any(isinstance(record, Supersession) for record in self._records):
            # A new memory closes no circle by itself: nothing stored replaces what is not there yet.
            older = older_memories(self._graphs.values())
        require_acyclic(self._records, stored=lambda memory: older.get(memory, ()))

    def new(self) -> dict[str, list[New]]:
        """Give what is not there yet, by conversation in the order of the batch. Raises RecordConflict."""
        found: defaultdict[str, list[New]] = defaultdict(list)
        digests: dict[Reference, bytes] = {}
        for number, one in enumerate(self._records):
            written = canonical(to_json(one))
            digest = hashlib.sha256(written).digest()
            if not self._is_known(one, digest, digests.get(reference_to(one), digest)):
                raise RecordConflict(f"/records/{number}/id")
            is_new = reference_to(one) not in self._rows and reference_to(one) not in digests
            if is_new:
                found[conversation_of(one)].append(New(one, written, digest))
            digests[reference_to(one)] = digest
        return found

    def name_people(self, new: Mapping[str, Sequence[New]]) -> None:
        """Note whom new records name, after what an erasure refuses was refused (PR-10, PR-12)."""
        people = graphs.people_of(self._graphs.values())
        for name, records in new.items():
            graph = self._graphs[name]
            there = {(one.handle_id, one.participant) for one in people if one.graph_id == graph.id}
            known = [one.handle for one in people if one.graph_id == graph.id]
            named = self._people.get(name, [])
            self._require_new(graph, [*known, *(handle for handle, _ in named)], records)
            added = [one for one in named if (one[0].id, one[1]) not in there]
            self._keys[graph.id] = graphs.name_people(
                self._workspace, graph, self._keys[graph.id], added, now=self._now
            )

    def insert(self, new: Mapping[str, Sequence[New]]) -> dict[Reference, GraphRecord]:
        """Insert what is new; give the rows of the whole batch.

        Raises RecordConflict for a name that another batch has just taken.
        """
        rows = NewRows(self._caller, self._rows, self._keys, self._written, self._bounds, now=self._now)
        for name, records in new.items():
            rows.add(self._graphs[name], records)
        try:
            with transaction.atomic():
                rows.insert()
        except IntegrityError:
            self._require_untaken(new)
            raise
        for name in new:
            graphs.touch(self._graphs[name], self._bounds, now=self._now)
            self._graphs[name].save()
        return {**self._rows, **rows.made}

    def answer(self, rows: Mapping[Reference, GraphRecord]) -> Recorded:
        """Say what became of each record."""
        mine = [rows[reference_to(record)] for record in self._records]
        payloads = payloads_of(mine)
        seen: set[Reference] = set(self._rows)
        items = []
        for row in mine:
            reference = Reference(row.kind, row.name)
            items.append(_item(row, payloads, is_new=reference not in seen))
            seen.add(reference)
        return Recorded(tuple(items), {name: graph.position for name, graph in sorted(self._graphs.items())})

    def _handles(self, people: Sequence[Named]) -> dict[str, list[tuple[Handle, str]]]:
        handles = graphs.handles_of(self._workspace, people, now=self._now)
        found: defaultdict[str, list[tuple[Handle, str]]] = defaultdict(list)
        for named in people:
            found[named.conversation].append((handles[named.handle], named.participant))
        return found

    def _locked(self) -> dict[str, Graph]:
        named = {name: [handle for handle, _ in people] for name, people in self._people.items()}
        return graphs.locked_graphs(
            self._workspace,
            self._records,
            named,
            sorted(set(map(conversation_of, self._records))),
            self._bounds,
            now=self._now,
        )

    def _named(self) -> set[Reference]:
        return {reference for record in self._records for _, reference in references_of(record)}

    def _require_conversations(self) -> None:
        """Refuse what is older than the erasure of a conversation that is not there (PR-12)."""
        for name in sorted(set(map(conversation_of, self._records)) - self._graphs.keys()):
            oldest = _oldest(record for record in self._records if conversation_of(record) == name)
            if oldest is not None:
                graphs.require_after_tombstones(self._workspace, name, oldest)

    def _conversation(self, reference: Reference) -> str | None:
        """Give the conversation of a stored record, where it is one of the batch's."""
        row = self._rows.get(reference)
        names = {graph.id: name for name, graph in self._graphs.items()}
        return names.get(row.graph_id) if row else None

    def _is_known(self, record: Record, digest: bytes, before: bytes) -> bool:
        """Say whether a record says what the row of its name says, or the one before it in the batch."""
        row = self._rows.get(reference_to(record))
        if row is None:
            return digest == before
        graph = self._graphs[conversation_of(record)]
        mac = encryption.content_mac(self._keys[graph.id], digest)
        return row.graph_id == graph.id and hmac.compare_digest(bytes(row.content_mac), mac)

    def _require_new(self, graph: Graph, people: Sequence[Handle], new: Sequence[New]) -> None:
        oldest = _oldest(one.record for one in new)
        if oldest is not None:
            graphs.require_new(self._workspace, graph, people, oldest)

    def _require_untaken(self, new: Mapping[str, Sequence[New]]) -> None:
        """Refuse a name that a batch on another conversation, whose graph is not locked here, took meanwhile."""
        taken = known_rows(reference_to(one.record) for records in new.values() for one in records)
        for number, record in enumerate(self._records):
            if reference_to(record) in taken and reference_to(record) not in self._rows:
                raise RecordConflict(f"/records/{number}/id")


def _oldest(records: Iterable[Record]) -> datetime | None:
    moments = (getattr(record, "recorded_at", None) for record in records)
    return min((moment for moment in moments if moment is not None), default=None)


def _item(row: GraphRecord, payloads: Mapping[tuple[int, str], Payload], *, is_new: bool) -> RecordedItem:
    result = payloads.get((row.pk, Payload.Role.RESULT))
    arguments = payloads.get((row.pk, Payload.Role.ARGUMENTS))
    return RecordedItem(
        type=row.kind,
        id=row.name,
        outcome="stored" if is_new else "unchanged",
        position=row.position,
        payload_id=result.id if result else None,
        payload=_state(result),
        arguments_payload_id=arguments.id if arguments else None,
    )


def _state(payload: Payload | None) -> Literal["stored", "awaited"] | None:
    if payload is None:
        return None
    return "stored" if payload.state == Payload.State.STORED else "awaited"
