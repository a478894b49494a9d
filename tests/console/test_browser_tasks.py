"""The main tasks, walked as a person would: by mouse, by keyboard alone, and without JavaScript (CO-3, CO-5, CO-11)."""

import json
import re
from collections.abc import Iterator
from urllib.parse import unquote

import httpx
import pytest
from playwright.sync_api import Page, Request, expect

from tests import factories
from tests.console.browser import Visits
from tests.server import Server
from workspaces import access, documents
from workspaces.models import ApiKey, AuditEntry, Person
from workspaces.types import WorkspaceRef

pytestmark = pytest.mark.browser
PHONE = "+5511912345678"
OTHER_SPELLING = "+55 (11) 91234-5678"
HIDDEN = "half-a-dozen-blue-tulips"


@pytest.fixture
def shop(committed: None) -> WorkspaceRef:
    """A workspace of its own, with a customer about whom an agent stored something."""
    workspace = factories.make_ready_workspace("Shop")
    body = {"step": "cart", "remark": HIDDEN}
    factories.make_state(workspace, body=body, subject={"type": "phone_e164", "value": PHONE})
    return workspace


@pytest.fixture
def ana(shop: WorkspaceRef) -> Person:
    """Security."""
    return factories.make_person(shop, "security", name="Ana")


@pytest.fixture
def sofia(shop: WorkspaceRef) -> Person:
    """Support."""
    return factories.make_person(shop, "support", name="Sofia")


def is_on(workspace: WorkspaceRef) -> bool:
    with access.bound(workspace.id):
        return documents.is_on(documents.live("features")["features"], "agent_state")


def tab_to(page: Page, selector: str, *, at_most: int = 60) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(at_most):
        if page.evaluate("selector => document.activeElement?.matches(selector) ?? false", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {selector}")


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement?.id ?? ''"))


def test_security_switches_a_feature_off_and_on_by_keyboard(
    visits: Visits, shop: WorkspaceRef, ana: Person
) -> None:
    """CO-5, CO-11: dialog, reason and button by Tab and Enter; the focus goes in, and back to what opened it."""
    page = visits.open(ana)
    page.goto(f"/console/w/{shop.slug}/features/")
    for verb, state in (("Turn off", "Off"), ("Turn on", "On")):
        tab_to(page, "#switch-agent_state")
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name=f"{verb} Working memory in Shop?")
        expect(dialog).to_be_visible()
        expect(dialog.get_by_label("Reason")).to_be_focused()
        page.keyboard.type("Incident 42")
        tab_to(page, "dialog footer button")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        expect(page.locator("#switch-agent_state")).to_contain_text(state)
        expect(page.get_by_role("main")).to_contain_text(f"Working memory is {state.lower()}.")
        assert focused(page) == "switch-agent_state"
        assert is_on(shop) == (state == "On")
    beside = page.locator("section", has=page.get_by_role("heading", name="Recent changes"))
    expect(beside.get_by_role("listitem").first).to_contain_text("feature.enable")


def test_dialog_that_is_closed_changes_nothing_and_gives_the_focus_back(
    visits: Visits, shop: WorkspaceRef, ana: Person
) -> None:
    """CO-5, CO-11: Esc and "Keep it as it is" close the dialog, and the focus is where it was."""
    page = visits.open(ana)
    page.goto(f"/console/w/{shop.slug}/features/")
    for close in ("Escape", "keep"):
        page.locator("#switch-agent_state").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        if close == "keep":
            page.get_by_role("link", name="Keep it as it is").click()
        else:
            page.keyboard.press(close)
        expect(page.get_by_role("dialog")).to_be_hidden()
        assert focused(page) == "switch-agent_state"
    assert is_on(shop)


def test_dialog_without_a_reason_says_so_at_the_field(
    visits: Visits, shop: WorkspaceRef, ana: Person
) -> None:
    """CO-5, CO-8: the refused form comes back inside the dialog, with the focus at what is wrong."""
    page = visits.open(ana)
    page.goto(f"/console/w/{shop.slug}/features/")
    page.locator("#switch-agent_state").click()
    reason = page.get_by_role("dialog").get_by_label("Reason")
    reason.fill("   ")
    page.get_by_role("dialog").get_by_role("button", name="Turn off").click()
    expect(page.locator("dialog .error")).to_have_text("This field is required.")
    expect(reason).to_be_focused()
    assert reason.get_attribute("aria-invalid") == "true"
    reason.fill("Incident 42")
    with page.expect_navigation():
        page.get_by_role("dialog").get_by_role("button", name="Turn off").click()
    assert not is_on(shop)


