"""From a memory to its artifacts, their calls and the run that asked: what a record came from (CA-5, CA-17)."""

from collections import defaultdict
from collections.abc import Sequence

import msgspec
from django.db.models import QuerySet

from assembly import access, encryption
from assembly.models import GraphRecord, Link
from assembly.selectors.graphs import SeenGraph
from assembly.types import LocatorValue, NamedRecord, ProvenanceStep
from lastro.assembly.records import ModelRun, Reference, ToolMemory


class _Pointing(msgspec.Struct):
    """Of a memory as it was recorded, its locators."""

    locators: tuple[LocatorValue, ...] = ()


def chain_of(seen: SeenGraph, reference: Reference) -> tuple[ProvenanceStep, ...]:
    """Give the way from a record back to the run that asked for it, nearest first; nothing where it is gone.

    A memory has three steps behind it at most: its artifacts, their calls, their runs.
    """
    level = list(_rows(seen).filter(kind=reference.type, name=reference.id))
    steps: list[ProvenanceStep] = []
    while level:
        sources = _sources(level) or _runs(seen, level)
        steps += [_step(seen, row, sources.get(row.id, ())) for row in level]
        further = {source.id: source for found in sources.values() for source in found}
        level = sorted(further.values(), key=lambda row: row.position)
    return tuple(steps)


def _rows(seen: SeenGraph) -> QuerySet[GraphRecord]:
    return access.records_of(seen.row).filter(position__lte=seen.position)


def _sources(rows: Sequence[GraphRecord]) -> dict[int, list[GraphRecord]]:
    """Give what each row derives from: a memory from artifacts, an artifact from its call."""
    links = Link.objects.filter(
        record__in=[row.id for row in rows],
        member__in=("artifacts", "call"),
        record__kind__in=("tool_memory", "tool_artifact"),
        target__erasure_id=None,
    )
    found: defaultdict[int, list[GraphRecord]] = defaultdict(list)
    for link in links.select_related("target").order_by("target__position"):
        found[link.record_id].append(link.target)
    return dict(found)


def _runs(seen: SeenGraph, rows: Sequence[GraphRecord]) -> dict[int, list[GraphRecord]]:
    """Give the run that made each row; a run itself was asked for by nobody here."""
    names = {row.run for row in rows if row.run and row.kind != ModelRun.wire}
    runs = {run.name: run for run in _rows(seen).filter(kind=ModelRun.wire, name__in=names)} if names else {}
    return {row.id: [runs[row.run]] for row in rows if row.run in runs and row.kind != ModelRun.wire}


def _step(seen: SeenGraph, row: GraphRecord, sources: Sequence[GraphRecord]) -> ProvenanceStep:
    return ProvenanceStep(
        type=row.kind,
        id=row.name,
        tool=row.tool,
        comes_from=tuple(NamedRecord(source.kind, source.name) for source in sources),
        locators=_locators(seen, row) if row.kind == ToolMemory.wire else (),
    )


def _locators(seen: SeenGraph, row: GraphRecord) -> tuple[LocatorValue, ...]:
    opened = encryption.open_record(seen.workspace, row, seen.key)
    return msgspec.json.decode(opened.record, type=_Pointing).locators
