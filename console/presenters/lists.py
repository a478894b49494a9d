"""Lists: each one a page, and a file of the rows and the columns that the page shows (CO-4)."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from operator import attrgetter
from typing import Any

import msgspec
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from console.pages import asked
from console.presenters.exports import TYPES, attachment, csv_lines, json_lines

PARAMETER = "file"
"""What asks for a file in the address of a list."""


class Table(msgspec.Struct, frozen=True):
    """The rows of a page under the names that their columns have in a file.

    `cells` gives the cells of a row in the order of the columns; without it they are its attributes of these names.
    """

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Any]
    cells: Callable[[Any], Sequence[Any]] | None = None


def show_list(
    request: HttpRequest, template: str, context: dict[str, Any], *, table: Table
) -> HttpResponseBase:
    """Show a list, or give the same page of it as CSV or JSON Lines.

    The file comes from the view that shows the list, so that rights, filters, order and audit are those of the page.
    """
    form = asked(request, PARAMETER)
    if form in TYPES:
        return _file(request, table, form)
    exports = _exports(request) if table.rows else []
    return render(request, template, context | {"exports": exports})


def _file(request: Any, table: Table, form: str) -> HttpResponseBase:
    cells = table.cells or attrgetter(*table.columns)
    rows = [[_plain(cell) for cell in cells(row)] for row in table.rows]
    lines = (
        csv_lines(table.columns, rows)
        if form == "csv"
        else json_lines(dict(zip(table.columns, row, strict=True)) for row in rows)
    )
    workspace = getattr(request, "workspace", None)
    parts = [table.name, *([workspace.slug] if workspace else []), f"{timezone.now():%Y%m%dT%H%M%SZ}"]
    return attachment(lines, name="-".join(parts), form=form)


def _exports(request: HttpRequest) -> list[dict[str, str]]:
    """Give the addresses of the files of exactly this page: its filters and its cursor go along."""
    labels = {"csv": _("CSV"), "jsonl": _("JSON Lines")}
    found = []
    for form in TYPES:
        query = request.GET.copy()
        query[PARAMETER] = form
        found.append({"label": labels[form], "url": f"{request.path}?{query.urlencode()}"})
    return found


def _plain(value: Any) -> Any:
    """Give a cell as files have it: moments in UTC, words for what is translated late."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case list() | tuple():
            return [_plain(each) for each in value]
        case Promise():
            return str(value)
        case None | bool() | int() | float() | str():
            return value
    return str(value)
