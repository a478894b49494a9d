"""Object types: read, edited, checked against what is stored, and published as checked (PR-2, PR-3, CO-5)."""

import json
from typing import Any

import pytest
from django.http.response import HttpResponseBase
from django.test import Client

from tests import factories
from tests.console.conftest import SignedIn
from workspaces import access, documents
from workspaces.models import Person
from workspaces.types import WorkspaceRef


@pytest.fixture
def client(security: Person, signed_in: SignedIn) -> Client:
    return signed_in(security)


def draft(workspace: WorkspaceRef) -> str:
    return f"/console/w/{workspace.slug}/documents/object-types/draft/"


def live(workspace: WorkspaceRef) -> int:
    with access.bound(workspace.id):
        return documents.live("object-types")["object-types"].version


def without(*names: str) -> dict[str, Any]:
    """Give ORDER_TYPE without some fields."""
    fields = {name: field for name, field in factories.ORDER_TYPE["fields"].items() if name not in names}
    return {"types": [factories.order_type(fields=fields)]}


def send(client: Client, workspace: WorkspaceRef, act: str, **form: Any) -> HttpResponseBase:
    """Check or publish a document."""
    base = {"version": live(workspace), "drop": "", "checked": "", "reason": "For a test", "act": act}
    return client.post(draft(workspace), base | form)


def mark(answer: Any) -> str:
    return str(answer.context["form"]["checked"].value())


def test_check_shows_the_changes_and_stores_nothing(aurora: WorkspaceRef, client: Client) -> None:
    """PR-2: what is added and removed stands side by side; the live version stays."""
    before = live(aurora)
    document = without("remark")
    document["types"][0]["fields"]["coupon"] = {"type": "string"}
    answer: Any = send(client, aurora, "check", document=json.dumps(document))
    assert answer.status_code == 200
    changes = {change.pointer: (change.before, change.after) for change in answer.context["check"].changes}
    assert any(pointer.endswith("/fields/coupon") and not was for pointer, (was, _) in changes.items())
    assert any(pointer.endswith("/fields/remark") and not after for pointer, (_, after) in changes.items())
    assert "Publish v" in answer.content.decode()
    assert live(aurora) == before


def test_document_is_written_in_the_order_of_its_schema(aurora: WorkspaceRef, client: Client) -> None:
    """PR-2: what people edit begins with what it is, wherever the database put the members."""
    text = client.get(draft(aurora)).context["form"]["document"].value()
    members = list(json.loads(text)["types"][0])
    assert members == ["type", "version", "ownership", "agents", "fields", "retention", "agent_state"]
    assert json.loads(text) == {"types": [factories.ORDER_TYPE]}


def test_field_that_states_hold_must_be_dropped_by_name(aurora: WorkspaceRef, client: Client) -> None:
    """PR-3: removing a held field is a problem until it is named; then its effect is said before it is published."""
    factories.make_state(aurora, body={"remark": "x"})
    document = json.dumps(without("remark"))
    refused: Any = send(client, aurora, "check", document=document)
    text = refused.content.decode()
    assert refused.context["check"].problems
    assert "cannot be published" in text
    assert "Publish v" not in text
    checked: Any = send(client, aurora, "check", document=document, drop="order.remark")
    assert not checked.context["check"].problems
    text = checked.content.decode()
    assert "order.remark is dropped. States that lose it at the next sweep: 1." in text
    assert "Breaking" in text
    assert "order.remark</textarea>" in text
    published = send(client, aurora, "publish", document=document, drop="order.remark", checked=mark(checked))
    assert published.status_code == 303


def test_only_what_was_checked_is_published(aurora: WorkspaceRef, client: Client) -> None:
    """CO-5: text or drops that changed after the check are checked again first; the spelling of the text is free."""
    document = without("remark")
    checked: Any = send(client, aurora, "check", document=json.dumps(document))
    before = live(aurora)
    for changed in (
        {"document": json.dumps(without("note"))},
        {"document": json.dumps(document), "drop": "order.phone"},
        {"document": json.dumps(document), "checked": ""},
        {"document": json.dumps(document), "checked": "0" * 64},
    ):
        answer: Any = send(client, aurora, "publish", **{"checked": mark(checked), **changed})
        assert answer.status_code == 422
        assert "changed since it was checked" in answer.content.decode()
    assert live(aurora) == before
    spelled = json.dumps(document, indent=7, sort_keys=True)
    assert send(client, aurora, "publish", document=spelled, checked=mark(checked)).status_code == 303
    assert live(aurora) == before + 1


def test_publishing_asks_for_a_reason_at_its_field(aurora: WorkspaceRef, client: Client) -> None:
    """CO-5: a check needs no reason, a publication does."""
    document = json.dumps(without("remark"))
    checked: Any = send(client, aurora, "check", document=document, reason="")
    assert checked.status_code == 200
    refused: Any = send(client, aurora, "publish", document=document, checked=mark(checked), reason=" ")
    assert refused.status_code == 422
    assert list(refused.context["form"].errors) == ["reason"]
    assert send(client, aurora, "publish", document=document, checked=mark(checked)).status_code == 303


