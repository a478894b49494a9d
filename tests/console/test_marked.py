"""Every page in a language that marks what was translated: what stands outside of marks was forgotten (CO-11)."""

import gettext
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import django
import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

from console import catalogues
from console.forms.me import ZONES
from tests.console.conftest import SignedIn
from tests.console.house import AGENTS, LONG, House
from tests.console.sights import pages
from tests.tables.rights import PAGES
from workspaces.masking.policy import KINDS
from workspaces.rules.rights import KEY_SCOPES, ROLES

NAMES = {
    # of the house: workspaces, people, agents, sources, workers, types with their values, keys and reasons
    *(
        "House",
        "Quiet",
        "Eva",
        "Nils",
        "of the house",
        "of history",
        "of context",
        "tests",
        "first",
        LONG,
        *AGENTS,
    ),
    *(role.title() for role in ROLES),
    *(
        "chat backend",
        "chat-7",
        "back office (portal)",
        "package builder",
        "scheduler",
        "erasure",
        "gpt-4.1-mini",
    ),
    *(
        "order",
        "cart",
        "delivery",
        "done",
        "phone",
        "A new country",
        "A new workspace",
        "For a test",
        "Case 2026-117",
    ),
    # of the product and of the law
    *("Lastro", "LGPD", "GDPR", "UTC", "SHA", "Django", "Celery", "Python", "PostgreSQL", "Valkey"),
    # of the conversation of which contexts are assembled: policies, runs, routes, visibilities and classes
    *("default", "support", "elsewhere", "openai", "participant", "volatile", "secret"),
    # scopes of keys, kinds of data and members of documents: codes that have no second word
    *(*KEY_SCOPES, *KINDS, "document", "test", "feature", "features", "drop", "version", "system"),
    *(title for _code, title in settings.LANGUAGES),
    *(zone.replace("_", " ") for zone in ZONES),
}
MARKED = re.compile(r"⟦[^⟦⟧]*⟧")
APART = re.compile(r"(%\(\w+\)[sd]|%[sd]|<[^>]+>)")
WORD = re.compile(r"[^\W\d_]{2,}")
SHOWN_ATTRIBUTES = {"title", "aria-label", "placeholder", "alt", "aria-description", "aria-roledescription"}
UNSEEN = {"script", "style", "textarea", "pre"}
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr", "use"}
# What people and machines called things; codes are known by how they are written.
DATA = re.compile(
    "|".join(
        [
            r"\S+@\S+",
            r"\bp_\w+",
            r"\b(?:[\w-]+\.)?ticket-\d+\b",
            r"\b[a-z]+(?:_[a-z]+)+\b",
            r"\b[a-z]+\.[a-z_*]+",
            r"\bER-\d{4}-\d{4}\b",
            r"\b[45]xx\b",
            r"\bpii: \w+",
            r"\b[a-c]{40,}\b",
            *(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in sorted(NAMES, key=len, reverse=True)),
        ]
    )
)
FORMS = {row.name.removeprefix("console:") for row in PAGES if "POST" in row.methods}
# They do what they say for whoever posts to them, and show no page.
DEEDS = {"workspace"}


class Shown(HTMLParser):
    """Collects what a reader sees or hears of a page, but for code and for parts that say they are English."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._open: list[tuple[str, bool]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        is_apart = tag in {"code", *UNSEEN} or (tag != "html" and given.get("lang") not in {None, ""})
        is_within = any(apart for _tag, apart in self._open)
        if not is_apart and not is_within:
            self.texts += [value or "" for name, value in attrs if name in SHOWN_ATTRIBUTES]
        if tag not in VOID:
            self._open.append((tag, is_apart))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not any(apart for _tag, apart in self._open):
            self.texts.append(data)


def unmarked(page: str) -> Iterator[str]:
    """Find texts with words that no translation has gone over."""
    for text in Shown(page).texts:
        left = DATA.sub(" ", MARKED.sub(" ", text))
        if WORD.search(left):
            yield " ".join(left.split())


@pytest.fixture(scope="module")
def known() -> set[str]:
    """What a catalogue has: ours, or Django's own."""
    own = gettext.translation("django", Path(django.__file__).parent / "conf" / "locale", languages=["fr"])
    texts = {key[0] if isinstance(key, tuple) else key for key in own._catalog}  # type: ignore[attr-defined]
    ours = (message.id for message in catalogues.collected())
    return {text.rpartition("\x04")[2] for text in texts} | {
        str(text) for each in ours for text in (each if isinstance(each, tuple) else [each])
    }


@pytest.fixture
def marking(known: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Speak a language in which each text that has a translation stands in marks."""

    def marked(text: Any, as_is: str = "") -> str:
        if (as_is or str(text)) not in known:
            return str(text)
        return "".join(
            part if APART.fullmatch(part) or not WORD.search(part) else f"⟦{part}⟧"
            for part in APART.split(str(text))
        )

    speaking: Any = vars(translation)["_trans"]
    for name, spoken in {
        "gettext": marked,
        "pgettext": lambda _context, text: marked(text),
        "ngettext": lambda one, many, n: marked(one if n == 1 else many, as_is=one),
        "npgettext": lambda _context, one, many, n: marked(one if n == 1 else many, as_is=one),
    }.items():
        getattr(speaking, name)
        monkeypatch.setattr(speaking, name, spoken)


def test_every_text_of_every_page_is_translated(house: House, signed_in: SignedIn, marking: None) -> None:
    """CO-11: on no page, and in no refusal of a form, is there a word beside data, code and translations."""
    found: dict[str, set[str]] = {}
    for sight in pages():
        person = house.people.get(sight.who)
        client = signed_in(person) if person else Client()
        answers = [client.get(sight.address(house))]
        if sight.name in FORMS - DEEDS:
            answers.append(client.post(sight.address(house), {}))
        for answer in answers:
            if answer.status_code in {200, 403, 404, 409, 422} and not answer.streaming:
                for text in unmarked(answer.content.decode()):
                    found.setdefault(text, set()).add(sight.name)
    assert found == {}
