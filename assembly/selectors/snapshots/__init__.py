"""The server's way to a snapshot: a constant number of queries, whatever the graph holds (CA-11, CA-16)."""

from assembly.selectors.snapshots.making import candidate_of as candidate_of
from assembly.selectors.snapshots.making import snapshot_of as snapshot_of
from assembly.selectors.snapshots.naming import named_rows as named_rows
from assembly.selectors.snapshots.naming import require_named as require_named
