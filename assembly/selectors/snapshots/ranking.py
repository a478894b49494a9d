"""The order in which candidates are gathered, asked of the clear columns: `gathering.Ranks` in SQL (CA-11)."""

from collections.abc import Mapping
from typing import Any

import msgspec
from django.db import connection

from assembly.selectors.graphs import SeenGraph
from assembly.selectors.snapshots.counting import counted
from assembly.selectors.snapshots.naming import Named
from assembly.selectors.snapshots.ranks import OF_ALL, OF_NEAR
from lastro.assembly.graph import SELECTABLE
from lastro.assembly.policy import Policy
from lastro.assembly.snapshot import AssemblyRequest, Lineage, Reason, Size

_LAST_NEAR = 2


class Ranked(msgspec.Struct, frozen=True):
    """The rows within the policy's bound, how many lie beyond by reason, and what a naive transcript takes."""

    ids: tuple[int, ...]
    counted: Mapping[Reason, int]
    naive: Size


def ranked(seen: SeenGraph, request: AssemblyRequest, policy: Policy, named: Named) -> Ranked:
    """Rank what a graph holds and part it at the policy's bound, without opening a record (CA-11)."""
    asked = _asked(seen, request, policy, named)
    chosen, count = _chosen(seen, policy, asked), counted(asked)
    within = sum(is_within for _, is_within, _ in chosen)
    beyond: dict[Reason, int] = {
        "candidate_limit": count.ours - within,
        "other_branch": count.others - (len(chosen) - within),
        "erased": count.erased,
    }
    return Ranked(
        ids=tuple(id for id, *_ in chosen),
        counted={reason: count for reason, count in beyond.items() if count},
        naive=count.naive,
    )


def _chosen(seen: SeenGraph, policy: Policy, asked: Mapping[str, Any]) -> list[tuple[int, bool, int]]:
    """Give what is chosen, with whether it is of the lineage or shared, and its rank.

    Most often the ranks that are near fill all places, and to plan for the others would take longer than to find them.
    """
    if seen.position > policy.candidates:
        chosen = _rows(OF_NEAR, asked)
        if sum(rank <= _LAST_NEAR for *_, rank in chosen) >= policy.candidates:
            return chosen
    return _rows(OF_ALL, asked)


def _rows(query: str, asked: Mapping[str, Any]) -> list[tuple[int, bool, int]]:
    with connection.cursor() as cursor:
        cursor.execute(query, asked)
        return [(id, is_within, rank) for id, is_within, rank in cursor.fetchall()]


def _asked(seen: SeenGraph, request: AssemblyRequest, policy: Policy, named: Named) -> dict[str, Any]:
    return {
        **_steps(named.lineage),
        "workspace": seen.workspace.id,
        "graph": seen.row.id,
        "position": seen.position,
        "kinds": [kind.wire for kind in SELECTABLE],
        "participant": request.participant,
        "run": request.run or "",
        "is_resume": request.kind == "parent_resume",
        "named": sorted(named.ids),
        "recent": policy.recent_messages + 1,
        "candidates": policy.candidates,
    }


def _steps(lineage: Lineage) -> dict[str, Any]:
    ends = [step.until or (None, None) for step in lineage.values()]
    return {
        "branches": [step.branch for step in lineage.values()],
        "distances": [step.distance for step in lineage.values()],
        "ends": [at for at, _ in ends],
        "end_names": [name for _, name in ends],
        "far": len(lineage) + 1,
    }
