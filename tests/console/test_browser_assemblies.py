"""Finding out why a model did not see a record, as an engineer does it, with and without scripts (CA-17)."""

import pytest
from playwright.sync_api import expect

from tests import factories
from tests.console.assembled import Assembled, assemble, keep_assemblies
from tests.console.browser import Visits
from workspaces.models import Person
from workspaces.types import WorkspaceRef

pytestmark = pytest.mark.browser
HIDDEN = "two-dozen-yellow-tulips"


@pytest.fixture
def shop(committed: None) -> WorkspaceRef:
    """A workspace of its own."""
    return factories.make_ready_workspace("Shop")


@pytest.fixture
def made(shop: WorkspaceRef) -> Assembled:
    """A conversation of which two contexts were assembled."""
    return keep_assemblies(shop, {"type": "phone_e164", "value": "+5511912345678"}, word=HIDDEN)


@pytest.fixture
def emil(shop: WorkspaceRef) -> Person:
    """An engineer."""
    return factories.make_person(shop, "engineer", name="Emil")


@pytest.mark.parametrize("scripts", [True, False])
def test_an_engineer_finds_out_why_a_model_did_not_see_a_record(
    visits: Visits, shop: WorkspaceRef, made: Assembled, emil: Person, *, scripts: bool
) -> None:
    """CA-17, CO-4, CO-11, CO-12: from the list to the rule that left it out, and nothing of the conversation is seen.

    The customer says that the model did not know of her unread mail. The engineer looks for the conversation, opens
    the context of that request, and asks about the memory of it.
    """
    page = visits.open(emil, java_script_enabled=scripts)
    page.goto("/console/")
    page.get_by_role("link", name="Assemblies").click()
    page.get_by_label("Conversation").fill(made.story.chat)
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("row", name="support").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Assembly by support v2: chat")
    sizes = page.locator("section", has=page.get_by_role("heading", name="Size"))
    expect(sizes).to_contain_text("less than the transcript")
    row = page.get_by_role("row", name=made.id("unread")).first
    expect(row).to_contain_text("stale")
    page.get_by_label("What kind of record").select_option(label="memory")
    page.get_by_label("Its id").fill(made.id("unread"))
    page.get_by_role("button", name="Say why").click()
    expect(page.get_by_role("status").first).to_contain_text("The model did not see it. Reason: stale.")
    rules = page.locator("section", has=page.get_by_role("heading", name="What each rule said"))
    expect(rules.get_by_role("row").last).to_contain_text("Is it not older than its class may be?")
    expect(rules.get_by_role("row").last).to_contain_text("stale")
    origin = page.locator("section", has=page.get_by_role("heading", name="What it came from"))
    expect(origin.get_by_role("listitem")).to_have_count(4)
    origin.get_by_role("link", name=made.id("artifact")).click()
    expect(page.get_by_role("status").first).to_contain_text("Reason: not needed raw.")
    page.get_by_role("link", name="Back to the assembly").click()
    expect(page.get_by_role("heading", name="Candidates")).to_be_visible()
    assert HIDDEN not in page.content()


def test_assemblies_are_walked_by_keyboard(
    visits: Visits, shop: WorkspaceRef, made: Assembled, emil: Person
) -> None:
    """CO-4, CO-11: j and k move through the list, Enter opens, and inside they go on in the filtered list."""
    third = assemble(made.story, policy={"name": "support"})
    page = visits.open(emil)
    page.goto(f"/console/w/{shop.slug}/assemblies/?kind=chat")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/assemblies/{third}/?kind=chat")
    page.keyboard.press("j")
    page.wait_for_url(f"**/assemblies/{made.traced}/?kind=chat")
    expect(page.get_by_role("link", name="Older")).to_have_count(0)
    page.keyboard.press("k")
    page.wait_for_url(f"**/assemblies/{third}/?kind=chat")
    page.get_by_role("main").locator("#others").locator("xpath=../..").get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Two assemblies side by side")
    page.get_by_role("link", name="Turn around").click()
    expect(page.get_by_role("heading", name="Facts and sizes")).to_be_visible()


def test_a_handle_is_not_sent_as_a_filter(
    visits: Visits, shop: WorkspaceRef, made: Assembled, emil: Person
) -> None:
    """CO-3: the box takes the id of a record; an address that somebody types does not get into the page's address."""
    page = visits.open(emil)
    page.goto(f"/console/w/{shop.slug}/assemblies/")
    page.get_by_label("Conversation").fill("maria@example.com")
    page.get_by_role("button", name="Apply").click()
    assert page.get_by_label("Conversation").evaluate("box => box.validity.patternMismatch")
    assert "maria" not in page.url
