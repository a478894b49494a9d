"""Lists as files: CSV that no spreadsheet runs as a formula, and JSON Lines, written row by row (CO-4)."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from django.http import StreamingHttpResponse
from django.utils import translation
from django.utils.translation import get_language

TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
"""The content type of each form of a list, by the end of the file's name."""

_ONE = {"json": "application/json"}
"""The same of a file that holds one object."""

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What begins a formula, in full width too."""


class _Line:
    """Takes what the writer writes and gives it back."""

    def write(self, text: str) -> str:
        return text


def csv_lines(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """Write a table; a cell that a spreadsheet would take for a formula begins with an apostrophe."""
    writer = csv.writer(_Line())
    yield writer.writerow([_safe(cell) for cell in head]).encode()
    for row in rows:
        yield writer.writerow([_cell(cell) for cell in row]).encode()


def json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Write one JSON object a line."""
    for row in rows:
        yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def attachment(lines: Iterator[bytes], *, name: str, form: str) -> StreamingHttpResponse:
    """Answer a file while it is written; nobody on the way keeps it."""
    headers = {
        "Content-Disposition": f'attachment; filename="{name}.{form}"',
        "Cache-Control": "no-store",
    }
    return StreamingHttpResponse(
        _spoken(lines, get_language()), content_type=(TYPES | _ONE)[form], headers=headers
    )


def _cell(value: Any) -> str | int | float:
    """Give a value as one cell: a list by commas, nothing as an empty cell; a number is no formula."""
    if isinstance(value, list | tuple):
        return _safe(", ".join(map(str, value)))
    if value is None:
        return ""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else _safe(str(value))


def _safe(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULAS) else cell


def _spoken(lines: Iterator[bytes], language: str | None) -> Iterator[bytes]:
    """Make each line in the language of the page: the answer has left the one who knew it when the lines are made."""
    while True:
        with translation.override(language):
            line = next(lines, None)
        if line is None:
            return
        yield line
