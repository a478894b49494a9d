"""Keyboard, theme, menus and the drawer (CO-11)."""

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import PHONE_WIDTH, Visits
from tests.console.house import EVERY_ROLE, House

pytestmark = pytest.mark.browser


@pytest.fixture
def page(house: House, visits: Visits) -> Page:
    """A page of somebody with every role."""
    return visits.open(house.people[EVERY_ROLE])


def theme_of(page: Page) -> str | None:
    return page.locator("html").get_attribute("data-theme")


def test_theme_is_kept_and_comes_with_the_page(house: House, page: Page) -> None:
    """CO-11: a click changes it without loading; after that the server's own HTML has it, so that nothing flashes."""
    page.goto(house.address("features"))
    assert theme_of(page) == "light"
    for theme in ("dark", "auto", "light"):
        page.locator("[data-theme-form] button").click()
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        answer = page.reload()
        assert answer is not None
        assert f'data-theme="{theme}"' in answer.text()
        assert theme_of(page) == theme
    assert page.locator("body").evaluate("body => getComputedStyle(body).colorScheme") == "light"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_automatic_theme_follows_the_system(house: House, visits: Visits, scheme: str) -> None:
    """CO-11: without a choice the page looks as the system does."""
    page = visits.open(house.people[EVERY_ROLE], theme="auto", color_scheme=scheme)
    page.goto(house.address("features"))
    ground = page.locator("html").evaluate("html => getComputedStyle(html).backgroundColor")
    assert (ground == "rgb(14, 17, 22)") == (scheme == "dark")


def test_rows_are_walked_by_j_and_k_and_opened_by_enter(house: House, page: Page) -> None:
    """CO-11: j and k move through a list, Enter opens, and inside an entry they go to its neighbours and back."""
    page.goto(f"{house.address('audit')}?action=feature.*")
    links = page.locator("[data-row]")
    page.keyboard.press("j")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(links.nth(0)).to_be_focused()
    first = links.nth(0).get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{first}")
    page.goto(f"{house.address('audit')}")
    page.locator("[data-row]").first.click()
    page.wait_for_url("**/audit/*-*/")
    opened = page.url
    page.keyboard.press("j")
    page.wait_for_url(lambda url: url != opened)
    page.keyboard.press("k")
    page.wait_for_url(opened)


def test_slash_leads_to_the_find_box_and_types_elsewhere(house: House, page: Page) -> None:
    """CO-3, CO-11: `/` goes to the box from anywhere, but not out of a field in which somebody writes."""
    page.goto(house.address("types_draft"))
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    assert page.locator("#find").input_value() == ""
    reason = page.get_by_label("Reason")
    reason.focus()
    page.keyboard.type("a/b j k")
    assert reason.input_value() == "a/b j k"


def test_menu_closes_by_escape_and_gives_the_focus_back(house: House, page: Page) -> None:
    """CO-11: Esc closes an open menu; a click elsewhere does too."""
    page.goto(house.address("features"))
    menu = page.locator("header details.menu").last
    menu.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    expect(menu.locator("summary")).to_be_focused()
    menu.locator("summary").click()
    page.get_by_role("heading", level=1).click()
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()


def test_workspace_is_switched_from_the_head(house: House, page: Page) -> None:
    """PL-1: the switcher leads to the first page of the other workspace that the person may open."""
    page.goto(house.address("features"))
    page.locator(".switcher summary").click()
    page.get_by_role("link", name="Quiet").click()
    page.wait_for_url(f"**/console/w/{house.quiet.slug}/start/")


def test_drawer_of_a_narrow_window(house: House, visits: Visits) -> None:
    """CO-11: under 860 pixels the navigation is a drawer that takes the focus, closes by Esc and gives it back."""
    page = visits.open(house.people[EVERY_ROLE], width=PHONE_WIDTH)
    page.goto(house.address("features"))
    menu, side = page.get_by_role("link", name="Menu", exact=True), page.locator("#side")
    expect(side).to_be_hidden()
    menu.focus()
    page.keyboard.press("Enter")
    expect(side).to_be_visible()
    expect(page.get_by_role("link", name="Close the menu")).to_be_focused()
    page.keyboard.press("Escape")
    expect(side).to_be_hidden()
    expect(menu).to_be_focused()
    menu.click()
    side.get_by_role("link", name="Audit log").click()
    page.wait_for_url("**/audit/")


def test_skip_link_leads_past_the_navigation(house: House, page: Page) -> None:
    """CO-11: the first Tab offers to skip to the content."""
    page.goto(house.address("features"))
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_filters_change_the_list_in_place_and_in_the_address(house: House, page: Page) -> None:
    """CO-4: a chosen filter loads the list alone, stands in the address, and Back takes it out again."""
    page.goto(house.address("audit"))
    page.evaluate("window.kept = true")
    page.get_by_label("Action").select_option("feature.*")
    page.wait_for_url("**/audit/?action=feature.*")
    expect(page.locator(".chip")).to_contain_text("Action: feature.*")
    assert page.evaluate("window.kept") is True
    expect(page.locator("#live")).to_contain_text("newest first")
    page.go_back()
    page.wait_for_url("**/audit/")
    expect(page.locator(".chip")).to_have_count(0)
    expect(page.get_by_label("Action")).to_have_value("")


def test_reduced_motion_and_forced_colours_are_kept_to(house: House, visits: Visits) -> None:
    """CO-11: nothing moves for who asked for that, and a switch is told apart by a border where colours are forced."""
    page = visits.open(house.people[EVERY_ROLE], reduced_motion="reduce", forced_colors="active")
    page.goto(house.address("features"))
    knob = page.locator("#switch-agent_state i")
    assert knob.evaluate("knob => getComputedStyle(knob, '::after').transitionDuration") == "0s"
    assert knob.evaluate("knob => getComputedStyle(knob).borderStyle") == "solid"
