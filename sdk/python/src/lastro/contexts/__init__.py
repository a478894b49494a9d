"""Contexts assembled by the server: what a model is to see next, and why (SD-10, CA-9 to CA-19)."""

from lastro.contexts.answers import Account, AssemblyRecord, Context, Explanation, Item, Outcome

__all__ = ["Account", "AssemblyRecord", "Context", "Explanation", "Item", "Outcome"]
