"""The pages in each language in a real browser: words are longer there, and everything still fits (CO-11)."""

import pytest
from django.conf import settings

from tests import factories
from tests.console.browser import PHONE_WIDTH, WIDE, Visits, overflow, violations
from tests.console.house import EVERY_ROLE, House
from tests.console.sights import pages

pytestmark = pytest.mark.browser

OTHERS = [code for code, _title in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
# Finding a customer, switching a feature, changing a type, making a key and erasing.
TASKS = (
    *("home", "profiles", "profile", "profile_working_memory", "features", "feature_change"),
    *("types", "types_draft", "keys", "key_new", "erasures", "erasure", "erasure_approve"),
)


@pytest.mark.parametrize("language", OTHERS)
def test_the_main_tasks_fit_in_every_language(house: House, visits: Visits, language: str) -> None:
    """CO-11: the pages of the five main tasks are not wider than a phone or a desk, and axe finds nothing."""
    page, found = visits.open(house.people[EVERY_ROLE], locale=language), {}
    for sight in pages():
        if sight.name in TASKS:
            sight.show(page, house)
            assert page.locator("html").get_attribute("lang") == language
            found[sight.name] = violations(page)
            for width in (PHONE_WIDTH, WIDE):
                found[f"{sight.name}, {width}"] = overflow(page, width)
    assert len(found) == 3 * len(TASKS)
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_is_chosen_without_javascript(visits: Visits, committed: None, language: str) -> None:
    """CO-11: at the sign-in by the chooser, and for good among one's own settings, where axe finds nothing."""
    title = dict(settings.LANGUAGES)[language]
    page = visits.open(java_script_enabled=False)
    page.goto("/console/sign-in/")
    page.locator("details.menu summary").click()
    page.get_by_role("button", name=title).click()
    assert page.url.endswith("/console/sign-in/")
    assert page.locator("html").get_attribute("lang") == language

    reader = factories.make_person(factories.make_workspace("Readers"), "support", name="Rita")
    page = visits.open(reader)
    page.goto("/console/me/")
    page.locator("select[name=language]").select_option(language)
    page.locator("form:has(select[name=language]) .btn-primary").click()
    page.goto("/console/me/")
    assert page.locator("html").get_attribute("lang") == language
    assert violations(page) == []
