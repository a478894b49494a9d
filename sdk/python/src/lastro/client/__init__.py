"""The clients of working memory: `Lastro` and, with the same shape, `AsyncLastro` (SD-1)."""

from lastro.client.asynchronous import AsyncLastro, AsyncState
from lastro.client.scopes import Conversation, Scope
from lastro.client.sync import Lastro, State

__all__ = ["AsyncLastro", "AsyncState", "Conversation", "Lastro", "Scope", "State"]
