"""Generated files: their ids and names, which a later turn must have to the letter."""

from collections.abc import Iterator
from itertools import accumulate

from lastro.assembly.extractors.recorded import (
    SUMMARY_CHARACTERS,
    Json,
    Kind,
    Recorded,
    first_text,
    members,
    objects,
    remembered,
)
from lastro.assembly.records import ToolMemory

MOST_FILES = 10

_SINGLE = ("file", "artifact", "document")
_SEVERAL = ("files", "artifacts", "documents", "attachments")
_IDS = ("id", "file_id", "fileId", "path", "uri")
_NAMES = ("name", "filename", "fileName", "title")
_MARKS = (
    "bytes",
    "size",
    "checksum",
    "checksums",
    "sha256",
    "md5",
    "storage",
    "download_url",
    "mimeType",
    "media_type",
)
FILES = Kind(noun="files", freshness="durable", context="provenance")


def generated_files(recorded: Recorded) -> ToolMemory | None:
    """Remember which files a tool made: durable, and what is said of them is provenance."""
    found = [(place, file) for place, file in _places(recorded.value) if _is_file(file)]
    if not _whole(found[:MOST_FILES]) or recorded.artifact.status != "succeeded":
        return None
    shown = _whole(found[:MOST_FILES])
    more = (f"first {len(shown)} of {len(found)} files",) if len(found) > len(shown) else ()
    return remembered(
        recorded,
        FILES,
        "; ".join(_said(file) for _, file in shown),
        locators=[recorded.pointing(f"{place}/{_id_of(file)[0]}") for place, file in shown],
        about=f"{len(found)} generated file{'s' if len(found) > 1 else ''}",
        limits=more,
    )


def _places(value: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    top = members(value)
    yield from ((f"/{name}", members(top.get(name))) for name in _SINGLE)
    for name in _SEVERAL:
        yield from ((f"/{name}/{number}", file) for number, file in enumerate(objects(top.get(name))))
    yield "", top


def _whole(found: list[tuple[str, dict[str, Json]]]) -> list[tuple[str, dict[str, Json]]]:
    """Give as many files as a summary holds without cutting an id."""
    lengths = accumulate(len(_said(file)) + 2 for _, file in found)
    return [one for one, length in zip(found, lengths, strict=True) if length <= SUMMARY_CHARACTERS]


def _is_file(file: dict[str, Json]) -> bool:
    return all((first_text(file, _IDS), first_text(file, _NAMES), any(mark in file for mark in _MARKS)))


def _id_of(file: dict[str, Json]) -> tuple[str, str]:
    return first_text(file, _IDS) or ("", "")


def _said(file: dict[str, Json]) -> str:
    name = first_text(file, _NAMES) or ("", "")
    return f"{name[1]} = {_id_of(file)[1]}"
