"""Writes that wait for a server out of reach: in memory, or in a file that outlives the process (SD-4)."""

from lastro.outbox.contract import Entry, Outbox
from lastro.outbox.file import FileOutbox
from lastro.outbox.memory import MemoryOutbox

__all__ = ["Entry", "FileOutbox", "MemoryOutbox", "Outbox"]
