"""A forgotten password is changed by a link that is mailed (PL-4)."""

import re

import pytest
from django.conf import settings
from django.core import mail
from django.test import Client

from tests.console.conftest import SignedIn
from tests.console.test_sign_in import try_to_sign_in
from workspaces.models import DeploymentAuditEntry, Person
from workspaces.services.mails import LINKS_AT_ONCE, OF_A_NETWORK_AT_ONCE

NEW = "another long and quiet sentence"
FORM = {"new_password1": NEW, "new_password2": NEW}


def mailed_link(person: Person, **headers: str) -> str:
    """Ask for a link; give the one in the mail, without its host."""
    answer = Client().post("/console/password/", {"email": person.email}, headers=headers)
    assert (answer.status_code, answer["Location"]) == (302, "/console/password/sent/")
    found = re.search(
        rf"{re.escape(settings.LASTRO_BASE_URL)}(/console/password/\S+)", str(mail.outbox[-1].body)
    )
    assert found
    return found[1]


def test_password_is_changed_by_the_mailed_link(security: Person) -> None:
    """PL-4, PR-21: the link opens a form, once; then only the new password holds, and it is audited."""
    link, client = mailed_link(security), Client()
    form = client.get(link, follow=True)
    assert form.redirect_chain[0][0].endswith("/set-password/")
    chosen = client.post(form.redirect_chain[-1][0], FORM)
    assert chosen["Location"] == "/console/password/changed/"
    assert DeploymentAuditEntry.objects.latest("seq").act == "person.new_password"
    assert try_to_sign_in(security).status_code == 422
    assert try_to_sign_in(security, NEW).status_code == 303
    assert b"This link is no longer valid" in Client().get(link, follow=True).content


def test_links_are_few_whoever_asks_for_them(security: Person, support: Person) -> None:
    """PL-4: one address is mailed three links at once, one network has twenty mailed; the answer is the same."""
    client = Client(REMOTE_ADDR="198.51.100.7")
    others = [f"nobody-{number}@example.com" for number in range(OF_A_NETWORK_AT_ONCE)]
    for email in (*[security.email.upper()] * (LINKS_AT_ONCE + 2), *others, support.email):
        assert client.post("/console/password/", {"email": email}).status_code == 302
    assert [sent.to for sent in mail.outbox] == [[security.email]] * LINKS_AT_ONCE
    mailed_link(support)
    assert mail.outbox[-1].to == [support.email]


@pytest.mark.parametrize(
    ("why", "fields", "field"),
    [
        ("too short", {"new_password1": "short", "new_password2": "short"}, "new_password2"),
        ("too common", {"new_password1": "password1234", "new_password2": "password1234"}, "new_password2"),
        ("two of them", {"new_password1": NEW, "new_password2": f"{NEW}!"}, "new_password2"),
    ],
)
def test_bad_new_password_is_refused_beside_its_field(
    security: Person, why: str, fields: dict[str, str], field: str
) -> None:
    """PL-4: 422 with the reason, and the link still works."""
    client = Client()
    address = client.get(mailed_link(security), follow=True).redirect_chain[-1][0]
    refused = client.post(address, fields)
    assert refused.status_code == 422
    assert list(refused.context["form"].errors) == [field]
    assert client.post(address, FORM).status_code == 302


def test_other_sessions_end_with_the_old_password(security: Person, signed_in: SignedIn) -> None:
    """PL-4: whoever is signed in with the old password is not any more."""
    elsewhere, client = signed_in(security), Client()
    client.post(client.get(mailed_link(security), follow=True).redirect_chain[-1][0], FORM)
    assert elsewhere.get("/console/").status_code == 302


def test_answer_is_the_same_for_an_address_that_nobody_has(db: None) -> None:
    """PL-4: the page does not tell who has an account, and nobody is mailed."""
    answer = Client().post("/console/password/", {"email": "nobody@example.com"})
    assert (answer.status_code, answer["Location"]) == (302, "/console/password/sent/")
    assert mail.outbox == []


def test_link_leads_to_this_server_whatever_host_asked_for_it(
    security: Person, settings: pytest.FixtureRequest
) -> None:
    """PL-19: who asks for a link for somebody else does not choose where it leads."""
    settings.ALLOWED_HOSTS = ["*"]  # type: ignore[attr-defined]
    mailed_link(security, Host="evil.example")
    assert "evil.example" not in str(mail.outbox[-1].body)


def test_link_with_another_token_opens_nothing(security: Person) -> None:
    """PL-19: no link is found by guessing."""
    link = mailed_link(security)
    guessed = re.sub(r"/[^/]+/$", "/abcdef-0123456789abcdef/", link)
    for path in (guessed, "/console/password/MQ/abcdef-0123456789/"):
        assert b"This link is no longer valid" in Client().get(path, follow=True).content
