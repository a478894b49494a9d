"""Search results: the first few, by title and address. A ranking is volatile."""

from datetime import timedelta

from lastro.assembly.extractors.recorded import (
    Json,
    Kind,
    Recorded,
    cut,
    first_text,
    members,
    objects,
    remembered,
)
from lastro.assembly.records import ToolMemory

MOST_RESULTS = 3

_LISTS = ("results", "hits", "items", "organic", "organic_results", "web", "documents")
_TITLES = ("title", "name", "headline")
_ADDRESSES = ("url", "link", "href", "webViewLink", "uri")
RANKING = Kind(noun="search", freshness="volatile", lives=timedelta(days=1))


def search_results(recorded: Recorded) -> ToolMemory | None:
    """Remember the first results of a search, where each has a title and an address."""
    name, results = _results(recorded.value)
    if not results or recorded.artifact.status != "succeeded":
        return None
    shown = results[:MOST_RESULTS]
    return remembered(
        recorded,
        RANKING,
        "; ".join(_said(result) for result in shown),
        locators=[recorded.pointing(f"{name}/{number}") for number in range(len(shown))],
        about=_asked(recorded.value),
        limits=(f"first {len(shown)} of {len(results)}",) if len(results) > len(shown) else (),
    )


def _results(value: Json) -> tuple[str, list[dict[str, Json]]]:
    lists = {f"/{name}": objects(members(value).get(name)) for name in _LISTS} | {"": objects(value)}
    nothing = ("", list[dict[str, Json]]())
    return next(((name, found) for name, found in lists.items() if _are_results(found)), nothing)


def _are_results(found: list[dict[str, Json]]) -> bool:
    return bool(found) and all(first_text(one, _TITLES) and first_text(one, _ADDRESSES) for one in found)


def _said(result: dict[str, Json]) -> str:
    title, address = first_text(result, _TITLES), first_text(result, _ADDRESSES)
    return f"{cut(title[1] if title else '', 80)} <{address[1] if address else ''}>"


def _asked(value: Json) -> str:
    query = first_text(members(value), ("query", "q"))
    return f"search: {query[1]}" if query else "search results"
