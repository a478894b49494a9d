"""What a host runs on adapters of its own: the conformance suite of stores (HI-24)."""

from lastro.testing.stores import Settable, StoreSuite, check_store

__all__ = ["Settable", "StoreSuite", "check_store"]
