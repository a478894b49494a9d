"""A form of another site changes nothing here (PL-19)."""

import re

import pytest
from django.test import Client
from django.urls import reverse


@pytest.fixture
def browser() -> Client:
    """A client that is checked as browsers are; Django's own test client is let through."""
    return Client(enforce_csrf_checks=True)


def token_in(page: bytes) -> str:
    """Give the token of the first form of a page."""
    found = re.search(rb'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found
    return found[1].decode()


def test_form_without_the_token_is_refused_and_with_it_accepted(browser: Client) -> None:
    """PL-19: a POST without the page's token is refused, and the same one with it goes through."""
    address = reverse("console:theme")
    refused = browser.post(address, {"theme": "dark"})
    assert refused.status_code == 403
    assert b"This form is no longer valid" in refused.content
    token = token_in(browser.get(reverse("console:sign_in")).content)
    accepted = browser.post(address, {"theme": "dark", "csrfmiddlewaretoken": token})
    assert accepted.status_code == 303
    assert browser.cookies["theme"].value == "dark"


def test_form_from_another_origin_is_refused_even_with_the_token(browser: Client) -> None:
    """PL-19: the Origin counts beside the token."""
    token = token_in(browser.get(reverse("console:sign_in")).content)
    fields = {"theme": "dark", "csrfmiddlewaretoken": token}
    address = reverse("console:theme")
    assert browser.post(address, fields, headers={"Origin": "null"}).status_code == 403
    assert browser.post(address, fields, headers={"Origin": "http://testserver"}).status_code == 303


def test_policy_for_referrers_lets_browsers_name_the_origin_of_a_form(browser: Client) -> None:
    """PL-19: other sites get no referrer, and own forms are not sent with the origin `null`."""
    assert browser.get(reverse("console:sign_in"))["Referrer-Policy"] == "same-origin"
