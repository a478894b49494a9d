"""Tables, as CSV or as a list of alike objects: how many rows, which columns, and the bounds of the numbers.

No row is promoted: who needs rows asks for the artifact exactly.
"""

import csv
import io
from collections.abc import Sequence
from datetime import timedelta

from lastro.assembly.extractors.recorded import Json, Kind, Recorded, members, objects, remembered
from lastro.assembly.records import Locator, ToolMemory

LEAST_ROWS = 2
MOST_COLUMNS = 24
MOST_BYTES = 8_388_608

_LISTS = ("rows", "data", "records", "values")

Rows = Sequence[Sequence[str]]
TABLE = Kind(noun="table", freshness="bounded", lives=timedelta(days=30))


def table(recorded: Recorded) -> ToolMemory | None:
    """Remember the shape of a table."""
    if recorded.artifact.status != "succeeded" or len(recorded.payload) > MOST_BYTES:
        return None
    found = _from_json(recorded) or _from_csv(recorded)
    if found is None:
        return None
    columns, rows, place = found
    return remembered(
        recorded,
        TABLE,
        f"{len(rows)} rows; {', '.join(_said(name, column) for name, column in _columns(columns, rows))}",
        locators=[place],
        about=f"a table of {len(rows)} rows",
        limits=("shape only, no row",),
    )


def _from_json(recorded: Recorded) -> tuple[Sequence[str], Rows, Locator | None] | None:
    lists = {"": objects(recorded.value)}
    lists |= {f"/{name}": objects(members(recorded.value).get(name)) for name in _LISTS}
    for name, found in lists.items():
        columns = list(found[0]) if found else []
        if len(found) >= LEAST_ROWS and columns and all(list(row) == columns for row in found):
            rows = [[_written(row[column]) for column in columns] for row in found]
            return columns, rows, recorded.pointing(f"{name}/0")
    return None


def _from_csv(recorded: Recorded) -> tuple[Sequence[str], Rows, Locator | None] | None:
    text = recorded.text
    if recorded.value is not None or not text or "\n" not in text.strip():
        return None
    for delimiter in (",", ";", "\t"):
        rows = _read(text, delimiter)
        if len(rows) > LEAST_ROWS and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows):
            return rows[0], rows[1:], recorded.line(1)
    return None


def _read(text: str, delimiter: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=True) if row]
    except csv.Error:
        return []


def _columns(columns: Sequence[str], rows: Rows) -> list[tuple[str, list[str]]]:
    shown = columns[:MOST_COLUMNS]
    return [(name, [row[place] for row in rows]) for place, name in enumerate(shown)]


def _said(name: str, column: Sequence[str]) -> str:
    numbers = [_number(cell) for cell in column]
    known = [number for number in numbers if number is not None]
    if not known or len(known) < len(column):
        return name
    return f"{name} {min(known):g} to {max(known):g}"


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


def _written(value: Json) -> str:
    return "" if value is None else str(value)
