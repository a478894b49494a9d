"""What derives from the records of some participants, and goes with them (PR-10)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

STAYS = frozenset({"conversation", "branch", "participant"})
"""What a conversation is made of stays, whoever made it: only the erased person's own participants go."""


class Node(msgspec.Struct, frozen=True, array_like=True):
    """A record, as far as it says from what it derives."""

    id: int
    kind: str
    name: str
    participant: str
    run: str
    parent_run: str


def derived(
    nodes: Collection[Node], links: Iterable[tuple[int, int]], *, participants: Collection[str]
) -> set[int]:
    """Give the records of some participants, and all that names one of these or was made by one of their runs.

    `links` are pairs of a record and another one that it names. A message at which something else came to be is not
    among what is named: what hangs there keeps its place without it. A walk over a list: no chain is too long.
    """
    naming = _naming(nodes, links)
    stays = {node.id for node in nodes if node.kind in STAYS}
    gone, pending = set[int](), [node.id for node in nodes if _is_theirs(node, participants)]
    while pending:
        record = pending.pop()
        if record not in gone:
            gone.add(record)
            pending += (other for other in naming[record] if other not in stays)
    return gone


def _is_theirs(node: Node, participants: Collection[str]) -> bool:
    if node.kind == "participant":
        return node.name in participants
    return node.kind not in STAYS and node.participant in participants


def _naming(nodes: Collection[Node], links: Iterable[tuple[int, int]]) -> Mapping[int, list[int]]:
    """Give what names each record."""
    naming = defaultdict[int, list[int]](list)
    for record, target in (*links, *_made_by(nodes)):
        naming[target].append(record)
    return naming


def _made_by(nodes: Collection[Node]) -> Iterator[tuple[int, int]]:
    runs = {node.name: node.id for node in nodes if node.kind == "model_run"}
    for node in nodes:
        for run in {node.run, node.parent_run} & runs.keys():
            yield node.id, runs[run]
