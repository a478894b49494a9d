"""Recording of runs, calls, results and memories into the runtime graph, in order, within a budget (SD-10)."""

from lastro.recording.answers import Recorded, Refused, Stored
from lastro.recording.tools import Later, Tool, tool

__all__ = ["Later", "Recorded", "Refused", "Stored", "Tool", "tool"]
