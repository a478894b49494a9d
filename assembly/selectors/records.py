"""The stored records, and what they say (CA-3)."""

from assembly.types import Opened
from lastro.assembly.records import Record, parse_record
from workspaces.rules import json

JSON = json.Rules(max_depth=200, any_integer=True)
"""How deep records nest and how large their integers are: what a tool answers is not ours to bound more."""


def record_of(opened: Opened) -> Record:
    """Read the record that a ciphertext held."""
    return parse_record(json.parse(bytes(opened.record), JSON))
