"""The language that somebody reads (CO-11)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from django.conf import settings
from django.utils import translation


class Reader(Protocol):
    """Somebody who may have chosen a language; an empty one is no choice."""

    @property
    def language(self) -> str: ...


@contextmanager
def spoken_to(reader: Reader | None, *, otherwise: str = "") -> Iterator[None]:
    """Speak the language that a reader chose; without a choice `otherwise`, or else the one that is spoken already."""
    chosen = reader.language if reader is not None else ""
    wanted = next((each for each in (chosen, otherwise) if each in dict(settings.LANGUAGES)), None)
    with translation.override(wanted or translation.get_language()):
        yield
