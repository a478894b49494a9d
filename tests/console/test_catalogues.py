"""The catalogues say all that the pages say, and lose nothing of it (CO-11)."""

import re
from collections import Counter

import pytest
from babel.messages.catalog import Catalog, Message
from django.conf import settings

from console import catalogues

EACH = pytest.mark.parametrize("language", catalogues.LANGUAGES)
PLACE = re.compile(r"%\(\w+\)[sd]|%[sd]|</?\w+[^>]*>|`[^`]*`")


@pytest.fixture(scope="module")
def found() -> Catalog:
    return catalogues.collected()


def texts_of(catalogue: Catalog) -> set[tuple[str | None, str]]:
    return {(message.context, str(message.id)) for message in catalogue if message.id}


def places_in(text: str) -> Counter[str]:
    return Counter(PLACE.findall(text))


def losses(message: Message) -> list[str]:
    """Find translations of a text that lost one of its places or tags, or have one that it has not."""
    originals = message.id if isinstance(message.id, list | tuple) else [message.id]
    translations = message.string if isinstance(message.string, list | tuple) else [message.string]
    allowed = [places_in(original) for original in originals]
    return [text or "" for text in translations if places_in(text or "") not in allowed]


@EACH
def test_the_catalogue_has_what_the_pages_say(language: str, found: Catalog) -> None:
    """CO-11: it has every text of the pages and no other: `make messages` brings it up to date."""
    assert texts_of(catalogues.catalogue_of(language)) == texts_of(found)


@EACH
def test_every_text_is_translated(language: str, found: Catalog) -> None:
    """CO-11: no text is left in English, and none has a translation that nobody has looked at."""
    catalogue = catalogues.updated(language, found)
    assert [message.id for message in catalogues.untranslated(catalogue)] == []


@EACH
def test_no_translation_loses_a_place_or_a_tag(language: str) -> None:
    """CO-11: what is put into a text, and its tags and commands, stand in its translation as often."""
    lost = [losses(message) for message in catalogues.catalogue_of(language) if message.id]
    assert [text for texts in lost for text in texts] == []


@EACH
def test_what_is_served_is_what_is_translated(language: str) -> None:
    """CO-11: the compiled catalogue is the one that the translation compiles to."""
    served = catalogues.path_of(language, "mo").read_bytes()
    assert served == catalogues.compiled(catalogues.catalogue_of(language))


def test_the_languages_are_those_that_have_a_catalogue() -> None:
    """CO-11: a person can choose English and what is translated, and nothing else."""
    offered = {code.partition("-")[0] for code, _title in settings.LANGUAGES}
    assert offered == {"en", *(language.partition("_")[0] for language in catalogues.LANGUAGES)}


def test_a_translation_without_its_place_is_found() -> None:
    """CO-11: the search for losses finds one."""
    assert losses(Message("%(n)s days", "dias")) == ["dias"]
    assert losses(Message("Get <code>401</code>.", "Receba 401.")) == ["Receba 401."]
    assert losses(Message("%(n)s days", "%(n)s dias")) == []
