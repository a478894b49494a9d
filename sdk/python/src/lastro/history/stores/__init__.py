"""The stores that run in an agent's own process (HI-4)."""

from lastro.history.stores.ram import RamStore
from lastro.history.stores.sqlite import SqliteStore

__all__ = ["RamStore", "SqliteStore"]
