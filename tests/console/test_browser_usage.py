"""Plots and live progress in a real browser: the policy kept, the numbers in the table, all of it without scripts."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from privacy.models import PackageRun
from tests import factories
from tests.console.browser import Visits
from tests.console.house import EVERY_ROLE, House, profile_of
from workspaces import access
from workspaces.models import Person
from workspaces.rules.rights import ROLES
from workspaces.types import WorkspaceRef

pytestmark = pytest.mark.browser

INK = """box => [...box.querySelectorAll("canvas")].some((canvas) =>
  canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0))"""


def open_usage(house: House, visits: Visits, **context: Any) -> Page:
    page = visits.open(house.people[EVERY_ROLE], **context)
    page.goto(house.address("usage"))
    return page


def test_every_chart_is_drawn_from_its_table(house: House, visits: Visits) -> None:
    """CO-2, CO-10: each table that has numbers is drawn and folded away; a key opens it; a theme draws it again."""
    page = open_usage(house, visits)
    boxes = page.locator(".plot .canvas")
    expect(boxes).to_have_count(6)
    assert all(box.evaluate(INK) for box in boxes.all())
    first = page.locator("details.numbers").first
    assert first.get_attribute("open") is None
    first.locator("summary").press("Enter")
    expect(first.locator("table")).to_be_visible()
    before = boxes.first.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function(
        "before => document.querySelector('.canvas canvas').toDataURL() !== before", arg=before
    )


def test_what_a_plot_shows_is_the_row_of_its_table(house: House, visits: Visits) -> None:
    """CO-10: pointing at a plot tells the numbers of one row, as the table has them."""
    page = open_usage(house, visits)
    box = page.locator(".plot .canvas").first
    box.hover()
    said = (box.get_attribute("title") or "").split("\n")
    rows = page.locator("details.numbers").first.locator("tbody tr").all()
    row = next(each for each in rows if each.locator("th").get_attribute("data-short") == said[0])
    numbers = [cell.text_content() for cell in row.locator("data").all()]
    assert [line.rpartition(": ")[2] for line in said[1:]] == numbers


def test_without_scripts_the_tables_are_there(house: House, visits: Visits) -> None:
    """CO-10, CO-11: who has no scripts reads the tables, chooses a range and gets the files."""
    page = open_usage(house, visits, java_script_enabled=False)
    assert all(table.is_visible() for table in page.locator("details.numbers table").all())
    page.get_by_role("link", name="7 days").click()
    expect(page.locator("details.numbers").first.locator("tbody tr")).to_have_count(7)
    with page.expect_download() as download:
        page.get_by_role("link", name="Requests and errors: CSV").click()
    assert download.value.suggested_filename.endswith(".csv")


@pytest.fixture
def moving(committed: None, _deployment_key: None) -> tuple[WorkspaceRef, Person, PackageRun]:
    """A package that waits for a worker, and somebody who may see it."""
    workspace = factories.make_workspace("Moving")
    person = factories.make_person(workspace, *ROLES, name="Eva")
    profile = profile_of(workspace, {"type": "email", "value": "m@example.com"})
    with access.bound(workspace.id):
        run = PackageRun.objects.create(profile_id=profile, asked_by="Eva", asked_at=timezone.now())
    return workspace, person, run


@pytest.mark.parametrize("rest", ["jobs/", "jobs/package-{}/"])
def test_progress_is_live(moving: tuple[WorkspaceRef, Person, PackageRun], visits: Visits, rest: str) -> None:
    """CO-9: list and page follow a job without being loaded again, and stop asking when it has ended."""
    workspace, person, run = moving
    page = visits.open(person)
    page.goto(f"/console/w/{workspace.slug}/{rest.format(run.id)}")
    expect(page.get_by_role("main").get_by_text("Waiting", exact=True)).to_be_visible()
    page.evaluate("window.same = true")
    with access.bound(workspace.id):
        now = timezone.now()
        PackageRun.objects.filter(id=run.id).update(status="failed", ended_at=now - timedelta(seconds=1))
    expect(page.get_by_role("main").get_by_text("Failed", exact=True)).to_be_visible(timeout=15_000)
    assert page.evaluate("window.same")
    assert page.locator("[hx-trigger]").count() == 0
