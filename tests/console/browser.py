"""A real browser for tests: who looks, what must not happen meanwhile, and what axe finds (CO-2, CO-11, CO-14)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, sync_playwright

from console.embedded.chromium import find
from workspaces.models import Person

AXE = Axe().axe_script
WIDE, PHONE_WIDTH, NARROWEST = 1360, 390, 320
HEIGHT = 860
QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
EVERY_RULE: dict[str, Any] = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
CONTRAST: dict[str, Any] = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """Start Debian's Chromium; without one the tests are skipped, and fail where CI is to run them (CO-14)."""
    path = find()
    if path is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "no Chromium (apt-get install chromium)"
        )
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as driver:
        # Playwright keeps an event loop in this thread, and Django would refuse to ask the database there.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = driver.chromium.launch(executable_path=path, args=[*root, *QUIET])
        yield browser
        browser.close()
        # In a thread with an event loop Django opens connections of their own.
        connections.close_all()


class Wrong:
    """What went wrong in a context: errors of scripts, violations of the policy, requests to elsewhere."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def watch(self, context: BrowserContext, origin: str, beside: tuple[str, ...]) -> None:
        """Listen to every page of a context from now on; what a page of `beside` loads is its own affair."""
        context.on("console", self._hear)
        context.on("weberror", lambda event: self.found.append(str(event.error)))
        context.on("request", lambda request: self._see(request, origin, beside))

    def _hear(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            self.found.append(message.text)

    def _see(self, request: Request, origin: str, beside: tuple[str, ...]) -> None:
        led = request.url.startswith(tuple(f"{each}/" for each in beside))
        theirs = not request.is_navigation_request() and request.frame.url.startswith(beside or ("\0",))
        if not (led or theirs or request.url.startswith((f"{origin}/", "data:"))):
            self.found.append(f"a request to {request.url}")


class Visits:
    """Opens pages of a server as one person or as nobody; each visit is a browser of its own, without a past.

    `beside` are other origins that the server leads to on purpose.
    """

    def __init__(self, browser: Browser, origin: str, *beside: str) -> None:
        self._browser, self.origin, self._beside = browser, origin, beside
        self._contexts: list[BrowserContext] = []
        self.wrong = Wrong()

    def open(
        self,
        person: Person | None = None,
        *,
        theme: str = "light",
        width: int = WIDE,
        **context: Any,
    ) -> Page:
        """Give an empty page on which a person is signed in already."""
        wish = {"locale": "en-US", "timezone_id": "UTC", "viewport": {"width": width, "height": HEIGHT}}
        opened = self._browser.new_context(**{**wish, "base_url": self.origin, **context})
        self._contexts.append(opened)
        self.wrong.watch(opened, self.origin, self._beside)
        opened.add_cookies([{"name": "theme", "value": theme, "url": self.origin}, *self._session_of(person)])
        page = opened.new_page()
        page.set_default_timeout(15_000)
        return page

    def close(self) -> None:
        """Close everything that was opened, and fail if anything went wrong in it."""
        for context in self._contexts:
            context.close()
        assert not self.wrong.found

    def _session_of(self, person: Person | None) -> list[Any]:
        if person is None:
            return []
        client = Client()
        client.force_login(Person.objects.get(id=person.id))
        cookie = client.cookies[settings.SESSION_COOKIE_NAME]
        return [{"name": cookie.key, "value": cookie.value, "url": self.origin}]


def violations(page: Page, options: dict[str, Any] = EVERY_RULE) -> list[str]:
    """Give what axe finds, one line for each rule and place."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in found for node in rule["nodes"]]


def set_theme(page: Page, theme: str) -> None:
    """Change the theme as the cookie would, without loading the page again."""
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)


def restless(page: Page) -> list[str]:
    """Give what moves for who asked for no motion, and controls without a border where colours are forced (CO-11)."""
    page.emulate_media(reduced_motion="reduce", forced_colors="active")
    found = page.evaluate(
        """() => {
          const line = (box) => box.outerHTML.slice(0, 120);
          const moving = document.getAnimations()
            .filter((each) => each.playState === "running" && each.effect.getComputedTiming().endTime > 1)
            .map((each) => `moves: ${line(each.effect.target)}`);
          const bare = [...document.querySelectorAll(".btn, .switch i, .badge, .input, textarea, dialog[open]")]
            .filter((box) => box.checkVisibility() && getComputedStyle(box).borderTopStyle === "none")
            .map((box) => `no border: ${line(box)}`);
          return [...moving, ...bare];
        }"""
    )
    page.emulate_media(reduced_motion="no-preference", forced_colors="none")
    return list(found)


def overflow(page: Page, width: int) -> list[str]:
    """Give what makes the page wider than a window of this width; nothing may (CO-11)."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    return list(
        page.evaluate(
            """() => {
              const limit = document.documentElement.clientWidth;
              if (document.documentElement.scrollWidth <= limit) return [];
              const inside = (box) => box.closest(".wrap, .tabs, pre, .sr, dialog:not([open])");
              return [...document.querySelectorAll("body *")]
                .filter((box) => box.getBoundingClientRect().right > limit + 1 && !inside(box))
                .map((box) => `${limit}: ${box.outerHTML.slice(0, 120)}`)
                .concat([`${document.documentElement.scrollWidth} in ${limit}`]);
            }"""
        )
    )
