"""The stores that run in an agent's own process (HI-4)."""

from lastro.history.stores.ram import RamStore

__all__ = ["RamStore"]
