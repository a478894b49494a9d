"""Documents are proposed, published and read over the API (PR-2, PR-3)."""

import json
from typing import Any
from uuid import uuid4

import jsonschema
import pytest
from django.utils import timezone

from privacy.services import documents as services
from tests import factories
from tests.api import InProcess
from tests.parallel import at_once, raised
from tests.privacy.changes import CONFIG, DIFFS, approve, change, live, problems, propose, publish
from workspaces import access
from workspaces.errors import InvalidDocument, InvalidInput, NotFound, Problem, WrongVersion
from workspaces.models import AuditEntry, ChangeRequest, Document
from workspaces.rules.documents import DEFAULTS, KINDS
from workspaces.types import ChangeWish, WorkspaceRef

CANARY = "canary-zq7x"
each_kind = pytest.mark.parametrize("kind", KINDS)


def acts(workspace: WorkspaceRef, *names: str) -> list[AuditEntry]:
    with access.bound(workspace.id):
        return list(AuditEntry.objects.filter(act__in=names).order_by("seq"))


@each_kind
def test_every_kind_is_read_with_its_schema(aurora: WorkspaceRef, agent: InProcess, kind: str) -> None:
    """PR-2: a source's key reads each live document, and the schema that it keeps."""
    found, schema = live(agent, kind), agent.get(f"{CONFIG}/{kind}/schema")
    assert found["kind"] == kind
    assert schema.status == 200
    jsonschema.Draft202012Validator.check_schema(schema.body)
    jsonschema.validate(found["document"], schema.body)


@pytest.mark.parametrize("path", ["settings", "Features", "features/", "features/schema/x", "%00", "diffs"])
def test_an_unknown_kind_is_not_there(agent: InProcess, path: str) -> None:
    """PR-2: what is no kind of document answers 404, or 405 where the address takes other methods."""
    assert agent.get(f"{CONFIG}/{path}").status == (405 if path == "diffs" else 404)


@each_kind
def test_every_kind_is_proposed_and_published(aurora: WorkspaceRef, security: InProcess, kind: str) -> None:
    """PR-2: a person with the rights publishes a new version of each kind, which is live at once."""
    before = live(security, kind)
    proposed = propose(security, kind, before["document"], replaces=before["version"])
    assert (proposed.status, proposed.body["status"], proposed.body["version"]) == (201, "proposed", None)
    assert live(security, kind) == before, "A proposal changes nothing."
    published = approve(security, proposed)
    assert (published.status, published.body["status"]) == (200, "published")
    assert published.body["version"] == before["version"] + 1 == live(security, kind)["version"]


def test_one_proposes_and_another_publishes(
    aurora: WorkspaceRef, engineer: InProcess, owner: InProcess, agent: InProcess
) -> None:
    """PR-2: proposing and publishing are separate permissions, and the audit says who did which and why."""
    types = {"types": [factories.order_type(version="2")]}
    refused = propose(owner, "object-types", types)
    assert (refused.status, refused.code) == (403, "permission_missing")
    proposed = propose(engineer, "object-types", types, reason="A field is renamed")
    assert (approve(engineer, proposed).status, approve(engineer, proposed).code) == (
        403,
        "permission_missing",
    )
    assert live(agent, "object-types")["document"] != types
    assert approve(owner, proposed).status == 200
    assert live(agent, "object-types")["document"] == types
    asked, done = acts(aurora, "document.propose", "document.publish")[-2:]
    assert [(entry.act, entry.actor_name.partition("-")[0]) for entry in (asked, done)] == [
        ("document.propose", "engineer"),
        ("document.publish", "owner"),
    ]
    assert {entry.reason for entry in (asked, done)} == {"A field is renamed"}
    assert asked.facts["change"] == proposed.body["diff_id"]
    with access.bound(aurora.id):
        version = Document.objects.filter(kind="object-types").latest("version")
    assert (version.reason, version.published_by and version.published_by.name) == (
        "A field is renamed",
        "owner",
    )


def test_a_source_reads_and_never_proposes(aurora: WorkspaceRef, security: InProcess) -> None:
    """PR-2: no key of a source proposes or publishes, whatever its scopes."""
    key = InProcess(factories.make_key(aurora, "admin", "agent_state", "history", "context"))
    waiting = propose(security, "masking")
    for kind in KINDS:
        assert (propose(key, kind).status, propose(key, kind).code) == (403, "forbidden")
    assert (approve(key, waiting).status, approve(key, waiting).code) == (403, "forbidden")
    assert approve(security, waiting).status == 200


# Versions


