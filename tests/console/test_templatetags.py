"""Icons, badges, sizes, times and query strings of the pages (CO-1, CO-4, CO-11)."""

from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest
from django.template import Context, Template
from django.test import RequestFactory
from django.utils import timezone, translation

from console.templatetags import console as tags

MOMENT = datetime(2026, 11, 30, 7, 56, 12, tzinfo=UTC)


def render(source: str, **context: object) -> str:
    """Render a line of template with the console's tags."""
    return Template("{% load console %}" + source).render(Context(context)).strip()


def page(query: str) -> dict[str, object]:
    """Give the context of a page that was asked for with a query."""
    return {"request": RequestFactory().get(f"/console/w/a/audit/?{query}")}


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Read texts and numbers in English, whatever a test before left active."""
    with translation.override("en"):
        yield


def test_icon_is_hidden_unless_it_has_a_label() -> None:
    """CO-11: an icon beside a word is not read out; one that stands alone has a name."""
    assert 'aria-hidden="true"' in render('{% icon "check" %}')
    assert 'role="img" aria-label="becomes"' in render('{% icon "chevron-right" "becomes" %}')


def test_icon_comes_from_the_own_sprite() -> None:
    """CO-2: the icon's address is on the own origin."""
    assert 'href="/static/console/icons.svg#check"' in render('{% icon "check" %}')


def test_icon_escapes_its_label() -> None:
    """PL-19: a label cannot break out of its attribute."""
    assert "<b>" not in render('{% icon "check" label %}', label='"><b>')


@pytest.mark.parametrize("status", [status for status, (tone, _, _) in tags.STATUSES.items() if tone])
def test_badge_has_colour_icon_and_word(status: str) -> None:
    """CO-11: a status with a colour always has an icon and a word too."""
    tone, mark, word = tags.STATUSES[status]
    html = render("{% badge status %}", status=status)
    assert f'class="badge {tone}"' in html
    assert f"#{mark}" in html
    assert str(word) in html


def test_badge_shows_an_unknown_status_as_it_is() -> None:
    """CO-11: a status that has no tone is a plain word, escaped."""
    assert render("{% badge status %}", status="<task>") == '<span class="badge">&lt;task&gt;</span>'


def test_when_shows_the_zone_of_the_viewer_and_utc_in_the_title() -> None:
    """CO-11: one time zone everywhere, with UTC in the title."""
    with timezone.override("America/Sao_Paulo"):
        html = render("{% when moment 'second' %}", moment=MOMENT)
    assert 'datetime="2026-11-30T07:56:12Z"' in html
    assert 'title="2026-11-30 07:56:12 UTC"' in html
    assert "04:56:12" in html


@pytest.mark.parametrize(
    ("language", "day", "minute"),
    [
        ("en", "30 Nov 2026", "30 Nov 2026, 07:56"),
        ("pt-br", "30/11/2026", "30/11/2026, 07:56"),
        ("fr", "30 nov. 2026", "30 nov. 2026, 07:56"),
    ],
)
def test_when_writes_dates_as_the_language_does(language: str, day: str, minute: str) -> None:
    """CO-11: no date that can be read as another, and no month with a wrong capital."""
    with translation.override(language), timezone.override(UTC):
        assert day in render("{% when moment 'date' %}", moment=MOMENT)
        assert minute in render("{% when moment %}", moment=MOMENT)


def test_when_shows_a_day_without_a_zone() -> None:
    """CO-11: a plain date is not moved by a time zone."""
    html = render("{% when day %}", day=date(2026, 11, 30))
    assert 'datetime="2026-11-30"' in html
    assert "title" not in html


def test_when_says_what_is_absent() -> None:
    """CO-8: what never happened has a word."""
    assert render("{% when moment empty='never' %}", moment=None) == '<span class="muted">never</span>'


def test_size_has_the_exact_number_in_its_title() -> None:
    """WM-23: a size is readable, and exact in its title."""
    html = render("{% size count %}", count=42189)
    assert 'title="42,189 B"' in html
    assert "41.2" in html


def test_number_groups_digits_and_leaves_a_capped_count() -> None:
    """CO-4: a count is grouped; a capped one is words already."""
    assert tags.number(12480) == "12,480"
    assert tags.number("10,000+") == "10,000+"


@pytest.mark.parametrize(
    ("names", "query"),
    [
        ("'action'", "?actor=u1"),
        ("", "?action=feature.disable&amp;actor=u1"),
        ("'action' 'actor'", ""),
    ],
)
def test_without_drops_a_filter_and_the_cursor(names: str, query: str) -> None:
    """CO-4: a chip takes its own filter away and goes back to the first page."""
    context = page("action=feature.disable&actor=u1&older=abc")
    assert render(f"{{% without {names} %}}", **context) == query


def test_turned_keeps_the_filters_and_one_cursor() -> None:
    """CO-4: the pager keeps the filter and carries one cursor at a time."""
    context = page("action=feature.disable&older=abc")
    assert render("{% turned newer='x y' %}", **context) == "?action=feature.disable&amp;newer=x+y"


@pytest.mark.parametrize(
    ("tags_of_message", "tone"),
    [("success", "ok"), ("extra error", "bad"), ("warning", "warn"), ("info", "info"), ("", "info")],
)
def test_message_has_a_tone(tags_of_message: str, tone: str) -> None:
    """CO-11: each level of a message has its colour and icon."""
    assert tags.message_tone(tags_of_message) == tone


@pytest.mark.parametrize(("name", "tone"), [("production", "bad"), ("staging", "warn"), ("demo", "info")])
def test_environment_badge_warns_of_production(name: str, tone: str) -> None:
    """CO-11: the environment badge stands out where it matters."""
    assert tags.environment_tone(name) == tone
