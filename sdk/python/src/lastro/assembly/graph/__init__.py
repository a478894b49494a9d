"""A runtime graph in memory: what a store keeps, and how it makes a snapshot of it (CA-3, CA-11).

It is what tests and hosts without a server use, and it says in code what the queries of a server must find.
"""

from lastro.assembly.graph.facts import SELECTABLE as SELECTABLE
from lastro.assembly.graph.store import RecordConflict as RecordConflict
from lastro.assembly.graph.store import RuntimeGraph as RuntimeGraph
