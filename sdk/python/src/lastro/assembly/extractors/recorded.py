"""What an extractor reads, and the memory that it makes: its owner, its classes and its sources are the artifact's."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, cast

from lastro.assembly.locators import canonical, content_at, digest_of
from lastro.assembly.records import Confidence, Freshness, Locator, Owned, ToolArtifact, ToolMemory
from lastro.assembly.records.classes import ContextClass
from lastro.assembly.records.forms import SURROGATES

SUMMARY_CHARACTERS = 400
_ID = 64

Json = Any


@dataclass(frozen=True)
class Recorded:
    """An artifact and its result."""

    artifact: ToolArtifact
    payload: bytes = field(repr=False)

    @cached_property
    def value(self) -> Json:
        """Give the result as JSON, None where it is none."""
        try:
            return json.loads(self.payload)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def text(self) -> str | None:
        """Give the result as text, None where it is none."""
        try:
            return self.payload.decode()
        except UnicodeDecodeError:
            return None

    def pointing(self, pointer: str) -> Locator | None:
        """Give a locator of a place of the JSON, None where nothing is there."""
        place = Locator(artifact=self.artifact.id, pointer=pointer, digest="0" * 64)
        return self._held(place)

    def line(self, number: int) -> Locator | None:
        """Give a locator of a line, from 1."""
        return self._held(Locator(artifact=self.artifact.id, lines=(number, number), digest="0" * 64))

    def _held(self, place: Locator) -> Locator | None:
        content = content_at(place, self.payload)
        if content is None:
            return None
        return Locator(
            artifact=place.artifact, pointer=place.pointer, lines=place.lines, digest=digest_of(content)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What an extractor makes: its noun, how it ages and after how long, its class of context."""

    noun: str
    freshness: Freshness
    lives: timedelta | None = None
    context: ContextClass = "epistemic"


def remembered(
    recorded: Recorded,
    kind: Kind,
    summary: str,
    *,
    locators: Sequence[Locator | None],
    about: str,
    limits: tuple[str, ...] = (),
) -> ToolMemory:
    """Make the memory of an artifact: as private, as visible and as isolated as that is."""
    artifact = recorded.artifact
    seen = artifact.recorded_at
    return ToolMemory(
        id=_named(artifact.id, kind.noun),
        **_owner(artifact),
        artifacts=(artifact.id,),
        tools=(artifact.tool,),
        summary=cut(summary, SUMMARY_CHARACTERS),
        about=cut(about, 200),
        confidence=Confidence(value=1.0, source=f"extractor.{kind.noun}", reason="read as it stands"),
        limits=limits,
        freshness=kind.freshness,
        observed_at=seen,
        stale_after=_ends(seen, kind.lives),
        revalidate_with=(artifact.tool,) if kind.lives else (),
        locators=tuple(locator for locator in locators if locator is not None),
        context=kind.context,
    )


def cut(text: str, characters: int) -> str:
    """Shorten a text between characters, never inside of one; what was cut is marked, half a character replaced."""
    whole = SURROGATES.sub("\ufffd", text)
    return whole if len(whole) <= characters else whole[: characters - 1].rstrip() + "…"


def objects(value: Json) -> list[dict[str, Json]]:
    """Give the objects of a list, none where it is no list of objects only."""
    if not isinstance(value, list):
        return []
    elements = cast("list[object]", value)
    found = [cast("dict[str, Json]", one) for one in elements if isinstance(one, dict)]
    return found if len(found) == len(elements) else []


def members(value: Json) -> dict[str, Json]:
    """Give the members of an object, none where it is none."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def first_text(value: dict[str, Json], names: Sequence[str]) -> tuple[str, str] | None:
    """Give the first of some members that is a text or an integer, by name."""
    return next(((name, str(value[name])) for name in names if _is_plain(value.get(name))), None)


def plain(value: dict[str, Json]) -> Iterator[tuple[str, str]]:
    """Give the members that are plain values, written as JSON writes them."""
    for name, member in value.items():
        if _is_plain(member) or isinstance(member, float | bool):
            yield name, member if isinstance(member, str) else canonical(member).decode()


def _is_plain(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def escaped(name: str) -> str:
    """Write a name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _named(artifact: str, noun: str) -> str:
    name = f"{artifact}.{noun}"
    return name if len(name) <= _ID else f"{digest_of(artifact.encode())[:32]}.{noun}"


def _owner(artifact: ToolArtifact) -> dict[str, Json]:
    return {one.name: getattr(artifact, one.name) for one in fields(Owned) if one.name != "id"}


def _ends(seen: datetime, lives: timedelta | None) -> datetime | None:
    return seen + lives if lives else None
