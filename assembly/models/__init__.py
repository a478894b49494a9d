"""The tables of the runtime graph: what was recorded, its payloads, and what was assembled from it."""

from assembly.models.assemblies import ContextAssembly as ContextAssembly
from assembly.models.assemblies import PolicyDecision as PolicyDecision
from assembly.models.graph import Graph as Graph
from assembly.models.graph import GraphPerson as GraphPerson
from assembly.models.graph import GraphRecord as GraphRecord
from assembly.models.graph import Link as Link
from assembly.models.payloads import LooseBlob as LooseBlob
from assembly.models.payloads import Payload as Payload
from assembly.models.sweeps import GraphSweep as GraphSweep
