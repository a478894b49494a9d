"""The browsable reference of the API at /v1/docs (PL-9): complete, offline, under the strict policy, accessible."""

import os
import re
import shlex
from collections.abc import Iterator
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import Page, sync_playwright

from console import reference
from console.embedded import chromium
from tests.server import Server
from workspaces.http.exceptions import catalogue
from workspaces.http.openapi import document

# Playwright's sync API keeps an event loop in this thread, in which Django's guard would refuse every query.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

OPERATIONS = [operation for group in reference.groups() for operation in group.operations]


@pytest.fixture
def html(db: None) -> str:
    """The page as it is served, without a sign-in."""
    answer = Client().get("/v1/docs")
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.fixture
def shown(server: Server) -> Iterator[Page]:
    """A browser on the page; fails the test on a violation of the policy, an error, or a foreign request."""
    path = chromium.find()
    if path is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "no Chromium (apt-get install chromium)"
        )
    arguments = ["--disable-gpu", "--no-first-run", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        page = browser.new_page(locale="en-US", viewport={"width": 1360, "height": 860})
        bad: list[str] = []
        page.on("pageerror", lambda error: bad.append(str(error)))
        page.on("console", lambda message: bad.append(message.text) if message.type == "error" else None)
        page.on("request", lambda asked: None if asked.url.startswith(server.url) else bad.append(asked.url))
        page.goto(f"{server.url}/v1/docs")
        yield page
        browser.close()
    assert not bad


def test_everything_is_on_the_page(html: str) -> None:
    """PL-9: each operation, shape and code of the document has its place, and each link its target."""
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    wanted = {found["operationId"] for methods in document()["paths"].values() for found in methods.values()}
    wanted |= {f"shape-{name}" for name in document()["components"]["schemas"]}
    wanted |= {f"error-{code}" for code in catalogue()}
    assert wanted <= set(ids)
    assert set(re.findall(r'href="#([^"]+)"', html)) <= set(ids)


def test_the_page_keeps_the_policy(html: str) -> None:
    """PL-9, CO-2: no inline script or style, no handler in an attribute, nothing from elsewhere."""
    assert not re.search(r"<style|style=| on[a-z]+=|<script(?![^>]* src=)", html)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', html)
    policy = Client().get("/v1/docs")["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_a_call_can_be_copied(operation: reference.Described) -> None:
    """PL-9: each example is one shell command for the operation's method and address, with a key where one is asked."""
    assert operation.calls
    for call in operation.calls:
        words = shlex.split(call.text)
        assert words[:3] == ["curl", "-X", operation.method]
        assert re.search(re.sub(r"\{\w+\}", "[^/]+", operation.path) + "$", words[3])
        is_public = operation.callers == ("Anybody, without a key.",)
        assert any("Authorization: Bearer $LASTRO_" in word for word in words) is not is_public
        assert bool({"-d", "--data-binary"} & set(words)) is (operation.body is not None)


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_it_is_accessible(shown: Page, theme: Literal["light", "dark"]) -> None:
    """CO-11, PL-9: no axe finding in both themes with everything open, and nothing to scroll sideways at 320 px."""
    shown.emulate_media(color_scheme=theme)
    shown.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    found = Axe().run(shown)
    assert not found.response["violations"], found.generate_report()
    shown.set_viewport_size({"width": 320, "height": 860})
    assert shown.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.browser
def test_a_code_is_found_by_its_address(shown: Page) -> None:
    """PL-8: the `type` of a problem leads to the code; a menu leads to the operations where the page is narrow."""
    shown.goto(shown.url + "#error-payload_too_large")
    assert shown.locator("#error-payload_too_large").is_visible()
    shown.set_viewport_size({"width": 390, "height": 800})
    shown.get_by_role("link", name="Menu", exact=True).click()
    shown.get_by_role("link", name="Read a state").click()
    assert not shown.locator("#side").is_visible()
    assert shown.url.endswith("#post_agent_state_read")


@pytest.mark.browser
def test_the_copy_button_copies_the_call(shown: Page) -> None:
    """PL-9: what is copied is the command."""
    shown.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown.locator("section[aria-labelledby='get_sources_me']").get_by_role(
        "button", name="Copy this call"
    ).click()
    copied = shown.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("curl -X GET")
    assert copied.endswith('$LASTRO_KEY"')
