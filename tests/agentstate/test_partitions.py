"""The states in partitions, by the very statements of the page on how it grows."""

import re
from pathlib import Path

import pytest
from django.db import connection

from tests.agentstate.rows import row_of
from tests.api import InProcess
from tests.factories import scope, write
from workspaces.types import WorkspaceRef

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations" / "growth.md"


@pytest.mark.owner
def test_partitions_by_workspace(aurora: WorkspaceRef, agent: InProcess) -> None:
    """PL-14, WM-7, WM-18: what was stored stays as it was, and is written and read as before."""
    place, another = scope(), scope(id="c-another")
    assert agent.write(write({"step": "cart"}, scope=place)).body["version"] == 1
    before = row_of(aurora, place)

    _part()

    assert row_of(aurora, place).change == before.change
    assert agent.write(write({"qty": 2}, scope=place)).body["version"] == 2
    assert agent.write(write({"step": "done"}, scope=another)).body["version"] == 1
    assert agent.read(place).body["body"] == {"step": "cart", "qty": 2}
    assert row_of(aurora, place).change > before.change
    assert _parts_in_use() == 1, "one workspace stands in one partition"


def _part() -> None:
    """Run the statements inside the test's own transaction."""
    found = re.search(r"```sql\nBEGIN;\n(.*?)\nCOMMIT;\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(found[1])


def _parts_in_use() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT tableoid) FROM agentstate_state")
        return int(cursor.fetchone()[0])
