"""Conversation history: records, windows, guard, summaries and stores (HI-1 to HI-25).

The names of this module are loaded when they are asked for, so that pure code can be imported without stores.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lastro.history.drafting import Turn
    from lastro.history.history import History
    from lastro.history.records import NewItem, Outcome, Pins, SessionKey
    from lastro.history.sessions import Session
    from lastro.history.settings import SummaryRequest
    from lastro.history.stores import RamStore, SqliteStore
    from lastro.history.stores.server import ServerStore
    from lastro.history.windows import Limits, Window

__all__ = [
    "History",
    "Limits",
    "NewItem",
    "Outcome",
    "Pins",
    "RamStore",
    "ServerStore",
    "Session",
    "SessionKey",
    "SqliteStore",
    "SummaryRequest",
    "Turn",
    "Window",
]

_PLACES = {
    "History": "history",
    "Limits": "windows",
    "NewItem": "records",
    "Outcome": "records",
    "Pins": "records",
    "RamStore": "stores",
    "ServerStore": "stores.server",
    "Session": "sessions",
    "SessionKey": "records",
    "SqliteStore": "stores",
    "SummaryRequest": "settings",
    "Turn": "drafting",
    "Window": "windows",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(name)
    return getattr(import_module(f"lastro.history.{_PLACES[name]}"), name)