def test_dialog_of_a_moved_version_shows_the_newest_state(
    visits: Visits, shop: WorkspaceRef, ana: Person
) -> None:
    """CO-5: while the dialog was open somebody else switched it: the dialog says so and turns around."""
    page = visits.open(ana)
    page.goto(f"/console/w/{shop.slug}/features/")
    page.locator("#switch-agent_state").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("Incident 42")
    factories.switch(shop, "agent_state", on=False)
    page.get_by_role("dialog").get_by_role("button", name="Turn off").click()
    expect(page.get_by_role("dialog")).to_contain_text("changed by someone else meanwhile")
    expect(page.get_by_role("dialog").get_by_role("heading")).to_have_text("Turn on Working memory in Shop?")
    expect(page.get_by_role("dialog").get_by_label("Reason")).to_have_value("Incident 42")


def test_dialog_after_the_session_ended_leads_to_the_sign_in_and_back(
    visits: Visits, shop: WorkspaceRef, ana: Person
) -> None:
    """PL-4: who rested too long signs in on a whole page and is led back to the list."""
    page = visits.open(ana)
    page.goto(f"/console/w/{shop.slug}/features/")
    page.context.clear_cookies(name="lastro_session")
    page.locator("#switch-agent_state").click()
    sign_in(page, ana)
    page.wait_for_url(f"**/console/w/{shop.slug}/features/")


def test_security_switches_a_feature_without_javascript(
    visits: Visits, shop: WorkspaceRef, ana: Person
) -> None:
    """CO-5, CO-11: the same change as whole pages, with scripts switched off."""
    page = visits.open(ana, java_script_enabled=False)
    page.goto(f"/console/w/{shop.slug}/features/")
    page.locator("#switch-agent_state").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Turn off Working memory in Shop?")
    page.get_by_label("Reason").fill("Incident 42")
    page.get_by_role("button", name="Turn off").click()
    expect(page.locator("#switch-agent_state")).to_contain_text("Off")
    assert not is_on(shop)
    page.get_by_role("button", name="Theme: light").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.url.endswith(f"/console/w/{shop.slug}/features/")


def sign_in(page: Page, person: Person) -> None:
    page.get_by_label("E-mail address").fill(person.email)
    page.get_by_label("Password").fill(factories.PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def traces(page: Page) -> Iterator[str]:
    """Give what a browser keeps of a visit: its storage and the addresses of its history."""
    yield str(page.context.storage_state())
    yield str(page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])"))
    history = page.context.new_cdp_session(page).send("Page.getNavigationHistory")
    yield unquote(json.dumps(history["entries"]))


