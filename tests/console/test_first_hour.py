"""A person's first hour: an empty workspace leads them to a first write that arrives (CO-8)."""

import json
import os
import subprocess
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import expect

from agentstate.rules import values
from agentstate.types import Field
from console.presenters.start import FIRST_TYPES, _example
from tests import factories
from tests.console.browser import Visits, violations
from tests.console.conftest import SignedIn
from workspaces.rules.documents import problems
from workspaces.types import WorkspaceRef


def steps(client: Client, workspace: WorkspaceRef) -> Any:
    return client.get(f"/console/w/{workspace.slug}/start/").context["hour"]


@pytest.mark.browser
def test_an_empty_workspace_is_led_to_its_first_write(visits: Visits, committed: None) -> None:
    """CO-8: security makes a type from the example, switches the feature on, makes a key, and sees the write arrive."""
    shop = factories.make_workspace("Shop")
    page = visits.open(factories.make_person(shop, "security", name="Ana"))
    page.goto(f"/console/w/{shop.slug}/")
    expect(page.get_by_role("heading", name="First steps")).to_be_visible()

    page.get_by_role("link", name="Make a type").click()
    page.get_by_role("button", name="Check").click()
    page.get_by_label("Reason").fill("First type")
    page.get_by_role("button", name="Publish").click()

    page.goto(f"/console/w/{shop.slug}/start/")
    page.get_by_role("link", name="Switch it on").click()
    page.get_by_label("Reason").fill("Go-live")
    page.get_by_role("button", name="Turn on").click()

    page.goto(f"/console/w/{shop.slug}/start/")
    page.get_by_role("link", name="Make a key").click()
    page.get_by_label("Name", exact=True).fill("first")
    page.get_by_label("Source").fill("chat")
    page.get_by_label("agent_state").check()
    page.get_by_label("Reason").fill("First key")
    page.get_by_role("button", name="Make the key").click()
    secret = page.locator("#secret").inner_text()

    page.goto(f"/console/w/{shop.slug}/start/")
    expect(page.get_by_text("3 of 4 done")).to_be_visible()
    assert violations(page) == []
    command = page.locator(".secret code").inner_text().replace("http://127.0.0.1:8000", visits.origin)
    sent = subprocess.run(
        ["/bin/sh", "-c", f"{command} --silent"],
        env={"PATH": os.environ["PATH"], "LASTRO_KEY": secret},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(sent.stdout)["stored"] is True
    # The page finds out by itself.
    expect(page.get_by_text("It arrived.")).to_be_visible(timeout=15_000)
    expect(page.get_by_text("4 of 4 done")).to_be_visible()
    assert violations(page) == []


def test_a_step_names_who_may_do_it(aurora: WorkspaceRef, signed_in: SignedIn) -> None:
    """CO-8: who may not make a key is told who may, and gets no button."""
    client = signed_in(factories.make_person(aurora, "support", name="Sofia"))
    hour = steps(client, aurora)
    key = next(step for step in hour.steps if step.name == "key")
    assert (key.url, key.roles) == ("", "Security")
    assert hour.command or not hour.steps[0].is_done


def test_the_first_draft_is_a_type_that_can_be_published(aurora: WorkspaceRef) -> None:
    """PR-2: what an empty draft begins with has no problem."""
    assert problems("object-types", FIRST_TYPES) == []


@pytest.mark.parametrize("kind", sorted(values._FORMS | {"money": ()}))
def test_the_example_of_each_form_is_taken(kind: str) -> None:
    """WM-3: the command of the first write is never refused for its value."""
    field = Field(name="f", type=kind)
    assert values.problems(field, _example(field)[1], "/f") == []
