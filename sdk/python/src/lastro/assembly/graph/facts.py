"""What the records up to a position say of each other: the candidates of a snapshot (CA-11, CA-12, CA-13)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Protocol, cast

from lastro.assembly.graph.gathering import Ranks
from lastro.assembly.graph.measuring import Measures
from lastro.assembly.policy import Policy
from lastro.assembly.records import (
    Branch,
    Conflict,
    ContinuationCheckpoint,
    Message,
    MessageFinalized,
    Owned,
    Participant,
    Promotion,
    Record,
    Reference,
    Resolution,
    RunFinished,
    Settlement,
    SkillState,
    Supersession,
    ToolArtifact,
    ToolCall,
    ToolMemory,
    reference_to,
)
from lastro.assembly.records.references import replaced_by
from lastro.assembly.snapshot import (
    AssemblyRequest,
    Candidate,
    Fork,
    Lineage,
    Point,
    Selectable,
    Size,
    Snapshot,
    Source,
    lineage_for,
)

SELECTABLE = (
    Message,
    ToolArtifact,
    ToolMemory,
    SkillState,
    ContinuationCheckpoint,
    RunFinished,
    ToolCall,
)


class Store(Protocol):
    """Whose records they are, and what is said of them outside of the graph."""

    workspace: str
    erased: set[Reference]
    expires_at: dict[Reference, datetime]

    def measures(self, record: Selectable, call: ToolCall | None) -> Measures:
        """Give what is measured of a record; `call` is an artifact's."""
        ...