def test_support_finds_a_customer_and_leaves_the_handle_nowhere(
    visits: Visits, server: Server, shop: WorkspaceRef, sofia: Person
) -> None:
    """CO-3, CO-12, WM-23: from the sign-in to the metadata, and back to a search that finds nobody.

    Storage, history, addresses, headers and the server's log hold neither the handle nor what the agent stored.
    """
    page, asked = visits.open(), list[str]()

    def note(request: Request) -> None:
        asked.append(unquote(f"{request.url} {request.all_headers()}"))

    page.context.on("requestfinished", note)
    page.goto("/console/")
    sign_in(page, sofia)
    page.get_by_role("link", name="Shop").click()
    page.wait_for_url("**/profiles/")
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("/")
    page.keyboard.type(OTHER_SPELLING)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/profiles/[0-9a-f-]{36}/$"))
    expect(page.get_by_role("main")).to_contain_text("…78")
    page.get_by_role("navigation", name="Profile").get_by_role("link", name="Working memory").click()
    row = page.get_by_role("row", name="order-taker")
    expect(row).to_contain_text("conversation")
    expect(row.get_by_role("rowheader")).to_contain_text("chat backend")
    seen = [page.content()]
    page.go_back()
    page.get_by_role("searchbox").first.fill("+55 11 90000-0000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("No profile of this workspace has this handle")
    seen.append(page.content())
    kept = [*traces(page), *asked, *seen, server.log.read_text()]
    # Not five digits alone: some id or time in a log has any of them.
    for secret in (PHONE[1:], OTHER_SPELLING, "91234-5678", "912345678", "90000-0000", "900000000", HIDDEN):
        assert not [text for text in kept if secret in text], secret
    with access.bound(shop.id):
        acts = set(AuditEntry.objects.filter(actor_id=str(sofia.id)).values_list("act", flat=True))
    assert {"profile.find", "profile.view"} <= acts


def test_engineer_edits_object_types(visits: Visits, shop: WorkspaceRef, ana: Person) -> None:
    """PR-2, PR-3, CO-5: Check names a problem, then the difference and what is lost; Publish makes it live."""
    page = visits.open(ana)
    page.goto(f"/console/w/{shop.slug}/types/")
    page.get_by_role("link", name="New draft").click()
    text = page.get_by_label("The whole document")
    document = json.loads(text.input_value())
    del document["types"][0]["fields"]["remark"]
    text.fill(json.dumps(document, indent=2))
    page.get_by_role("button", name="Check").click()
    problems = page.locator("section", has=page.get_by_role("heading", name="Problems"))
    expect(problems).to_contain_text("/types/0/fields/remark")
    expect(page.get_by_role("button", name="Publish")).to_have_count(0)
    page.get_by_label("Drop").fill("order.remark")
    page.get_by_role("button", name="Check").click()
    changes = page.locator("section", has=page.get_by_role("heading", name="Changes"))
    expect(changes.get_by_role("row", name="remark")).to_contain_text("Breaking")
    expect(page.get_by_role("main")).to_contain_text("States that lose it at the next sweep: 1.")
    page.get_by_label("Reason").fill("No agent writes remarks any more")
    page.get_by_role("button", name="Publish v3").click()
    page.wait_for_url("**/types/")
    expect(page.get_by_role("main")).to_contain_text("The object types are published: v3.")
    page.get_by_role("link", name="order").click()
    expect(page.get_by_role("row", name="phone")).to_be_visible()
    expect(page.get_by_role("row", name="remark")).to_have_count(0)


def test_key_is_made_copied_and_used(visits: Visits, server: Server, shop: WorkspaceRef, ana: Person) -> None:
    """PL-3, CO-11: what the copy button copies opens the API, and is nowhere once the page is left."""
    page = visits.open(ana, permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"/console/w/{shop.slug}/keys/")
    page.get_by_role("link", name="New key").first.click()
    page.get_by_label("Source").fill("kiosk")
    page.get_by_label("Name", exact=True).fill("agents")
    page.get_by_role("checkbox", name="agent_state").check()
    page.get_by_label("Reason").fill("A new kiosk")
    page.get_by_role("button", name="Make the key").click()
    page.locator(".secret").get_by_role("button", name="Copy").click()
    expect(page.locator("#live")).to_have_text("Copied")
    key = str(page.evaluate("navigator.clipboard.readText()"))
    assert key == page.locator("#secret").inner_text()
    answer = httpx.put(
        f"{server.url}/v1/agent-state",
        json=factories.write(),
        headers={"Authorization": f"Bearer {key}"},
        trust_env=False,
    )
    assert (answer.status_code, answer.json()["stored"]) == (200, True)
    page.get_by_role("link", name="I have copied it").click()
    page.wait_for_url("**/keys/")
    kept = [*traces(page), page.content(), server.log.read_text()]
    assert not [text for text in kept if key in text or key[17:-6] in text]


def test_key_is_revoked_in_the_dialog_by_its_name(visits: Visits, shop: WorkspaceRef, ana: Person) -> None:
    """CO-5: the name is typed; with another one the dialog says so."""
    factories.make_key(shop, name="old kiosk")
    page = visits.open(ana)
    page.goto(f"/console/w/{shop.slug}/keys/")
    page.get_by_role("row", name="old kiosk").get_by_role("link", name="Revoke").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Type the name of the key").fill("kiosk")
    dialog.get_by_label("Reason").fill("Replaced")
    dialog.get_by_role("button", name="Revoke").click()
    expect(dialog.locator(".error")).to_have_text("This is not the name of the key.")
    dialog.get_by_label("Type the name of the key").fill("old kiosk")
    with page.expect_navigation():
        dialog.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row", name="old kiosk")).to_contain_text("Revoked")
    with access.bound(shop.id):
        assert ApiKey.objects.get(name="old kiosk").revoked_at is not None


def test_key_is_rotated_from_the_dialog_to_a_page_of_its_own(
    visits: Visits, shop: WorkspaceRef, ana: Person
) -> None:
    """PL-3: the dialog of a rotation ends in the page that shows the new secret once."""
    factories.make_key(shop, name="old kiosk")
    page = visits.open(ana)
    page.goto(f"/console/w/{shop.slug}/keys/")
    page.get_by_role("row", name="old kiosk").get_by_role("link", name="Rotate").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("Routine")
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    expect(page.locator("#secret")).to_contain_text("lst_")
    expect(page.get_by_role("main")).to_contain_text("The old secret works until")
