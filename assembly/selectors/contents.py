"""The results of artifacts, for an assembly that shows them raw: read only when every rule admitted them (CA-11)."""

from collections.abc import Collection
from datetime import datetime

from assembly.models import Payload
from assembly.selectors.ends import is_over
from assembly.selectors.graphs import SeenGraph
from assembly.selectors.payloads import parts_of
from lastro.assembly.records import ToolArtifact


class Contents:
    """The payloads of some artifacts of a graph, fetched at once; of an expired one there is none."""

    def __init__(self, seen: SeenGraph, *, now: datetime) -> None:
        self._seen, self._now = seen, now
        self._rows: dict[str, Payload] = {}

    def fetch(self, artifacts: Collection[str]) -> None:
        """Get the rows of the payloads that will be read: one query, none for none."""
        if not artifacts:
            return
        rows = Payload.objects.filter(
            graph=self._seen.row,
            record__kind=ToolArtifact.wire,
            record__name__in=sorted(artifacts),
            record__erasure_id=None,
            role=Payload.Role.RESULT,
            state=Payload.State.STORED,
        )
        found = rows.select_related("record").defer("record__body")
        self._rows = {row.record.name: row for row in found if not self._is_over(row)}

    def read(self, artifact: str) -> bytes | None:
        """Give the result of an artifact, None where it is not there."""
        row = self._rows.get(artifact)
        if row is None:
            return None
        return b"".join(parts_of(self._seen.workspace, row, self._seen.key))

    def _is_over(self, row: Payload) -> bool:
        return is_over(row.record, self._seen.bounds, now=self._now)