class Facts:
    """What the records up to a position say of each other.

    A store that keeps some of it beside each record gives that in place of `placed`, `source` and the `is_` methods:
    then the records that told it need not be there.
    """

    def __init__(self, records: Iterable[Record], store: Store) -> None:
        self.store = store
        self.records: dict[Reference, Record] = {reference_to(record): record for record in records}

    def all(self, *kinds: type[Record]) -> Iterator[Record]:
        """Give the records of some types."""
        return (record for record in self.records.values() if isinstance(record, kinds))

    def snapshot(self, request: AssemblyRequest, policy: Policy, *, position: int) -> Snapshot:
        """Gather candidates: of the lineage before shared ones, at most as many as the policy says (CA-11)."""
        lineage = self._lineage(request, policy)
        found = [
            self.candidate(record)
            for record in self.all(*SELECTABLE)
            if cast(Owned, record).conversation == request.conversation and self._is_candidate(record)
        ]
        ranks = Ranks(request, policy, lineage, found, self._named(request))
        chosen, beyond = ranks.parted()
        return Snapshot(
            position=position,
            candidates=tuple(chosen),
            lineage=lineage,
            participants={one.id: cast(Participant, one) for one in self.all(Participant)},
            replacements=self.replacements(chosen),
            counted=ranks.counted(beyond),
            naive=sum((one.naive for one in found if ranks.is_of_lineage(one)), Size()),
        )

    def candidate(self, record: Record) -> Candidate:
        """Give a record with all that the others say of it."""
        owned = cast(Selectable, record)
        reference = reference_to(record)
        call = self._call(owned)
        measures = self.store.measures(owned, call)
        return Candidate(
            record=owned,
            placed=self.placed(owned),
            workspace=self.store.workspace,
            is_erased=reference in self.store.erased,
            expires_at=self.store.expires_at.get(reference),
            is_final=self.is_final(owned),
            is_resolved=self.is_resolved(owned),
            promotions=tuple(self._promotions[reference]),
            replaced_by=tuple(sorted(self._replacing[reference])),
            conflicts=tuple(sorted(self._conflicts[owned.id])) if isinstance(owned, ToolMemory) else (),
            sources=self._sources(owned),
            provenance=measures.provenance,
            call=call,
            is_remembered=self.is_remembered(owned),
            result_bytes=measures.result_bytes,
            result_sha256=measures.result_sha256,
            naive=measures.naive,
            sizes=measures.sizes,
        )

    def _sources(self, record: Selectable) -> tuple[Source, ...]:
        if not isinstance(record, ToolMemory):
            return ()
        return tuple(self.source(artifact) for artifact in record.artifacts)

    def source(self, artifact: str) -> Source:
        """Give what a memory's privacy and existence take from an artifact."""
        reference = Reference(ToolArtifact.wire, artifact)
        found = cast(ToolArtifact, self.records[reference])
        return Source(artifact, found.tool, found.privacy, reference in self.store.erased)

    def placed(self, record: Owned) -> Point:
        """Give where a record stands in its branch."""
        if isinstance(record, Message):
            return record.recorded_at, record.id
        anchor = self.records.get(Reference(Message.wire, record.message or ""))
        if isinstance(anchor, Message):
            return anchor.recorded_at, anchor.id
        return record.recorded_at, ""

    def _lineage(self, request: AssemblyRequest, policy: Policy) -> Lineage:
        named = [self.records.get(Reference(Message.wire, parent)) for parent in request.parents]
        parents = {
            one.id: (one.branch, (one.recorded_at, one.id)) for one in named if isinstance(one, Message)
        }
        return lineage_for(request, forks=self._forks, parents=parents, depth=policy.lineage_depth)

    @cached_property
    def _forks(self) -> Mapping[str, Fork]:
        forks: dict[str, Fork] = {}
        for branch in self.all(Branch):
            found = cast(Branch, branch)
            at = self.records.get(Reference(Message.wire, found.fork_message or ""))
            if found.parent and isinstance(at, Message):
                forks[found.id] = Fork(found.parent, (at.recorded_at, at.id))
        return forks

    @cached_property
    def _finalized(self) -> frozenset[str]:
        return frozenset(cast(MessageFinalized, one).message for one in self.all(MessageFinalized))

    @cached_property
    def _promotions(self) -> defaultdict[Reference, list[Promotion]]:
        found: defaultdict[Reference, list[Promotion]] = defaultdict(list)
        for one in sorted(self.all(Promotion), key=lambda one: one.id):
            promotion = cast(Promotion, one)
            found[Reference(promotion.record_type, promotion.record)].append(promotion)
        return found

    @cached_property
    def _artifacts(self) -> defaultdict[str, list[ToolArtifact]]:
        """Give the artifacts of each call, from the first to the last."""
        found: defaultdict[str, list[ToolArtifact]] = defaultdict(list)
        for one in self.all(ToolArtifact):
            artifact = cast(ToolArtifact, one)
            found[artifact.call].append(artifact)
        for artifacts in found.values():
            artifacts.sort(key=lambda artifact: (artifact.recorded_at, artifact.id))
        return found

    @cached_property
    def _remembered(self) -> frozenset[str]:
        memories = [cast(ToolMemory, one) for one in self.all(ToolMemory)]
        return frozenset(artifact for memory in memories for artifact in memory.artifacts)

    @cached_property
    def _settled(self) -> frozenset[Reference]:
        """Give the calls and artifacts that a resolution names."""
        resolutions = [cast(Resolution, one) for one in self.all(Resolution)]
        return frozenset(
            Reference(ToolCall.wire, one.call)
            if one.call
            else Reference(ToolArtifact.wire, one.artifact or "")
            for one in resolutions
        )

    def is_final(self, record: Selectable) -> bool:
        """Say whether nothing of a record is still to come: of a message, that it is finalized (CA-6)."""
        return not isinstance(record, Message) or record.final or record.id in self._finalized

    def is_remembered(self, record: Selectable) -> bool:
        """Say whether a memory derives from an artifact."""
        return isinstance(record, ToolArtifact) and record.id in self._remembered

    def is_resolved(self, record: Selectable) -> bool:
        """Say whether a call, an artifact or a run needs nobody's care (CA-12)."""
        if isinstance(record, ToolArtifact):
            is_last = self._artifacts[record.call][-1] is record
            is_settled = reference_to(record) in self._settled or self._is_settled(record.call)
            return not is_last or record.status == "succeeded" or is_settled
        if isinstance(record, RunFinished):
            answers = self._artifacts.get(record.parent_call or "", [])
            is_answered = any(answer.status == "succeeded" for answer in answers)
            return record.status == "succeeded" or is_answered or self._is_settled(record.parent_call)
        return not isinstance(record, ToolCall) or self._is_settled(record.id)

    def _is_settled(self, call: str | None) -> bool:
        return Reference(ToolCall.wire, call or "") in self._settled

    def _call(self, record: Selectable) -> ToolCall | None:
        if not isinstance(record, ToolArtifact):
            return None
        call = self.records.get(Reference(ToolCall.wire, record.call))
        return call if isinstance(call, ToolCall) else None

    def _is_candidate(self, record: Record) -> bool:
        return not isinstance(record, ToolCall) or not self._artifacts.get(record.id)

    @cached_property
    def _replacing(self) -> defaultdict[Reference, set[str]]:
        """Give what replaces each record, also by way of others; of a settled conflict, what was kept (CA-13)."""
        newer: defaultdict[Reference, set[str]] = defaultdict(set)
        for one in self.all(ToolMemory, Supersession):
            new, olds = replaced_by(one) or ("", ())
            for old in olds:
                newer[Reference(ToolMemory.wire, old)].add(new)
        for one in sorted(self.all(Settlement), key=lambda one: one.id):
            self._add_settlement(cast(Settlement, one), newer)
        found: defaultdict[Reference, set[str]] = defaultdict(set)
        for reference in newer:
            found[reference] = _closure(reference, newer)
        for reference, later in self._later():
            found[reference].add(later)
        return found

    def _add_settlement(self, settlement: Settlement, newer: defaultdict[Reference, set[str]]) -> None:
        first, second = settlement.memories
        lost = second if settlement.kept == first else first
        kept = Reference(ToolMemory.wire, settlement.kept or "")
        if settlement.kept and lost not in _closure(kept, newer):
            newer[Reference(ToolMemory.wire, lost)].add(settlement.kept)

    def _later(self) -> Iterator[tuple[Reference, str]]:
        """Give each artifact and state of skills that a later one of the same call or run stands for."""
        for artifacts in self._artifacts.values():
            for artifact in artifacts[:-1]:
                yield reference_to(artifact), artifacts[-1].id
        states: defaultdict[tuple[str | None, ...], list[SkillState]] = defaultdict(list)
        for one in self.all(SkillState):
            state = cast(SkillState, one)
            states[state.participant, state.run, state.branch].append(state)
        for of_run in states.values():
            of_run.sort(key=lambda state: (state.recorded_at, state.id))
            yield from ((reference_to(state), of_run[-1].id) for state in of_run[:-1])

    @cached_property
    def _conflicts(self) -> defaultdict[str, set[str]]:
        """Give the open conflicts of each memory, from both sides."""
        settled = {frozenset(cast(Settlement, one).memories) for one in self.all(Settlement)}
        found: defaultdict[str, set[str]] = defaultdict(set)
        for one, other in self._disagreements():
            if frozenset((one, other)) not in settled:
                found[one].add(other)
                found[other].add(one)
        return found

    def _disagreements(self) -> Iterator[tuple[str, str]]:
        for one in self.all(Conflict):
            yield cast(Conflict, one).memories
        for one in self.all(ToolMemory):
            yield from ((one.id, other) for other in cast(ToolMemory, one).conflicts_with)

    def replacements(self, chosen: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """Give what replaces some candidates, directly or by way of others, and is none of them (CA-13)."""
        known = list(chosen)
        wanted = {Reference(one.record.wire, id) for one in known for id in one.replaced_by}
        beyond = wanted - {one.reference for one in known}
        return tuple(self.candidate(self.records[name]) for name in sorted(beyond) if name in self.records)

    def _named(self, request: AssemblyRequest) -> frozenset[str]:
        """Give the ids that the request, or its checkpoint, asks for by name."""
        found = self.records.get(Reference(ContinuationCheckpoint.wire, request.checkpoint or ""))
        own = (request.checkpoint, request.answers, *request.need_exact)
        if not isinstance(found, ContinuationCheckpoint):
            return frozenset(filter(None, own))
        waited = [artifact.id for call in found.waits_for for artifact in self._artifacts.get(call, [])]
        return frozenset(filter(None, (*own, *found.memories, *found.messages, *waited)))


def _closure(start: Reference, newer: Mapping[Reference, set[str]]) -> set[str]:
    """Give all that replaces a memory, by whatever way; a list to walk, so that no chain is too long."""
    found: set[str] = set()
    pending = list(newer.get(start, ()))
    while pending:
        memory = pending.pop()
        if memory not in found and memory != start.id:
            found.add(memory)
            pending += newer.get(Reference(ToolMemory.wire, memory), ())
    return found
