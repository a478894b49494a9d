"""Masking, retention and policies are edited here: diff and effects first, and what was checked alone (PR-2)."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from privacy.services import erasures
from privacy.services.erasures import Asker
from privacy.types import Target
from tests import factories
from tests.console.conftest import SignedIn
from workspaces import access, documents
from workspaces.models import ChangeRequest, FourEyes, Person
from workspaces.rules.documents import DEFAULTS
from workspaces.types import WorkspaceRef

EDITED = ("masking", "retention", "assembly-policy")
POLICY = DEFAULTS["assembly-policy"]["policies"][0]
CHANGES: dict[str, dict[str, Any]] = {
    "masking": {"regions": ["PT"]},
    "retention": {"packages": "48h"},
    "assembly-policy": {"policies": [{**POLICY, "candidates": 40}]},
}


@pytest.fixture
def client(security: Person, signed_in: SignedIn) -> Client:
    return signed_in(security)


def live(workspace: WorkspaceRef, kind: str) -> Any:
    with access.bound(workspace.id):
        return documents.live(kind)[kind]


def address(workspace: WorkspaceRef, kind: str) -> str:
    return f"/console/w/{workspace.slug}/documents/{kind}/draft/"


def send(client: Client, workspace: WorkspaceRef, kind: str, act: str, body: Any, **form: Any) -> Any:
    base = {"version": live(workspace, kind).version, "checked": "", "reason": "For a test", "act": act}
    return client.post(address(workspace, kind), {**base, "document": json.dumps(body), **form})


def changed(kind: str, **members: Any) -> dict[str, Any]:
    return {**DEFAULTS[kind], **(members or CHANGES[kind])}


def effects(answer: Any) -> list[tuple[str, str]]:
    return [(effect.tone, str(effect.text)) for effect in answer.context["check"].effects]


@pytest.mark.parametrize("kind", EDITED)
def test_checked_and_then_published(aurora: WorkspaceRef, client: Client, kind: str) -> None:
    """PR-2, CO-5: the check shows the diff and its effect and stores nothing; then exactly that is published."""
    before = live(aurora, kind).version
    assert json.loads(client.get(address(aurora, kind)).context["form"]["document"].value()) == DEFAULTS[kind]
    checked = send(client, aurora, kind, "check", changed(kind))
    places = {change.pointer.split("/")[1] for change in checked.context["check"].changes}
    assert places == CHANGES[kind].keys()
    assert effects(checked)
    assert live(aurora, kind).version == before
    mark = checked.context["form"]["checked"].value()
    other = send(client, aurora, kind, "publish", DEFAULTS[kind], checked=mark)
    assert (other.status_code, live(aurora, kind).version) == (422, before)
    answer = send(client, aurora, kind, "publish", changed(kind), checked=mark)
    assert answer["Location"] == f"/console/w/{aurora.slug}/documents/{kind}/"
    assert live(aurora, kind).body == changed(kind)
    page = client.get(answer["Location"])
    assert "For a test" in page.content.decode()
    stale = send(client, aurora, kind, "publish", DEFAULTS[kind], checked=mark, version=before)
    assert stale.status_code in (409, 422)


@pytest.mark.parametrize("kind", EDITED)
def test_with_four_eyes_it_is_asked_for(aurora: WorkspaceRef, client: Client, kind: str) -> None:
    """PR-2b: where four eyes hold the same button asks for the approval, and nothing is in force."""
    with access.bound(aurora.id):
        FourEyes.objects.update(kinds=[kind])
    before = live(aurora, kind).version
    checked = send(client, aurora, kind, "check", changed(kind))
    assert "Request approval" in checked.content.decode()
    mark = checked.context["form"]["checked"].value()
    answer = send(client, aurora, kind, "publish", changed(kind), checked=mark)
    with access.bound(aurora.id):
        request = ChangeRequest.objects.get(kind=kind)
    assert answer["Location"] == f"/console/w/{aurora.slug}/approvals/{request.id}/"
    assert live(aurora, kind).version == before


def test_an_engineer_proposes_and_does_not_publish(aurora: WorkspaceRef, signed_in: SignedIn) -> None:
    """PL-2: who may propose sees what a draft does; without four eyes the act is for who may publish."""
    engineer = signed_in(factories.make_person(aurora, "engineer", name="Emil"))
    checked = send(engineer, aurora, "masking", "check", changed("masking"))
    assert "Publish v" not in checked.content.decode()
    mark = checked.context["form"]["checked"].value()
    assert send(engineer, aurora, "masking", "publish", changed("masking"), checked=mark).status_code == 422
    assert live(aurora, "masking").body == DEFAULTS["masking"]


def test_masking_says_where_more_is_kept(aurora: WorkspaceRef, client: Client) -> None:
    """PR-2, PR-5: looser strategies and kinds that are no longer looked for come first, then what stays as it is."""
    factories.make_state(aurora, subject={"type": "email", "value": "ana@example.com"})
    kinds = {**DEFAULTS["masking"]["kinds"], "iban": "hash", "email": "redact"}
    looked_for = [kind for kind in DEFAULTS["masking"]["detect_in_declared_pii"] if kind != "ip"]
    body = changed("masking", kinds=kinds, detect_in_declared_pii=looked_for)
    (kept, sought, stays) = effects(send(client, aurora, "masking", "check", body))
    assert kept == ("warn", "More of each iban is kept than before: redact becomes hash.")
    assert sought[0] == "warn"
    assert sought[1].startswith("ip is not looked for any more")
    assert stays[0] == "info"
    assert "by it within a second: 1. States" in stays[1]
    assert "written again: 1, profiles: 1." in stays[1]


def test_retention_says_what_keeps_its_end(aurora: WorkspaceRef, client: Client) -> None:
    """PR-2, PR-20: of each member that changes from when on it holds; requests that are open keep their deadline."""
    with access.bound(aurora.id):
        asker = Asker(factories.SYSTEM, is_verified=False)
        target = Target(kind="conversation", scope_id="c-1")
        erasures.request_erasure(workspace=aurora, target=target, asker=asker, now=timezone.now())
    history = {**DEFAULTS["retention"]["history"], "idle": "12h"}
    body = changed("retention", regime="GDPR", packages="12h", history=history)
    said = dict.fromkeys(text for _, text in effects(send(client, aurora, "retention", "check", body)))
    assert len(said) == 3
    assert "Requests that come from then on have its deadlines. Open ones keep theirs: 1." in said
    assert "history: it holds from the publication on." in said


def test_policies_say_what_may_leave(aurora: WorkspaceRef, client: Client) -> None:
    """PR-2, CA-5, CA-7: what tells more comes first, then names that end, then what tells less and what stays."""
    factories.publish(aurora, "assembly-policy", {"policies": [POLICY, {**POLICY, "name": "old"}]})
    routes = {
        "*": {**POLICY["routes"]["*"], "internal": "hint"},
        "openai": {**POLICY["routes"]["*"], "oauth": "raw"},
    }
    rule = {"tool": "calendar.free", "from": "oauth", "to": "internal", "why": "times only"}
    changes = {"routes": routes, "lower_privacy": [rule]}
    body = changed("assembly-policy", policies=[{**POLICY, **changes}, {**POLICY, "name": "new"}])
    said = effects(send(client, aurora, "assembly-policy", "check", body))
    assert said[:-1] == [
        ("warn", "Policy default lets more leave on openai: of what is oauth, never becomes raw."),
        ("warn", "Policy default makes memories of calendar.free less strict than their artifacts."),
        ("warn", "Policy old ends: requests that name it get 422 policy_unknown."),
        (
            "info",
            "Policy default lets less leave on any other route: of what is internal, memory becomes hint.",
        ),
        ("info", "Policy new is new: requests may name it."),
    ]
    assert said[-1][0] == "info"


@pytest.mark.parametrize(
    ("kind", "body", "place"),
    [
        ("masking", changed("masking", held_back_everywhere=["card"]), "/held_back_everywhere"),
        ("masking", changed("masking", regions=["BR", "US", "FR", "PT"]), "/regions"),
        ("retention", changed("retention", packages="soon"), "/packages"),
        ("retention", changed("retention", regime="none"), "/regime"),
    ],
)
def test_what_cannot_be_published(
    aurora: WorkspaceRef, client: Client, kind: str, body: Any, place: str
) -> None:
    """PR-2, PR-7: each problem is named at its place, and no button leads past it."""
    answer = send(client, aurora, kind, "check", body)
    assert place in {problem.pointer for problem in answer.context["check"].problems}
    assert "Publish v" not in answer.content.decode()
    assert send(client, aurora, kind, "publish", body).status_code == 422


def test_which_documents_are_edited_here(aurora: WorkspaceRef, client: Client, signed_in: SignedIn) -> None:
    """PR-2, PL-2: the way to a draft is on the pages of the three, for who may propose; no other kind has one."""
    auditor = signed_in(factories.make_person(aurora, "auditor", name="Alba"))
    for kind in EDITED:
        page = f"/console/w/{aurora.slug}/documents/{kind}/"
        assert client.get(page).context["draft_url"] == address(aurora, kind)
        assert auditor.get(page).context["draft_url"] == ""
    for kind in ("features", "nothing"):
        assert client.get(address(aurora, kind)).status_code == 404
