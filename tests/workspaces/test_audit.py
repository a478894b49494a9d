"""The audit: every act once, nothing changed afterwards, and no act without it (PR-21, PR-22, PR-24)."""

import ast
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from tests import factories
from tests.api import InProcess
from tests.workspaces.acts import (
    ACTOR,
    ACTS,
    ALL_ACTS,
    ENTRIES,
    OUTSIDE,
    REASON,
    TWO_ENTRIES,
    Act,
    Ground,
    bound_to,
    make_ground,
    settle,
    switch,
)
from tests.workspaces.cast import Cast
from workspaces import access, audit
from workspaces.models import AuditEntry, DeploymentAuditEntry
from workspaces.types import WorkspaceRef

PROJECT = Path(__file__).resolve().parents[2]
APPS = ("agentstate", "assembly", "console", "history", "privacy", "workspaces")
TABLES = (ENTRIES, OUTSIDE)
AUDIT = {*TABLES, "workspaces_audithead", "workspaces_deploymentaudithead"}

each_act = pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name)


@pytest.fixture
def ground(db: None, cast: Cast) -> Ground:
    with access.bound(cast.workspace.id):
        return make_ground(cast)


def _created(workspace: WorkspaceRef) -> list[AuditEntry]:
    with access.bound(workspace.id):
        return list(AuditEntry.objects.filter(act="workspace.create"))


def entries_of(act: Act, ground: Ground) -> list[Any]:
    """List the entries of the chain on which an act belongs."""
    if act.outside:
        return list(DeploymentAuditEntry.objects.order_by("seq"))
    if act.name == "workspace.create":
        found = [entry for workspace in access.every_workspace() for entry in _created(workspace)]
        return sorted(found, key=lambda entry: entry.at)
    with access.bound(ground.cast.workspace.id):
        return list(AuditEntry.objects.order_by("seq"))


@each_act
def test_each_act_writes_one_entry(ground: Ground, act: Act) -> None:
    """PR-21: who, from where, what, on what and why stand in exactly one entry."""
    before = len(entries_of(act, ground))
    bound_to(ground, act.deed)
    (entry,) = entries_of(act, ground)[before:]
    assert (entry.act, entry.object_kind, entry.result) == (act.name, act.on, "done")
    assert entry.object_id
    assert (entry.address, entry.request_id) == (ACTOR.address, ACTOR.request_id)
    who = ground.person if act.outside and act.on == "person" else ACTOR
    assert entry.actor_id == str(who.id)
    assert act.outside or tuple(entry.actor_roles) == ACTOR.roles
    assert entry.reason == (REASON if act.with_reason else "")
    assert timezone.now() - entry.at < timedelta(minutes=1)


@pytest.mark.parametrize("name", TWO_ENTRIES)
def test_a_switch_is_proposed_and_done(ground: Ground, name: str) -> None:
    """PR-21: a switched feature leaves its proposal and its switch, each with the reason."""
    with access.bound(ground.cast.workspace.id):
        switch("context", on=False)
        before = AuditEntry.objects.latest("seq").seq
        TWO_ENTRIES[name](ground)
        acts = list(AuditEntry.objects.filter(seq__gt=before).order_by("seq").values_list("act", "reason"))
    assert acts == [("document.propose", REASON), (name, REASON)]


TRIED_ELSEWHERE = {
    "audit.prune": "The owner of the tables does it: tests/workspaces/test_audit_prune.py.",
    "restore.accept": "It takes a database that was set back: tests/workspaces/test_checkpoints.py.",
    "audit.export": "The console does it while it streams: tests/console/test_audit_pages.py.",
    "admin.read": "Django's admin does it, where it is served: tests/console/test_admin.py.",
}


def test_every_act_in_the_code_is_tried() -> None:
    """PR-21: an act that a service records and no test does fails here."""
    named = set()
    for path in (path for app in APPS for path in (PROJECT / app).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in {"record", "record_outside"}:
                named |= {*_acts(node.args[0])}
    assert named <= ALL_ACTS | TRIED_ELSEWHERE.keys() | {"key.*", "document.*"}
    assert len(named) > 10


def _acts(word: ast.expr) -> Iterator[str]:
    if isinstance(word, ast.Constant):
        yield str(word.value)


def test_the_caller_of_the_api_is_named(aurora: WorkspaceRef) -> None:
    """PR-21: a person by a token and a source by a key are named with the id of the credential and the address."""
    person = factories.make_person(aurora, "support")
    callers = {
        "token": (factories.make_token(aurora, person, "find_profiles"), person.email),
        "key": (factories.make_key(aurora, "admin", source="crm", name="nightly"), "crm (nightly)"),
    }
    for kind, (text, name) in callers.items():
        InProcess(text).post("/v1/profiles/search", {"query": "p_x"}, **{"X-Request-Id": f"by-{kind}"})
        with access.bound(aurora.id):
            entry = AuditEntry.objects.latest("seq")
        assert (entry.actor_kind, entry.actor_name, entry.address) == (kind, name, "127.0.0.1")
        assert entry.actor_roles == (["support"] if kind == "token" else [])
        assert entry.request_id == f"by-{kind}"


# Nothing changes afterwards


@pytest.mark.owner
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {} SET act = act",
        "UPDATE {} SET reason = 'another' WHERE seq = 1",
        "DELETE FROM {}",
        "DELETE FROM {} WHERE seq = 1",
        "TRUNCATE {}",
        "TRUNCATE {} CASCADE",
        "INSERT INTO {0} SELECT * FROM {0} ON CONFLICT (id) DO UPDATE SET act = 'x'",
    ],
)
def test_the_database_refuses_every_change(ground: Ground, table: str, statement: str) -> None:
    """PR-22: UPDATE, DELETE and TRUNCATE are refused to the role that the application uses, whatever they name."""
    bound_to(ground, ACTS[-1].deed)
    settle()
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement.format(table))