def test_a_proposal_names_the_version_that_it_replaces(aurora: WorkspaceRef, security: InProcess) -> None:
    """PR-2: a proposal over another version than the live one is 412; without a version it is over the live one."""
    version = live(security, "masking")["version"]
    for stale in (version - 1, version + 1):
        if stale > 0:
            answer = propose(security, "masking", replaces=stale)
            assert (answer.status, answer.code) == (412, "wrong_version")
    assert propose(security, "masking", replaces=version).body["replaces"] == version
    assert propose(security, "masking").body["replaces"] == version


def test_of_two_proposals_over_one_version_one_is_published(
    aurora: WorkspaceRef, security: InProcess
) -> None:
    """PR-2: what was made from a version that is no longer live is not published: 412."""
    first, second = propose(security, "masking"), propose(security, "masking")
    assert approve(security, first).status == 200
    refused = approve(security, second)
    assert (refused.status, refused.code) == (412, "wrong_version")
    assert propose(security, "masking", replaces=first.body["replaces"]).status == 412


def test_of_publications_at_once_one_wins(committed: None) -> None:
    """PR-2: of four publications over one version at the same moment one is stored and three are 412."""
    workspace = factories.make_ready_workspace()
    person = factories.make_person(workspace, "security")
    token = factories.make_token(workspace, person, "propose_documents", "publish_documents")
    waiting = [propose(InProcess(token), "masking") for _ in range(4)]
    answers = at_once(4, lambda number: approve(InProcess(token), waiting[number]))
    assert not raised(answers)
    assert sorted((answer.status, answer.code) for answer in answers) == [
        (200, None),
        *[(412, "wrong_version")] * 3,
    ]
    with access.bound(workspace.id):
        versions = Document.objects.filter(kind="masking").order_by("version")
        assert list(versions.values_list("version", flat=True)) == [1, 2]
        assert AuditEntry.objects.filter(act="document.publish", object_id="masking").count() == 1


def test_a_change_is_published_once(aurora: WorkspaceRef, security: InProcess) -> None:
    """PR-2: a second approval of one change is 409, and makes no version."""
    proposed = propose(security, "masking")
    assert approve(security, proposed).status == 200
    again = approve(security, proposed)
    assert (again.status, again.code) == (409, "conflict")
    assert live(security, "masking")["version"] == proposed.body["replaces"] + 1


def test_an_unknown_change_is_not_there(aurora: WorkspaceRef, security: InProcess) -> None:
    """PR-2: a change that nobody proposed answers 404."""
    for change_id in (uuid4(), "x"):
        assert security.post(f"{DIFFS}/{change_id}/approve").status == 404


def test_a_version_never_changes(aurora: WorkspaceRef, security: InProcess) -> None:
    """PR-2: versions are immutable: what was published reads the same after ten more publications."""
    with access.bound(aurora.id):
        before = {row.id: vars(row) for row in Document.objects.all()}
    for number in range(10):
        publish(security, "object-types", {"types": [factories.order_type(version=str(number))]})
    with access.bound(aurora.id):
        after = {row.id: vars(row) for row in Document.objects.all()}
        ours = Document.objects.filter(kind="object-types").order_by("version")
        versions = list(ours.values_list("version", flat=True))
    for row_id, columns in before.items():
        assert {name: after[row_id][name] for name in columns if name != "_state"} == {
            name: columns[name] for name in columns if name != "_state"
        }
    assert versions == list(range(1, 13))


# What is refused

BAD: list[tuple[str, str, Any, set[tuple[str, str]]]] = [
    ("no list", "features", {}, {("/enabled", "required")}),
    (
        "two wrongs",
        "features",
        {"enabled": ["agent_state", CANARY], CANARY: 1},
        {("/enabled/1", "unknown_value"), (f"/{CANARY}", "unknown_member")},
    ),
    (
        "three wrongs at three depths",
        "object-types",
        {
            "types": [
                factories.order_type(fields={"step": {"type": CANARY}}),
                factories.order_type(type="order", agents=["other"]),
                factories.order_type(type="third", agents=[], retention={"state": "forever"}),
            ]
        },
        {
            ("/types/0/fields/step/type", "unknown_value"),
            ("/types/1/type", "not_unique"),
            ("/types/2/retention/state", "wrong_form"),
        },
    ),
    (
        "held back for nothing",
        "masking",
        DEFAULTS["masking"] | {"held_back_everywhere": ["card"], "regions": ["XX"]},
        {("/held_back_everywhere", "required"), ("/regions/0", "unknown_value")},
    ),
    (
        "ends after what it belongs to",
        "retention",
        DEFAULTS["retention"] | {"history": DEFAULTS["retention"]["history"] | {"idle": "90d"}},
        {("/history/idle", "too_large")},
    ),
    ("no policy", "assembly-policy", {"policies": []}, {("/policies", "too_short")}),
]


