"""The SQLite store: its file, its tables and its rows."""

from lastro.history.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
