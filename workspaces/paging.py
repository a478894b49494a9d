"""Lists go page by page, by a cursor that is opaque to the caller (PL-10)."""

import base64
import binascii
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db.models import Q, QuerySet

from workspaces.errors import InvalidInput
from workspaces.types import FieldProblem

PAGE_SIZE = 50
MAX_PAGE_SIZE = 200


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """The last row of the page before: its time and its id."""

    at: datetime
    id: UUID


class Page(msgspec.Struct, frozen=True):
    """One page of rows, and the cursor of the next one."""

    rows: list[Any]
    next_cursor: str | None


def page(rows: QuerySet[Any], *, by: str, cursor: str | None, size: int = PAGE_SIZE) -> Page:
    """Give a page, newest first by the field `by`, without counting."""
    if cursor:
        last = _decode(cursor)
        rows = rows.filter(Q(**{f"{by}__lt": last.at}) | Q(**{by: last.at, "id__lt": last.id}))
    found = list(rows.order_by(f"-{by}", "-id")[: size + 1])
    has_more = len(found) > size
    return Page(rows=found[:size], next_cursor=_encode(found[size - 1], by) if has_more else None)


def _encode(row: Any, by: str) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(Cursor(at=getattr(row, by), id=row.id))).decode()


def _decode(cursor: str) -> Cursor:
    try:
        return msgspec.msgpack.decode(base64.urlsafe_b64decode(cursor.encode()), type=Cursor)
    except (msgspec.MsgspecError, binascii.Error, ValueError) as error:
        problem = FieldProblem("/cursor", "wrong_form", "The cursor is not one that this list gave.")
        raise InvalidInput(errors=(problem,)) from error