@pytest.mark.parametrize(
    ("why", "kind", "document", "expected"), BAD, ids=[f"{row[1]}: {row[0]}" for row in BAD]
)
def test_everything_wrong_is_told_at_once(
    aurora: WorkspaceRef,
    security: InProcess,
    why: str,
    kind: str,
    document: Any,
    expected: set[tuple[str, str]],
) -> None:
    """PR-2, PR-3: a bad document is 422 with a pointer for each thing wrong, and no word of what was sent."""
    answer = propose(security, kind, document)
    assert (answer.status, answer.code) == (422, "invalid_document")
    assert expected <= set(problems(answer))
    details = json.dumps([problem["detail"] for problem in answer.body["errors"]])
    assert CANARY not in details
    with access.bound(aurora.id):
        assert not ChangeRequest.objects.filter(kind=kind, status="proposed").exists()
    assert propose(security, kind, live(security, kind)["document"]).status == 201


FORMS: list[tuple[str, dict[str, Any], str]] = [
    ("no reason", {"reason": None}, "/reason"),
    ("an empty reason", {"reason": ""}, "/reason"),
    ("a blank reason", {"reason": "   "}, "/reason"),
    ("a long reason", {"reason": "r" * 501}, "/reason"),
    ("no kind", {"kind": None}, "/kind"),
    ("an unknown kind", {"kind": "settings"}, "/kind"),
    ("a list as document", {"document": []}, "/document"),
    ("version nought", {"replaces": 0}, "/replaces"),
    ("a word as version", {"replaces": "1"}, "/replaces"),
    ("a member of somebody else", {"approve": True}, ""),
    ("a word as drop", {"drop": "order.step"}, "/drop"),
]


@pytest.mark.parametrize(("why", "members", "pointer"), FORMS, ids=[row[0] for row in FORMS])
def test_a_proposal_of_another_form_is_refused(
    aurora: WorkspaceRef, security: InProcess, why: str, members: dict[str, Any], pointer: str
) -> None:
    """PR-2, WM-25: a proposal that has not the documented form is 422 with pointers."""
    body = {name: value for name, value in {**change("masking"), **members}.items() if value is not None}
    answer = security.post(DIFFS, body)
    assert (answer.status, answer.code) == (422, "invalid_input")
    assert pointer in [problem["pointer"] for problem in answer.body["errors"]]
    assert security.post(DIFFS, change("masking")).status == 201


# What is stored


def store(agent: InProcess, scope: dict[str, str] | None = None, **fields: Any) -> dict[str, str]:
    scope = scope or factories.scope()
    answer = agent.write(factories.write(fields, scope=scope))
    assert answer.body["stored"] is True
    return scope


def without(*names: str, **members: Any) -> dict[str, Any]:
    fields = {name: field for name, field in factories.ORDER_TYPE["fields"].items() if name not in names}
    retention = {name: time for name, time in factories.ORDER_TYPE["retention"].items() if name not in names}
    return {"types": [factories.order_type(fields=fields, retention=retention, **members)]}


def test_a_field_that_states_hold_is_not_lost_by_mistake(
    aurora: WorkspaceRef, agent: InProcess, security: InProcess
) -> None:
    """PR-3: removing held fields is refused with each of them, until `drop` names them all."""
    store(agent, step="cart", qty=1)
    store(agent, qty=2)
    document = without("step", "qty", "total")
    for drop, left in (
        ([], {"step", "qty"}),
        (["order.step"], {"qty"}),
        (["order.total", "other.step"], {"step", "qty"}),
    ):
        answer = propose(security, "object-types", document, drop=drop)
        assert (answer.status, answer.code) == (422, "invalid_document")
        assert problems(answer) == [(f"/types/0/fields/{name}", "field_held") for name in sorted(left)], (
            "A field that no state holds needs no drop."
        )
    counts = [problem["detail"] for problem in propose(security, "object-types", document).body["errors"]]
    assert ["2 states" in counts[0], "1 states" in counts[1]] == [True, True]
    assert publish(security, "object-types", document, drop=["order.step", "order.qty"]).status == 200
    entry = acts(aurora, "document.publish")[-1]
    assert sorted(entry.facts["drop"]) == ["order.qty", "order.step"]


def test_the_audit_keeps_of_drop_only_what_was_dropped(
    aurora: WorkspaceRef, agent: InProcess, security: InProcess
) -> None:
    """PR-23: what somebody wrote into `drop` is no way into the audit."""
    store(agent, step="cart")
    publish(security, "object-types", without("step"), drop=["order.step", "order.canary_zq7x"])
    with access.bound(aurora.id):
        entries = [f"{vars(entry)}" for entry in AuditEntry.objects.all()]
    assert not [entry for entry in entries if "canary_zq7x" in entry]


