"""The pages keep to the strict policy before any browser sees them (CO-1, CO-2, CO-11)."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.contrib import admin

from console import vendor

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
COMMENT = re.compile(r"\{% comment %\}.*?\{% endcomment %\}", re.DOTALL)
CONFIG = (
    '{"allowEval":false,"includeIndicatorStyles":false,"historyCacheSize":0,'
    '"selfRequestsOnly":true,"refreshOnHistoryMiss":true}'
)

# The page of a subject package is read from a file: it brings its style with it, and a policy that allows nothing else.
OFFLINE = "package"

every_template = pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))


class Elements(HTMLParser):
    """Collects the elements of a template, its own language taken out."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(TAG.sub("", COMMENT.sub("", source)))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += re.findall(r"[^\W\d_]{2,}", data)


@every_template
def test_template_has_no_inline_script_or_style(path: Path) -> None:
    """CO-2: no inline script, style element, style attribute, event attribute or hx-on, and no javascript: address."""
    for tag, attributes in Elements(path.read_text()).found:
        assert tag != "style" or path.parent.name == OFFLINE
        assert tag != "script" or "src" in attributes
        for name, value in attributes.items():
            assert name != "style"
            assert not re.match(r"on|hx-on|data-hx-on|hx-vals|hx-vars", name)
            assert not (value or "").strip().startswith("javascript:")


@every_template
def test_template_names_no_foreign_origin(path: Path) -> None:
    """CO-2: nothing is loaded from, or sent to, another origin."""
    assert not re.search(r"https?://|=\s*[\"']//", COMMENT.sub("", path.read_text()))


# The reference of the API is English throughout, like the document that it is made from, and says so (lang="en").
@pytest.mark.parametrize(
    "path",
    [path for path in TEMPLATES if path.parent.name not in {"docs", OFFLINE}],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_template_marks_every_text_for_translation(path: Path) -> None:
    """CO-11: no word on a page stands outside the translation tags, but for the product's name and units."""
    source = re.sub(r"\{% blocktranslate.*?\{% endblocktranslate %\}", "", path.read_text(), flags=re.DOTALL)
    assert set(Elements(source).words) <= {"Lastro"}


@every_template
def test_template_sends_its_forms_with_a_token(path: Path) -> None:
    """PL-19: each form that is posted carries the token."""
    source = path.read_text()
    assert len(re.findall(r'<form[^>]*method="post"', source)) == source.count("{% csrf_token %}")


def icons_in(source: str) -> set[str]:
    """Find the names of icons that a template asks for as a word of its own."""
    return set(re.findall(r'\{% icon "([^"]+)"', source)) | set(
        re.findall(r'mark[=|]?(?:default:)?"([^"]+)"', source)
    )


@every_template
def test_template_uses_icons_of_the_sprite(path: Path) -> None:
    """CO-1: each icon of a page is in the sprite."""
    assert icons_in(path.read_text()) <= {*vendor.ICONS, "lastro"}


def test_sprite_has_no_icon_that_no_page_uses() -> None:
    """CO-1: only the icons in use are vendored."""
    sources = [*TEMPLATES, ROOT / "console/navigation.py", ROOT / "console/templatetags/console.py"]
    asked_for = "\n".join(source.read_text() for source in sources)
    assert [name for name in vendor.ICONS if f'"{name}"' not in asked_for] == []


@every_template
def test_template_includes_what_is_there(path: Path) -> None:
    """CO-1: each include and extends names a template of the folder, or one of Django's admin."""
    named = re.findall(r'\{% (?:include|extends) "([^"]+)"', path.read_text())
    folders = (ROOT / "templates", Path(admin.__file__).parent / "templates")
    assert all(any((folder / name).is_file() for folder in folders) for name in named)


def test_htmx_is_configured_as_the_policy_needs() -> None:
    """CO-2: htmx evaluates nothing, writes no style and keeps no copy of a page."""
    assert CONFIG in (ROOT / "templates/console/shell.html").read_text()
