"""The window: what the next request carries of a session's history (HI-9 to HI-11). Pure and repeatable (X8)."""

from lastro.history.summaries import Exchange
from lastro.history.windows.leaving import leaving
from lastro.history.windows.types import Limits, Omission, PathIndex, TurnIndex, Window
from lastro.history.windows.window import window_of

__all__ = ["Exchange", "Limits", "Omission", "PathIndex", "TurnIndex", "Window", "leaving", "window_of"]
