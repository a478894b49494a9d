"""Working memory, conversation history and context of AI agents (SD-1 to SD-11)."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lastro.client import AsyncLastro, AsyncState, Conversation, Lastro, Scope, State
    from lastro.contexts import Context
    from lastro.errors import LastroError
    from lastro.outbox import FileOutbox, MemoryOutbox, Outbox
    from lastro.recording import Later, Recorded, Refused, Tool, tool
    from lastro.states.backoff import Backoff
    from lastro.states.tuning import Budgets, Tuning
    from lastro.states.types import Conflict, Handle, StateCleared, StateName, StateRead, StateWritten

_PLACES = {
    "lastro.client": ("AsyncLastro", "AsyncState", "Conversation", "Lastro", "Scope", "State"),
    "lastro.contexts": ("Context",),
    "lastro.errors": ("LastroError",),
    "lastro.outbox": ("FileOutbox", "MemoryOutbox", "Outbox"),
    "lastro.recording": ("Later", "Recorded", "Refused", "Tool", "tool"),
    "lastro.states.backoff": ("Backoff",),
    "lastro.states.tuning": ("Budgets", "Tuning"),
    "lastro.states.types": (
        "Conflict",
        "Handle",
        "StateCleared",
        "StateName",
        "StateRead",
        "StateWritten",
    ),
}
_WHERE = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "AsyncLastro",
    "AsyncState",
    "Backoff",
    "Budgets",
    "Conflict",
    "Context",
    "Conversation",
    "FileOutbox",
    "Handle",
    "Lastro",
    "LastroError",
    "Later",
    "MemoryOutbox",
    "Outbox",
    "Recorded",
    "Refused",
    "Scope",
    "State",
    "StateCleared",
    "StateName",
    "StateRead",
    "StateWritten",
    "Tool",
    "Tuning",
    "tool",
]


def __getattr__(name: str) -> object:
    """Load a name at its first use: the server imports the pure parts, and no client (PEP 562)."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
