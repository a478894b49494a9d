"""Signing in as a person does it: with an app, locked out, idle, and by a provider (PL-4, CO-2, CO-11)."""

from collections.abc import Iterator
from pathlib import Path

import pyotp
import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from tests import factories
from tests.console.browser import CONTRAST, NARROWEST, WIDE, Visits, overflow, set_theme, violations
from tests.console.provider import Provider, running
from tests.server import Server
from workspaces.models import Person
from workspaces.services.lockouts import FAILURES_BEFORE_LOCK
from workspaces.types import WorkspaceRef

pytestmark = pytest.mark.browser


@pytest.fixture
def shop(committed: None) -> WorkspaceRef:
    """A workspace of its own."""
    return factories.make_workspace("Shop")


@pytest.fixture
def sofia(shop: WorkspaceRef) -> Person:
    """Support, whose role needs no second factor."""
    return factories.make_person(shop, "support", name="Sofia")


def require_fit(page: Page) -> None:
    """See that axe finds nothing in either theme, and that the narrowest window is enough (CO-11)."""
    assert violations(page) == []
    set_theme(page, "dark")
    assert violations(page, CONTRAST) == []
    assert overflow(page, NARROWEST) == []
    page.set_viewport_size({"width": WIDE, "height": 860})
    set_theme(page, "light")


def fill_sign_in(page: Page, person: Person, password: str = factories.PASSWORD) -> None:
    page.get_by_label("E-mail address").fill(person.email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def sign_out(page: Page) -> None:
    page.locator("header details.menu").last.locator("summary").click()
    page.get_by_role("banner").get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/console/sign-in/")


def set_up(page: Page) -> tuple[str, list[str]]:
    """Set up an app from one's own page; give its key and the recovery codes."""
    page.goto("/console/me/")
    page.get_by_role("link", name="Set it up").click()
    require_fit(page)
    page.get_by_role("button", name="Set it up").click()
    expect(page.locator("svg.qr")).to_be_visible()
    require_fit(page)
    secret = page.locator("#secret").inner_text()
    page.get_by_label("Code from your app").fill(pyotp.TOTP(secret).now())
    page.get_by_label("Your password").fill(factories.PASSWORD)
    page.get_by_role("button", name="Turn it on").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your recovery codes")
    require_fit(page)
    return secret, page.locator(".codes code").all_inner_texts()


def test_app_is_set_up_used_made_up_for_and_turned_off(visits: Visits, server: Server, sofia: Person) -> None:
    """PL-4: QR code and first code; a sign-in by a recovery code, which works once; then without it again."""
    page = visits.open(sofia)
    secret, codes = set_up(page)
    sign_out(page)
    fill_sign_in(page, sofia)
    expect(page.get_by_role("heading", level=1)).to_have_text("Your code")
    require_fit(page)
    for code in ("12345x", codes[0]):
        page.get_by_label("Code from your app").fill(code)
        page.get_by_role("button", name="Go on").click()
    page.wait_for_url("**/console/")
    sign_out(page)
    fill_sign_in(page, sofia)
    page.get_by_label("Code from your app").fill(codes[0])
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".error")).to_contain_text("This code is wrong or was used before")
    page.get_by_label("Code from your app").fill(codes[1])
    page.get_by_role("button", name="Go on").click()
    page.goto("/console/me/second-factor/")
    expect(page.get_by_role("main")).to_contain_text("Recovery codes left")
    require_fit(page)
    page.goto("/console/me/second-factor/codes/")
    require_fit(page)
    page.goto("/console/me/second-factor/")
    page.locator("#factor-off").click()
    dialog = page.get_by_role("dialog", name="Turn off your second factor?")
    dialog.get_by_label("Your password").fill(factories.PASSWORD)
    dialog.get_by_label("Code from your app").fill(codes[2])
    with page.expect_navigation():
        dialog.get_by_role("button", name="Turn it off").click()
    expect(page.get_by_role("main")).to_contain_text("The second factor is off.")
    said = server.log.read_text()
    assert not [text for text in (secret, *codes) if text in said]


def test_locked_account_is_told_what_everybody_is(visits: Visits, sofia: Person) -> None:
    """PL-4: the right password gets the same words as a wrong one, and signs in when the lock is over."""
    Person.objects.filter(id=sofia.id).update(failed_sign_ins=FAILURES_BEFORE_LOCK - 1)
    page = visits.open()
    page.goto("/console/")
    fill_sign_in(page, sofia, "wrong")
    said = page.get_by_role("alert").inner_text()
    fill_sign_in(page, sofia)
    assert page.get_by_role("alert").inner_text() == said
    require_fit(page)
    assert Person.objects.get(id=sofia.id).is_locked(timezone.now())
    Person.objects.filter(id=sofia.id).update(locked_until=timezone.now())
    fill_sign_in(page, sofia)
    page.wait_for_url("**/console/")


