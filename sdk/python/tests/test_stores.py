"""The stores of this package hold the contract of stores (HI-24)."""

import itertools
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lastro.history import RamStore, SqliteStore
from lastro.history.contract import HistoryStore
from lastro.testing import StoreSuite, check_store


class TestRam(StoreSuite):
    """HI-24: the suite on RAM."""

    def make_store(self, **settings: Any) -> HistoryStore:
        return RamStore(**settings)


class TestSqliteFile(StoreSuite):
    """HI-24: the suite on SQLite in a file of its own."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.files = (tmp_path / f"{number}.sqlite" for number in itertools.count())

    def make_store(self, **settings: Any) -> HistoryStore:
        return SqliteStore(next(self.files), **settings)


class TestSqliteConnection(StoreSuite):
    """HI-24, HI-7: the suite on SQLite with a host's own connection."""

    def make_store(self, **settings: Any) -> HistoryStore:
        connection = sqlite3.connect(":memory:")
        connection.row_factory = sqlite3.Row
        return SqliteStore(connection=connection, **settings)


def test_suite_runs_by_one_call() -> None:
    """HI-24: a host runs the whole suite on a factory of its own stores."""
    assert check_store(RamStore) > 80


def test_suite_finds_a_store_that_breaks_a_rule() -> None:
    """HI-24: a plain get and put without exclusion does not pass."""

    class Careless(RamStore):
        def _reserve(self, key: Any, **words: Any) -> Any:
            if key.digest in self._sessions:
                self._freed(key)
            return super()._reserve(key, **words)

    with pytest.raises(AssertionError):
        check_store(Careless)
