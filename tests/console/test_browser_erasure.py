"""Approving an erasure that somebody else asked for, as a person does it, with its receipt (CO-5, PR-14)."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from privacy.services import erasing
from tests import factories
from tests.console.browser import Visits
from tests.console.test_browser_tasks import focused, tab_to
from workspaces import access
from workspaces.models import FourEyes, Person, Profile
from workspaces.types import WorkspaceRef

pytestmark = pytest.mark.browser
PHONE = "+5511912345678"
REASON = "Asked for in writing, checked against the contract"
Press = Callable[[Page, str], None]


@pytest.fixture
def shop(committed: None) -> WorkspaceRef:
    """A workspace in which erasures take a second person, with a customer."""
    workspace = factories.make_ready_workspace("Shop")
    factories.make_state(workspace, subject={"type": "phone_e164", "value": PHONE})
    return workspace


@pytest.fixture
def people(shop: WorkspaceRef) -> tuple[Person, Person]:
    """Paula, who asks, and Lucas, who approves."""
    paula, lucas = (factories.make_person(shop, "privacy", name=name) for name in ("Paula", "Lucas"))
    with access.bound(shop.id):
        FourEyes.objects.update(kinds=["erasure"])
    return paula, lucas


def click(page: Page, selector: str) -> None:
    page.locator(selector).click()


def press(page: Page, selector: str) -> None:
    """Do it without a mouse, once the page that has it is there."""
    page.locator(selector).first.wait_for()
    tab_to(page, selector, at_most=90)
    page.keyboard.press("Enter")


def profile_of(shop: WorkspaceRef) -> Profile:
    with access.bound(shop.id):
        return Profile.objects.get()


def ask(page: Page, shop: WorkspaceRef, choose: Press) -> None:
    """Ask for the erasure of a customer from the page of their profile."""
    profile = profile_of(shop)
    page.goto(f"/console/w/{shop.slug}/profiles/{profile.id}/")
    choose(page, "#erase")
    page.locator("dialog[open] form").wait_for()
    page.get_by_label("Type the pseudonym").fill(profile.pseudonym)
    page.get_by_label("The identity of who asks was verified").check()
    page.get_by_label("Reason").fill("The customer asked for it")
    choose(page, "#dlg footer .btn-danger")
    page.wait_for_url(re.compile(r"/erasures/[0-9a-f-]{36}/$"))


def carry_out(shop: WorkspaceRef, id: UUID) -> None:
    """Do what a worker does."""
    assert erasing.run(workspace=shop, request_id=id)


@pytest.mark.parametrize("choose", [click, press], ids=["mouse", "keyboard"])
def test_an_erasure_is_approved_by_a_second_person_who_takes_the_receipt(
    visits: Visits, shop: WorkspaceRef, people: tuple[Person, Person], choose: Press, tmp_path: Path
) -> None:
    """CO-3, CO-5, CO-6, CO-9, PR-14: who asked cannot approve; another one does, with a reason, and gets the receipt.

    The page follows the work by itself, the focus returns to what opened the dialog, and the receipt names no handle.
    """
    paula, lucas = people
    page = visits.open(paula)
    ask(page, shop, choose)
    expect(page.locator("#approve")).to_have_count(0)
    expect(page.get_by_role("main")).to_contain_text("you asked for this one yourself")
    page = visits.open(lucas)
    page.goto(f"/console/w/{shop.slug}/erasures/")
    choose(page, "tbody [data-row]")
    choose(page, "#approve")
    page.locator("dialog[open] form").wait_for()
    expect(page.get_by_role("dialog")).to_contain_text("It cannot be undone.")
    page.keyboard.press("Escape")
    assert focused(page) == "approve"
    choose(page, "#approve")
    page.locator("dialog[open] form").wait_for()
    page.get_by_label("Reason").fill(REASON)
    choose(page, "#dlg footer .btn-danger")
    expect(page.locator("#approve")).to_have_count(0)
    carry_out(shop, UUID(page.url.rstrip("/").rpartition("/")[2]))
    receipt = "section.card a[href$='receipt.json']"
    page.locator(receipt).wait_for()
    with page.expect_download() as downloading:
        choose(page, receipt)
    downloading.value.save_as(tmp_path / "receipt.json")
    text = (tmp_path / "receipt.json").read_text()
    assert json.loads(text)
    assert PHONE[1:] not in text
    assert PHONE not in page.content()
