"""Each form says beside the field what is wrong with it, and takes it once that is mended (CO-8, PL-19)."""

import json
from typing import Any

import pytest
from django.test import Client

from history.models import Session
from tests import factories
from tests.console.conftest import SignedIn
from tests.console.house import EVERY_ROLE, NOBODY, SCOPE_ID, House
from tests.tables.pages import FORMS, Fields, Form, Refused, refused_forms
from tests.tables.rights import OPEN_PAGES, PAGES
from workspaces import access, documents
from workspaces.models import AuditEntry, ChangeRequest, Profile
from workspaces.selectors.approvals import content_digest, four_eyes

REFUSED = list(refused_forms())


def filled(house: House, fields: Fields) -> dict[str, Any]:
    """Fill what is in braces from the house."""
    with access.bound(house.workspace.id):
        live = documents.live("features", "object-types", "masking")
        pseudonym = Profile.objects.get(id=house.profile).pseudonym
        seen, setting = content_digest(access.one(ChangeRequest, id=house.change)), four_eyes().version
        reservation = Session.objects.get(id=house.reserved).reservation_id
    facts = {
        "{reservation}": reservation,
        "{seen}": seen,
        "{four_eyes_version}": setting,
        "{features_version}": live["features"].version,
        "{types_version}": live["object-types"].version,
        "{pseudonym}": pseudonym,
        "{scope_id}": f"{SCOPE_ID}-1",
        "{masking}": json.dumps(live["masking"].body),
        "{masking_version}": live["masking"].version,
        "{types}": json.dumps(live["object-types"].body),
        "{member_email}": house.people["support"].email,
        "{owner_email}": house.people["owner"].email,
    }
    return {
        name: facts.get(value, value) if isinstance(value, str) else value for name, value in fields.items()
    }


def client_for(form: Form, house: House, signed_in: SignedIn) -> Client:
    return Client() if form.who == NOBODY else signed_in(house.people[form.who])


@pytest.mark.parametrize(("form", "refused"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_form_says_where_and_is_taken_once_mended(
    house: House, signed_in: SignedIn, form: Form, refused: Refused
) -> None:
    """CO-8: 422 with the error beside its field and what was typed kept; the same form without the fault goes on."""
    client, address = client_for(form, house, signed_in), house.address(form.page, form.who)
    answer = client.post(address, filled(house, {**form.good, **refused.change}))
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [refused.field]
    text = answer.content.decode()
    assert f'id="id_{refused.field}_error"' in text
    assert 'aria-invalid="true"' in text
    assert client.post(address, filled(house, form.good)).status_code == form.ok


def test_every_form_stands_in_the_table() -> None:
    """CO-8: a page that takes a form is in the table, or it is on this list with what it takes instead of fields."""
    posts = {row.name.removeprefix("console:") for row in PAGES if "POST" in row.methods} | {"me"}
    posts |= {name.removeprefix("console:") for name in OPEN_PAGES}
    without_fields = {
        "find",  # a search, answered by the list of profiles (CO-3)
        "token_revoke",  # one button
        "theme",
        "language",  # its own test: it keeps a cookie
        "sign_out",
        "sign_in_code",  # its own test: it takes a code after a password
        "openid",
        "openid_done",
        "password_reset_confirm",  # its own test: the link is good for one session
        "password_reset_done",
        "password_reset_complete",
    }
    assert posts - without_fields == {form.page for form in FORMS}


@pytest.mark.parametrize(
    "page", [*(form.page for form in FORMS), "find", "token_revoke", "sign_out", "theme"]
)
def test_form_without_its_token_changes_nothing(house: House, db: None, page: str) -> None:
    """PL-19: another site cannot send any form for somebody who is signed in."""
    good = {form.page: form.good for form in FORMS}.get(page, {"handle": "+5511987650123"})
    client = Client(enforce_csrf_checks=True)
    client.force_login(house.people[EVERY_ROLE])
    with access.bound(house.workspace.id):
        before = AuditEntry.objects.count()
        answer = client.post(house.address(page, EVERY_ROLE), filled(house, good))
        assert answer.status_code == 403
        assert b"This form is no longer valid" in answer.content
        assert AuditEntry.objects.count() == before


def test_form_keeps_what_was_typed_but_no_password(house: House, signed_in: SignedIn) -> None:
    """PL-19: a refused form comes back filled, without its password."""
    client = signed_in(house.people["security"])
    fields = {"name": "script", "permissions": ["view_audit"], "expires": 91, "password": factories.PASSWORD}
    text = client.post(house.address("token_new"), fields).content.decode()
    assert 'value="script"' in text
    assert factories.PASSWORD not in text


def test_what_people_wrote_is_shown_as_text(house: House, signed_in: SignedIn) -> None:
    """PL-19: markup in a field, a name or a reason is text on every page that shows it."""
    client, markup = signed_in(house.people["security"]), "<img src=x onerror=alert(1)>"
    made = client.post(
        house.address("key_new"),
        {"source": markup, "name": markup, "scopes": ["agent_state"], "expires": 9, "reason": markup},
    )
    pages = [made, client.get(house.address("keys")), client.get(house.address("audit"))]
    for page in pages:
        assert page.status_code == 200
        assert markup not in page.content.decode()
    assert "&lt;img src=x" in pages[1].content.decode()
