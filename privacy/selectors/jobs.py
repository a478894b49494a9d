"""Long work as one list over the rows that each kind keeps anyway: nothing is stored twice (CO-9)."""

import base64
import binascii
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import chain
from typing import Annotated, Any

import msgspec
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from msgspec import Meta

from agentstate.models import SweepRun
from assembly.models import GraphSweep
from history.models import HistorySweep
from privacy.models import ErasureRequest, PackageRun
from workspaces import access
from workspaces.errors import InvalidInput, NotFound
from workspaces.models import AuditEntry
from workspaces.paging import PAGE_SIZE, Page
from workspaces.types import FieldProblem

WORKED_ON = ("approved", "running", "failed", "completed")
EXPORTS = ("workspace.export", "hold.export")


class _Source(msgspec.Struct, frozen=True):
    """Where jobs of one kind are kept, and by which time they are sorted."""

    by: str
    rows: Callable[[], QuerySet[Any]]


_SOURCES = {
    "erasure": _Source(
        "requested_at", lambda: ErasureRequest.objects.filter(status__in=WORKED_ON).prefetch_related("steps")
    ),
    "export": _Source("at", lambda: AuditEntry.objects.filter(act__in=EXPORTS)),
    "graph": _Source("ended_at", GraphSweep.objects.all),
    "history": _Source("ended_at", HistorySweep.objects.all),
    "package": _Source("asked_at", PackageRun.objects.all),
    "states": _Source("ended_at", SweepRun.objects.all),
}
KINDS = tuple(_SOURCES)
"""Every kind of job: an erasure, an export, a sweep of the graph, of history or of working memory, and a package."""


class Job(msgspec.Struct, frozen=True):
    """One job: its kind, the time that it is sorted by, and the row that is its only source."""

    kind: str
    at: datetime
    row: Any

    @property
    def name(self) -> str:
        """Name it in an address."""
        return f"{self.kind}-{self.row.pk}"

    @property
    def place(self) -> tuple[datetime, str, Any]:
        """Give its place in the list."""
        return self.at, self.kind, self.row.pk


class _Edge(msgspec.Struct, frozen=True, array_like=True):
    """The place of a job at the edge of a page."""

    at: Annotated[datetime, Meta(tz=True)]
    kind: str
    id: str


def jobs(
    kinds: Iterable[str], *, older: str | None = None, newer: str | None = None, size: int = PAGE_SIZE
) -> Page:
    """Give a page of the jobs of these kinds, newest first, by one query a kind.

    Raises InvalidInput for a cursor that no list gave.
    """
    edge, is_back = _decode(newer or older), bool(newer)
    parts = [_part(kind, edge, is_back=is_back, size=size) for kind in kinds]
    found = sorted(chain.from_iterable(parts), key=lambda job: job.place, reverse=not is_back)
    kept, more = found[:size], len(found) > size
    if is_back:
        return _page(kept[::-1], has_newer=more, has_older=True)
    return _page(kept, has_newer=edge is not None, has_older=more)


def find_job(name: str) -> Job:
    """Give the job that an address names. Raises NotFound."""
    kind, _dash, id = name.partition("-")
    source = _SOURCES.get(kind)
    if source is None:
        raise NotFound
    try:
        row = access.one(source.rows(), pk=id)
    except (ValueError, ValidationError, OverflowError) as error:
        raise NotFound from error
    return _job(kind, source, row)


def _part(kind: str, edge: _Edge | None, *, is_back: bool, size: int) -> list[Job]:
    """Give the jobs of one kind beyond an edge, as many as a page may take and one more."""
    source = _SOURCES[kind]
    sign = "" if is_back else "-"
    rows = source.rows().order_by(f"{sign}{source.by}", f"{sign}pk")
    if edge is not None:
        rows = rows.filter(_beyond(kind, source.by, edge, "gt" if is_back else "lt"))
    return [_job(kind, source, row) for row in rows[: size + 1]]


def _beyond(kind: str, by: str, edge: _Edge, direction: str) -> Q:
    """Say which rows of a kind lie beyond a place: at one time the kinds follow each other by name."""
    beyond = Q(**{f"{by}__{direction}": edge.at})
    if kind == edge.kind:
        return beyond | Q(**{by: edge.at, f"pk__{direction}": edge.id})
    is_beyond = kind > edge.kind if direction == "gt" else kind < edge.kind
    return beyond | Q(**{by: edge.at}) if is_beyond else beyond


def _job(kind: str, source: _Source, row: Any) -> Job:
    return Job(kind, getattr(row, source.by), row)


def _page(found: list[Job], *, has_newer: bool, has_older: bool) -> Page:
    if not found:
        return Page(rows=[])
    return Page(
        rows=found,
        newer=_encode(found[0]) if has_newer else None,
        older=_encode(found[-1]) if has_older else None,
    )


def _encode(job: Job) -> str:
    edge = (job.at, job.kind, str(job.row.pk))
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(edge)).decode()


def _decode(text: str | None) -> _Edge | None:
    if not text:
        return None
    try:
        edge = msgspec.msgpack.decode(base64.urlsafe_b64decode(text.encode()), type=_Edge)
        # An id that is none of its kind's would be an error of the database's.
        _SOURCES[edge.kind].rows().model._meta.pk.to_python(edge.id)  # noqa: SLF001  (public in Django)
        return msgspec.structs.replace(edge, at=edge.at.astimezone(UTC))
    except (
        msgspec.MsgspecError,
        binascii.Error,
        KeyError,
        ValidationError,
        ValueError,
        OverflowError,
    ) as error:
        problem = FieldProblem("/cursor", "wrong_form", "The cursor is not one that this list gave.")
        raise InvalidInput(errors=(problem,)) from error
