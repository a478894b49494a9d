"""A whole working day of somebody who may see everything: no handle is left anywhere on the way (CO-3)."""

import re
from urllib.parse import unquote

import pytest
from playwright.sync_api import Request

from tests.console.browser import Visits
from tests.console.house import EVERY_ROLE, PHONE, SECRETS, House
from tests.console.sights import pages
from tests.console.test_browser_tasks import traces
from tests.server import Server

pytestmark = pytest.mark.browser


def test_a_session_over_every_page_leaves_no_handle(house: House, visits: Visits, server: Server) -> None:
    """CO-2, CO-3, CO-12: addresses, headers, storage, history and the server's log, after a search and every page."""
    page, asked = visits.open(house.people[EVERY_ROLE]), list[str]()

    def note(request: Request) -> None:
        asked.append(unquote(f"{request.method} {request.url} {request.all_headers()}"))

    page.context.on("requestfinished", note)
    page.goto(house.address("profiles"))
    page.keyboard.press("/")
    page.keyboard.type(PHONE)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/profiles/[0-9a-f-]{36}/$"))
    seen = [sight for sight in pages() if sight.who == EVERY_ROLE]
    for sight in seen:
        sight.show(page, house)
    assert len([line for line in asked if line.startswith("GET")]) > len(seen)
    kept = [*traces(page), *asked, server.log.read_text()]
    for secret in (*SECRETS, PHONE, PHONE[1:]):
        assert not [text[:200] for text in kept if secret in text], secret