def test_warning_comes_before_the_session_ends(visits: Visits, sofia: Person) -> None:
    """CO-11: two minutes before; the button and other tabs keep the session, silence leads to the sign-in."""
    page = visits.open(sofia)
    page.clock.install()
    page.goto("/console/me/?a=1")
    warning = page.get_by_role("dialog", name="Are you still there?")
    page.clock.fast_forward("27:50")
    expect(warning).to_be_hidden()
    page.clock.fast_forward("00:30")
    expect(warning).to_be_visible()
    expect(warning.get_by_role("button", name="Stay signed in")).to_be_focused()
    expect(warning).to_contain_text("1:")
    require_fit(page)
    page.keyboard.press("Enter")
    expect(warning).to_be_hidden()
    page.clock.fast_forward("28:30")
    expect(warning).to_be_visible()
    page.context.new_page().goto("/console/me/")
    expect(warning).to_be_hidden()
    page.clock.fast_forward("28:30")
    expect(warning).to_be_visible()
    page.clock.fast_forward("02:00")
    page.wait_for_url("**/console/sign-in/?next=%2Fconsole%2Fme%2F%3Fa%3D1&ended=1")
    expect(page.get_by_role("main")).to_contain_text("You were signed out")
    require_fit(page)
    fill_sign_in(page, sofia)
    page.wait_for_url("**/console/me/?a=1")


def test_warning_of_a_session_that_is_gone_leads_to_the_sign_in(visits: Visits, sofia: Person) -> None:
    """PL-4: who stays too late, or was signed out elsewhere, is not told that they stayed."""
    page = visits.open(sofia)
    page.clock.install()
    page.goto("/console/me/")
    page.clock.fast_forward("28:30")
    page.context.clear_cookies(name="lastro_session")
    page.get_by_role("button", name="Stay signed in").click()
    page.wait_for_url("**/console/sign-in/?next=**")


def test_other_sessions_are_ended_from_ones_own_page(visits: Visits, sofia: Person) -> None:
    """PL-4: one by its button, without JavaScript too."""
    page, elsewhere = visits.open(sofia, java_script_enabled=False), visits.open(sofia)
    elsewhere.goto("/console/me/")
    require_fit(elsewhere)
    page.goto("/console/me/")
    row = page.locator("section", has=page.get_by_role("heading", name="Where I am signed in"))
    expect(row.get_by_role("row")).to_have_count(3)
    row.get_by_role("button", name="End", exact=False).last.click()
    expect(page.get_by_role("main")).to_contain_text("That session has ended.")
    elsewhere.goto("/console/me/")
    elsewhere.wait_for_url("**/console/sign-in/?next=/console/me/&ended=1")


@pytest.fixture(scope="module")
def acme() -> Iterator[Provider]:
    with running() as provider:
        yield provider


@pytest.fixture
def trusting(committed: None, acme: Provider, tmp_path: Path) -> Iterator[Server]:
    """A server whose settings name the provider."""
    running_server = Server(
        tmp_path,
        OPENID_ISSUER=acme.issuer,
        OPENID_CLIENT_ID="lastro",
        OPENID_CLIENT_SECRET="a secret of the two",
        OPENID_TITLE="Acme",
    ).start()
    yield running_server
    running_server.stop()


def test_person_signs_in_by_the_provider(
    chromium: Browser, trusting: Server, acme: Provider, sofia: Person
) -> None:
    """PL-4, CO-2: there and back under the policy, to the page that was asked for; a stranger is told so."""
    visits = Visits(chromium, trusting.url, acme.issuer)
    acme.put("sofia", email=sofia.email, email_verified=True)
    page = visits.open()
    # Its pages would load their looks from the network.
    page.context.route("https://**", lambda route: route.abort())
    page.goto("/console/me/")
    expect(page.get_by_role("link", name="Sign in with Acme")).to_be_visible()
    require_fit(page)
    for subject in ("somebody else", "sofia"):
        page.get_by_role("link", name="Sign in with Acme").click()
        page.locator("input[name=sub]").first.fill(subject)
        page.locator("form button").first.click()
        page.wait_for_url(f"{trusting.url}/**")
        if subject != "sofia":
            expect(page.get_by_role("main")).to_contain_text("Acme did not sign you in.")
            require_fit(page)
            page.goto("/console/me/")
    page.wait_for_url("**/console/me/")
    expect(page.get_by_role("main")).to_contain_text(sofia.email)
    visits.close()
    assert "a secret of the two" not in trusting.log.read_text()
