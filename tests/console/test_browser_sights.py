"""Every page and state in a real browser: axe in both themes, the policy kept, and no page wider than its window."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.console.browser import (
    CONTRAST,
    EVERY_RULE,
    HEIGHT,
    NARROWEST,
    PHONE_WIDTH,
    WIDE,
    Visits,
    overflow,
    restless,
    set_theme,
    violations,
)
from tests.console.house import House
from tests.console.sights import STATES, Sight, groups, pages, sights

pytestmark = pytest.mark.browser


def grouped(seen: Iterable[Sight], *marks: pytest.MarkDecorator) -> list[Any]:
    """Give a test for each few sights."""
    return [
        pytest.param(who, part, marks=marks, id=f"{who}: {part[0].name} to {part[-1].name}")
        for who, part in groups(seen)
    ]


def test_sights_have_names_of_their_own() -> None:
    """CO-11: each sight is known by its name."""
    names = [sight.name for sight in sights()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("who", "seen"), grouped(pages()) + grouped(STATES, pytest.mark.long))
def test_sights_are_accessible_and_fit(house: House, visits: Visits, who: str, seen: list[Sight]) -> None:
    """CO-2, CO-11, CO-14: axe finds nothing in light, no contrast fails in dark, and 390 and 320 pixels are enough.

    Without motion nothing moves, and under forced colours every control has a border.
    """
    page, found = visits.open(house.people.get(who)), {}
    for sight in seen:
        page.set_viewport_size({"width": WIDE, "height": HEIGHT})
        sight.show(page, house)
        found[sight.name] = violations(page)
        set_theme(page, "dark")
        found[f"{sight.name}, dark"] = violations(page, CONTRAST)
        for width in (PHONE_WIDTH, NARROWEST):
            found[f"{sight.name}, {width}"] = overflow(page, width)
        found[f"{sight.name}, forced colours and no motion"] = restless(page)
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.long
@pytest.mark.parametrize("width", [WIDE, PHONE_WIDTH, NARROWEST])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("who", "seen"), grouped(sights()))
def test_sights_as_the_server_draws_them(
    house: House, visits: Visits, who: str, seen: list[Sight], theme: str, width: int
) -> None:
    """CO-11, CO-14: every page and state, loaded in each theme and width, passes every rule of axe."""
    page, found = visits.open(house.people.get(who), theme=theme, width=width), {}
    for sight in seen:
        sight.show(page, house)
        assert page.locator("html").get_attribute("data-theme") == theme
        found[sight.name] = violations(page, EVERY_RULE) + overflow(page, width)
    assert {name: faults for name, faults in found.items() if faults} == {}
