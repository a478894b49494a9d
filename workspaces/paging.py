"""Lists go page by page, newest first or soonest first, by cursors that are opaque to the caller (PL-10, CO-4)."""

import base64
import binascii
from datetime import UTC, date, datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from django.db.models import DateField, DateTimeField, Q, QuerySet
from msgspec import Meta

from workspaces.errors import InvalidInput
from workspaces.types import FieldProblem

PAGE_SIZE = 50


class Moment(msgspec.Struct, frozen=True, array_like=True):
    """A row at the edge of a page of a list that is sorted by time."""

    at: Annotated[datetime, Meta(tz=True)]
    id: UUID


class Number(msgspec.Struct, frozen=True, array_like=True):
    """A row at the edge of a page of a list that is sorted by number."""

    at: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    id: UUID


class Day(msgspec.Struct, frozen=True, array_like=True):
    """A row at the edge of a page of a list that is sorted by day."""

    at: date
    id: UUID


Edge = Moment | Number | Day


class Page(msgspec.Struct, frozen=True):
    """One page of rows in their order, and the cursors of its neighbours; None where there is none.

    `older` leads on and `newer` back, in a list that begins with the newest and in one that begins with the soonest.
    """

    rows: list[Any]
    newer: str | None = None
    older: str | None = None


def page(
    rows: QuerySet[Any],
    *,
    by: str,
    older: str | None = None,
    newer: str | None = None,
    size: int = PAGE_SIZE,
    soonest_first: bool = False,
) -> Page:
    """Give the page after the cursor `older`, or before the cursor `newer`, or the first; nothing is counted.

    `by` is a time, a day or a number that the rows are sorted by, ties by id.
    Raises InvalidInput for a cursor that no list gave.
    """
    kind = _kind_of(rows, by)
    rising, falling = ((by, "id"), "gt"), ((f"-{by}", "-id"), "lt")
    (order, onward), (reverse, backward) = (rising, falling) if soonest_first else (falling, rising)
    if newer:
        found = list(rows.filter(_beyond(by, backward, _decode(newer, kind))).order_by(*reverse)[: size + 1])
        kept = found[:size][::-1]
        return _page(kept, by, has_newer=len(found) > size, has_older=True)
    if older:
        rows = rows.filter(_beyond(by, onward, _decode(older, kind)))
    found = list(rows.order_by(*order)[: size + 1])
    return _page(found[:size], by, has_newer=bool(older), has_older=len(found) > size)


def _kind_of(rows: QuerySet[Any], by: str) -> type[Edge]:
    field = rows.model._meta.get_field(by)  # noqa: SLF001  (public in Django)
    if isinstance(field, DateTimeField):
        return Moment
    return Day if isinstance(field, DateField) else Number


def _page(rows: list[Any], by: str, *, has_newer: bool, has_older: bool) -> Page:
    if not rows:
        return Page(rows=[])
    return Page(
        rows=rows,
        newer=_encode(rows[0], by) if has_newer else None,
        older=_encode(rows[-1], by) if has_older else None,
    )


def _beyond(by: str, direction: str, edge: Edge) -> Q:
    return Q(**{f"{by}__{direction}": edge.at}) | Q(**{by: edge.at, f"id__{direction}": edge.id})


def _encode(row: Any, by: str) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode((getattr(row, by), row.id))).decode()


def _decode(text: str, kind: type[Edge]) -> Edge:
    try:
        edge = msgspec.msgpack.decode(base64.urlsafe_b64decode(text.encode()), type=kind)
        # A time whose zone puts it before the year 1 or after 9999 is none of the database's.
        return Moment(at=edge.at.astimezone(UTC), id=edge.id) if isinstance(edge, Moment) else edge
    except (msgspec.MsgspecError, binascii.Error, ValueError, OverflowError) as error:
        problem = FieldProblem("/cursor", "wrong_form", "The cursor is not one that this list gave.")
        raise InvalidInput(errors=(problem,)) from error
