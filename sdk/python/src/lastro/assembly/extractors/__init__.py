"""Memories of common tools without a model: generated files, search results, tables, API objects, errors.

Each is deterministic, promotes little, and keeps locators into the artifact that it read (CA-5). A host may add
its own.
"""

from collections.abc import Callable, Mapping

from lastro.assembly.extractors.api_objects import api_object
from lastro.assembly.extractors.errors import final_failure
from lastro.assembly.extractors.files import generated_files
from lastro.assembly.extractors.recorded import Recorded
from lastro.assembly.extractors.search import search_results
from lastro.assembly.extractors.tables import table
from lastro.assembly.records import ToolArtifact, ToolMemory

Extractor = Callable[[Recorded], ToolMemory | None]

EXTRACTORS: Mapping[str, Extractor] = {
    "errors": final_failure,
    "files": generated_files,
    "search": search_results,
    "table": table,
    "api_object": api_object,
}
"""In the order in which they are tried."""


def extract(
    artifact: ToolArtifact, *, payload: bytes | None, extractors: Mapping[str, Extractor] = EXTRACTORS
) -> ToolMemory | None:
    """Give the memory of the first extractor that knows the result of an artifact, None where none does."""
    recorded = Recorded(artifact, payload or b"")
    found = (extractor(recorded) for extractor in extractors.values())
    return next((memory for memory in found if memory is not None), None)