def test_draft_of_an_older_version_is_refused_and_can_go_on(aurora: WorkspaceRef, client: Client) -> None:
    """CO-5: published over a version that moved is 409; the draft is then compared with the newest one, and goes on."""
    document, stale = json.dumps(without("remark")), live(aurora)
    checked: Any = send(client, aurora, "check", document=document)
    factories.publish_types(aurora, factories.order_type(version="2"))
    form = {"document": document, "version": stale, "checked": mark(checked)}
    refused: Any = send(client, aurora, "publish", **form)
    assert refused.status_code == 409
    assert "Another version was published since you opened this draft." in refused.content.decode()
    assert any(change.pointer.endswith("/version") for change in refused.context["check"].changes)
    form["version"] = refused.context["form"]["version"].value()
    assert send(client, aurora, "publish", **form).status_code == 303


def test_invalid_document_names_each_place(aurora: WorkspaceRef, client: Client) -> None:
    """PR-2: a check lists every problem with its place; it is not published by hand either."""
    document = json.dumps({"types": [{"type": "Order!", "fields": {"a": {"type": "enum"}}}]})
    answer: Any = send(client, aurora, "check", document=document)
    places = [problem.pointer for problem in answer.context["check"].problems]
    assert answer.status_code == 200
    assert any(place.startswith("/types/0/type") for place in places)
    assert any("/fields/a" in place for place in places)
    assert send(client, aurora, "publish", document=document).status_code == 422


@pytest.mark.parametrize(
    "document", ['{"types": 99999999999999999999999}', "[]", '"x"', "null", "1e999", "{}"]
)
def test_odd_document_is_a_problem_and_no_error(aurora: WorkspaceRef, client: Client, document: str) -> None:
    """PR-2: whatever JSON is pasted, an answer with the problem comes."""
    for act in ("check", "publish"):
        answer: Any = send(client, aurora, act, document=document)
        assert answer.status_code in {200, 422}
        assert answer.context["form"].errors or answer.context["check"].problems


def test_engineer_proposes_and_does_not_publish(
    aurora: WorkspaceRef, signed_in: SignedIn, security: Person
) -> None:
    """PL-2: who may propose sees what a draft does; the button and the act are for who may publish."""
    engineer = signed_in(factories.make_person(aurora, "engineer", name="Emil"))
    document = json.dumps(without("remark"))
    checked: Any = send(engineer, aurora, "check", document=document)
    assert "Publish v" not in checked.content.decode()
    answer = send(engineer, aurora, "publish", document=document, checked="anything")
    assert answer.status_code == 422
    assert "You may propose, but not publish" in answer.content.decode()  # type: ignore[attr-defined]


def test_same_document_has_nothing_to_publish(aurora: WorkspaceRef, client: Client) -> None:
    """CO-5: a draft that says what is live says so, and offers no button."""
    answer: Any = send(client, aurora, "check", document=json.dumps({"types": [factories.ORDER_TYPE]}))
    text = answer.content.decode()
    assert "The draft says the same as the live version." in text
    assert "Publish v" not in text


def test_type_pages_show_fields_use_and_versions(aurora: WorkspaceRef, client: Client) -> None:
    """PR-2: the list has each type with how much it holds; its page has the fields, and older versions too."""
    factories.make_state(aurora)
    factories.publish_types(aurora, factories.order_type(version="2"))
    (row,) = client.get(f"/console/w/{aurora.slug}/types/").context["types"]
    assert (row.name, row.version, row.states, row.personal) == ("order", "2", 1, 2)
    page = client.get(row.url)
    assert page.context["usage"].states == 1
    assert {field.name for field in page.context["type"].fields} == factories.ORDER_TYPE["fields"].keys()
    older = client.get(f"{row.url}?version={live(aurora) - 1}")
    assert older.context["type"].version == "1"
    assert "This version is no longer in force." in older.content.decode()


def test_type_that_does_not_exist_leads_to_the_list(aurora: WorkspaceRef, client: Client) -> None:
    """PR-2: a type that was removed leads to those that are there."""
    answer = client.get(f"/console/w/{aurora.slug}/types/gone/")
    assert (answer.status_code, answer["Location"]) == (303, f"/console/w/{aurora.slug}/types/")


@pytest.mark.parametrize("kind", ["masking", "retention", "assembly-policy"])
def test_other_documents_are_shown(aurora: WorkspaceRef, client: Client, kind: str) -> None:
    """PR-2: each document can be read with its versions."""
    page = client.get(f"/console/w/{aurora.slug}/documents/{kind}/")
    assert page.status_code == 200
    assert client.get(page.context["versions"][0].url).status_code == 200


def test_documents_with_a_page_of_their_own_lead_there(aurora: WorkspaceRef, client: Client) -> None:
    """PR-2: features and object types have their own pages, and no other kind exists."""
    ways = {"features": "features/", "object-types": "types/"}
    for kind, place in ways.items():
        answer = client.get(f"/console/w/{aurora.slug}/documents/{kind}/")
        assert (answer.status_code, answer["Location"]) == (303, f"/console/w/{aurora.slug}/{place}")
    assert client.get(f"/console/w/{aurora.slug}/documents/nothing/").status_code == 404
