"""What the tests of the pages share: the house, and people who are signed in."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser

from console.logging import ContentFreeFormatter
from tests import factories
from tests.console.browser import Visits, running_chromium
from tests.console.house import House, build_house
from tests.server import Server
from workspaces.models import Person
from workspaces.types import WorkspaceRef

SignedIn = Callable[[Person], Client]


@pytest.fixture(scope="session")
def house(django_db_setup: None, django_db_blocker: Any, _deployment_key: None) -> House:
    """A workspace with everybody and everything in it; it is committed and stays."""
    with django_db_blocker.unblock():
        return build_house()


@pytest.fixture
def signed_in(db: None) -> SignedIn:
    """Make a client of a person who is signed in."""

    def client_of(person: Person) -> Client:
        client = Client(raise_request_exception=False)
        client.force_login(person)
        return client

    return client_of


@pytest.fixture
def written_log(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """Keep what is logged at every level; give it as the server would write it."""
    caplog.set_level(logging.DEBUG)
    return lambda: "\n".join(map(ContentFreeFormatter().format, caplog.records))


@pytest.fixture
def security(aurora: WorkspaceRef) -> Person:
    """Somebody in Aurora who switches features, and makes keys and object types."""
    return factories.make_person(aurora, "security", name="Ana")


@pytest.fixture
def support(aurora: WorkspaceRef) -> Person:
    """Somebody in Aurora who looks customers up."""
    return factories.make_person(aurora, "support", name="Sofia")


@pytest.fixture
def owner(aurora: WorkspaceRef) -> Person:
    """Somebody who owns Aurora."""
    return factories.make_person(aurora, "owner", name="Olivia")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One Chromium for the tests of a module: its event loop must not outlive them."""
    with running_chromium() as browser:
        yield browser


@pytest.fixture
def visits(chromium: Browser, committed: None, server: Server) -> Iterator[Visits]:
    """Open pages of the real server; violations, script errors and foreign requests fail the test."""
    opened = Visits(chromium, server.url)
    yield opened
    opened.close()