def test_the_models_are_refused_too(ground: Ground) -> None:
    """PR-22: no way of the application changes an entry."""
    with access.bound(ground.cast.workspace.id):
        entry = AuditEntry.objects.latest("seq")
        entry.reason = "another"
        for deed in (entry.save, entry.delete, AuditEntry.objects.all().delete):
            with pytest.raises(DatabaseError), transaction.atomic():
                deed()
        with pytest.raises(DatabaseError), transaction.atomic():
            AuditEntry.objects.update(act="x")


def test_an_entry_outside_the_transaction_of_its_act_is_refused(committed: None) -> None:
    """PR-24: an entry that could stand without its act, or the act without it, is a fault of the code."""
    workspace = factories.make_workspace()
    with access.bound(workspace.id):
        for record in (audit.record, audit.record_outside):
            with pytest.raises(audit.ActWithoutTransaction):
                record("thing.do", actor=ACTOR, now=timezone.now())


def contents() -> dict[str, str]:
    """Give a digest of every table but the audit's."""
    found = {}
    with connection.cursor() as cursor:
        tables = [name for name in connection.introspection.table_names(cursor) if name not in AUDIT]
        for table in tables:
            cursor.execute(f"SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {table} t")  # noqa: S608
            found[table] = cursor.fetchone()[0]
    return found


def break_the_audit() -> None:
    """Make the database refuse every new entry, until the transaction of the test ends."""
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(
                f"CREATE TRIGGER broken BEFORE INSERT ON {table} EXECUTE FUNCTION lastro_audit_refuse()"
            )


ONLY_WRITTEN_DOWN = {
    "profile.find",
    "profile.view",
    "person.sign_in",
    "person.sign_out",
    "person.new_password",
}

DEEDS: dict[str, Callable[[Ground], Any]] = {act.name: act.deed for act in ACTS} | TWO_ENTRIES


@pytest.mark.owner
@pytest.mark.parametrize("name", DEEDS)
def test_an_act_that_cannot_be_written_down_does_not_happen(ground: Ground, name: str) -> None:
    """PR-24: with the audit refusing, every act fails and every table is as it was; with it mended, it happens."""
    before = contents()
    with transaction.atomic():
        settle()
        break_the_audit()
        with pytest.raises(DatabaseError), transaction.atomic():
            bound_to(ground, DEEDS[name])
        assert contents() == before
        transaction.set_rollback(True)
    bound_to(ground, DEEDS[name])
    if name not in ONLY_WRITTEN_DOWN:
        assert contents() != before


@pytest.mark.owner
def test_a_caller_is_told_that_the_act_did_not_happen(aurora: WorkspaceRef) -> None:
    """PR-24: over the API an act without its entry is an error, and nothing of it is there afterwards."""
    person = factories.make_person(aurora, "security")
    api = InProcess(factories.make_token(aurora, person, "propose_documents"))
    body = {"kind": "masking", "document": api.get("/v1/config/masking").body["document"], "reason": "Why"}
    before = contents()
    settle()
    break_the_audit()
    answer = api.post("/v1/config/diffs", body)
    assert (answer.status, answer.code) == (500, "internal_error")
    assert contents() == before


def test_reasons_are_masked_by_the_detectors(aurora: WorkspaceRef) -> None:
    """PR-23: what detectors find in a reason is not in the entry; the rest of it is."""
    reason = "  Asked by ana@example.com, card 4111111111111111  "
    with access.bound(aurora.id), transaction.atomic():
        entry = audit.record("thing.do", actor=ACTOR, now=timezone.now(), reason=reason)
    assert entry.reason.startswith("Asked by ")
    assert "ana@" not in entry.reason
    assert "4111111" not in entry.reason
