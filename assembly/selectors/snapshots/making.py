"""A snapshot, put together from the ranking and the records that it chose (CA-11)."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from assembly import access
from assembly.models import GraphRecord
from assembly.selectors.graphs import SeenGraph
from assembly.selectors.snapshots.naming import Rows, named_by
from assembly.selectors.snapshots.opening import OpenedRecords, StoredFacts
from assembly.selectors.snapshots.ranking import ranked
from assembly.selectors.snapshots.related import related_rows, sources_of
from lastro.assembly.graph import SELECTABLE
from lastro.assembly.policy import Policy
from lastro.assembly.records import Participant, Reference, ToolCall, ToolMemory
from lastro.assembly.snapshot import AssemblyRequest, Candidate, Snapshot


def snapshot_of(
    seen: SeenGraph, request: AssemblyRequest, policy: Policy, rows: Rows, *, now: datetime
) -> Snapshot:
    """Give what one request needs of a graph at its position, with a constant number of queries (CA-11).

    `rows` are those that the request names.
    """
    named = named_by(seen, request, rows, depth=policy.lineage_depth)
    within = ranked(seen, request, policy, named)
    facts = _facts(seen, request, within.ids, now=now)
    chosen = _candidates(facts, within.ids)
    return Snapshot(
        position=seen.position,
        candidates=chosen,
        lineage=named.lineage,
        participants={one.id: cast(Participant, one) for one in facts.all(Participant)},
        replacements=facts.replacements(chosen),
        counted=within.counted,
        naive=within.naive,
    )


def candidate_of(
    seen: SeenGraph, request: AssemblyRequest, reference: Reference, *, now: datetime
) -> Candidate | None:
    """Give any record of a graph as a candidate, whether the ranking chose it or not; None where it is none (CA-17)."""
    rows = access.records_of(seen.row).filter(
        kind=reference.type, name=reference.id, position__lte=seen.position
    )
    ids = [row.id for row in rows if _is_candidate(row, seen.position)]
    return next(iter(_candidates(_facts(seen, request, ids, now=now), ids)), None)


def _is_candidate(row: GraphRecord, position: int) -> bool:
    """Tell whether a row may be shown: a call only until an artifact stands for it."""
    is_taken_up = row.kind == ToolCall.wire and row.taken_up_at is not None and row.taken_up_at <= position
    return row.kind in {kind.wire for kind in SELECTABLE} and not is_taken_up


def _facts(seen: SeenGraph, request: AssemblyRequest, chosen: Sequence[int], *, now: datetime) -> StoredFacts:
    rows = related_rows(seen, chosen, participant=request.participant)
    opened = OpenedRecords(seen, rows, as_of=request.as_of, now=now)
    memories = [row.id for row in opened.rows.values() if row.kind == ToolMemory.wire]
    return StoredFacts(opened, sources_of(seen, memories), position=seen.position)


def _candidates(facts: StoredFacts, ids: Sequence[int]) -> tuple[Candidate, ...]:
    """Make candidates of the chosen rows; one that went since it was chosen is none."""
    by_id = {row.id: name for name, row in facts.store.rows.items()}
    return tuple(facts.candidate(facts.records[by_id[id]]) for id in ids if id in by_id)