def test_a_dropped_field_is_served_no_more_and_the_rest_is(
    aurora: WorkspaceRef, agent: InProcess, security: InProcess
) -> None:
    """PR-3: from the publication on the dropped field is gone from reads; the others stay, at the same version."""
    scope = store(agent, step="cart", qty=1)
    publish(security, "object-types", without("qty"), drop=["order.qty"])
    read = agent.read(scope).body
    assert (read["body"], read["version"]) == ({"step": "cart"}, 1)


def test_states_decide_at_the_publication_too(
    aurora: WorkspaceRef, agent: InProcess, security: InProcess
) -> None:
    """PR-3: a proposal that broke nothing is refused when states hold the field by the time it is published."""
    proposed = propose(security, "object-types", without("qty"))
    assert proposed.status == 201
    store(agent, qty=1)
    answer = approve(security, proposed)
    assert (answer.status, answer.code, problems(answer)) == (
        422,
        "invalid_document",
        [("/types/0/fields/qty", "field_held")],
    )
    assert "qty" in live(security, "object-types")["document"]["types"][0]["fields"]


def test_agents_left_without_a_type_are_named(
    aurora: WorkspaceRef, agent: InProcess, security: InProcess
) -> None:
    """PR-3: a version in which agents with states have no type any more names each, and how many states it has."""
    scope = store(agent, step="cart")
    store(agent, step="cart")
    other = factories.order_type(type="other", agents=["somebody"])
    left = {"types": [factories.order_type(agents=["nobody"]), other]}
    proposed = propose(security, "object-types", left)
    assert proposed.body["effects"]["untyped"] == [{"agent": "order-taker", "states": 2}]
    assert agent.read(scope).body["body"] == {"step": "cart"}
    assert approve(security, proposed).status == 200
    assert agent.read(scope).body["body"] == {}
    back = propose(security, "object-types", {"types": [factories.ORDER_TYPE, other]})
    assert back.body["effects"]["untyped"] == []
    assert approve(security, back).status == 200
    assert agent.read(scope).body["body"] == {"step": "cart"}


def test_a_type_is_removed_only_with_all_that_it_holds(
    aurora: WorkspaceRef, agent: InProcess, security: InProcess
) -> None:
    """PR-3: removing a whole type is refused with each held field; with all of them in `drop` it goes."""
    store(agent, step="cart", qty=1)
    answer = propose(security, "object-types", {"types": []})
    assert (answer.status, problems(answer)) == (422, [("/types", "field_held")] * 2)
    gone = propose(security, "object-types", {"types": []}, drop=["order.step", "order.qty"])
    assert (gone.status, gone.body["effects"]["untyped"]) == (201, [{"agent": "order-taker", "states": 1}])
    assert approve(security, gone).status == 200


# Reasons


def test_a_reason_is_kept_without_what_detectors_find(aurora: WorkspaceRef, security: InProcess) -> None:
    """PR-23: a reason that holds an address or a card is masked before it is stored anywhere."""
    reason = "Asked by ana@example.com, card 4111 1111 1111 1111"
    publish(security, "masking", reason=reason)
    with access.bound(aurora.id):
        kept = [
            *ChangeRequest.objects.filter(kind="masking").values_list("reason", flat=True),
            *Document.objects.filter(kind="masking", version__gt=1).values_list("reason", flat=True),
            *AuditEntry.objects.filter(object_id="masking").values_list("reason", flat=True),
        ]
    assert len(kept) == 4
    assert len(set(kept)) == 1
    assert "Asked by" in kept[0]
    assert not [text for text in kept if "ana@" in text or "1111" in text[:-4]]


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({"replaces": 7}, WrongVersion),
        ({"reason": " "}, InvalidInput),
        ({"document": {"regions": []}}, InvalidDocument),
        ({"kind": "settings"}, NotFound),
    ],
)
def test_the_service_refuses_what_the_api_refuses(
    aurora: WorkspaceRef, members: dict[str, Any], error: type[Problem]
) -> None:
    """PR-2: what the console and commands call goes through the same gate as the API."""
    parts = {"kind": "masking", "document": DEFAULTS["masking"], "reason": "r", "replaces": 1, **members}
    with access.bound(aurora.id), pytest.raises(error):
        services.change_document(
            wish=ChangeWish(**parts), person_id=None, actor=factories.SYSTEM, now=timezone.now()
        )
