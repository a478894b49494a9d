"""The database itself refuses rows of another workspace, to a query that no manager scopes (PL-1)."""

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.apps import apps
from django.db import DatabaseError, connections, transaction

from tests.database import ALIASES, logged_in, rows, tables
from tests.tables.isolation import WITHOUT_WORKSPACE
from tests.workspaces.cast import Cast
from workspaces import access
from workspaces.models import WorkspaceRow
from workspaces.postgresql.router import KEY_MODELS
from workspaces.types import WorkspaceRef

ROWS_OF_WORKSPACES = [model for model in apps.get_models() if issubclass(model, WorkspaceRow)]
AUDIT = ("workspaces_auditentry", "workspaces_deploymentauditentry")
HEADS = ("workspaces_audithead", "workspaces_deploymentaudithead")
TELL = "SELECT set_config('lastro.workspace', %s, true)"

each_table = pytest.mark.parametrize("model", ROWS_OF_WORKSPACES, ids=lambda model: model.__name__)
each_database = pytest.mark.parametrize("alias", ALIASES)


def alias_of(model: type[WorkspaceRow]) -> str:
    return "keys" if model._meta.label_lower in KEY_MODELS else "default"


class Raw:
    """A connection as the application's role, without the managers and without the binding."""

    def __init__(self, model: type[WorkspaceRow]) -> None:
        self.alias, self.table = alias_of(model), model._meta.db_table

    def do(self, statement: str, *values: Any, workspace: UUID | None) -> psycopg.Cursor[Any]:
        """Run one statement in a transaction that is told a workspace, or none."""
        with logged_in(self.alias) as connection, connection.transaction():
            if workspace is not None:
                connection.execute(TELL, [str(workspace)])
            return connection.execute(statement.format(self.table), values or None)

    def workspaces(self, *, workspace: UUID | None) -> set[UUID]:
        """Give whose rows are seen."""
        return {row[0] for row in self.do("SELECT workspace_id FROM {}", workspace=workspace).fetchall()}


@each_database
def test_every_table_is_isolated_or_has_a_reason(db: None, alias: str) -> None:
    """PL-1: each table has a workspace, row-level security and a policy, or stands on the list; none is our role's."""
    found = tables(alias)
    isolated = {table.name for table in found if table.workspace and table.row_security and table.policy}
    assert {table.name for table in found} - isolated <= WITHOUT_WORKSPACE.keys()
    assert isolated.isdisjoint(WITHOUT_WORKSPACE)
    models = {model._meta.db_table for model in ROWS_OF_WORKSPACES if alias_of(model) == alias}
    assert isolated == models
    assert not [table.name for table in found if table.own]


def test_no_reason_is_stale(db: None) -> None:
    """PL-1: a reason for a table that is not there, or is isolated, fails."""
    found = [table for alias in ALIASES for table in tables(alias)]
    assert {table.name for table in found if not table.policy} == WITHOUT_WORKSPACE.keys()
    assert all(WITHOUT_WORKSPACE.values())


@each_table
def test_rows_are_seen_in_their_workspace_alone(cast: Cast, model: type[WorkspaceRow]) -> None:
    """PL-1: without a workspace nothing is seen, with another nothing of ours, with ours its rows and no others."""
    raw = Raw(model)
    assert raw.workspaces(workspace=cast.workspace.id) == {cast.workspace.id}
    assert raw.workspaces(workspace=None) == set()
    assert raw.workspaces(workspace=uuid4()) == set()
    assert raw.do("SELECT set_config('lastro.workspace', '', true)", workspace=None).fetchall()
    with logged_in(raw.alias, owner=True) as owner:
        assert owner.execute(f"SELECT 1 FROM {raw.table}").fetchone(), "Nothing was hidden."  # noqa: S608


@each_table
def test_rows_of_another_workspace_are_not_changed(cast: Cast, model: type[WorkspaceRow]) -> None:
    """PL-1: what is not seen is not updated nor deleted, under another workspace or under none."""
    if model._meta.db_table in AUDIT:
        pytest.skip("The role may change no entry at all: the test of the audit's privileges shows it.")
    raw = Raw(model)
    for workspace in (None, uuid4()):
        statements = ["UPDATE {} SET workspace_id = workspace_id"]
        if model._meta.db_table not in HEADS:
            statements.append("DELETE FROM {}")
        for statement in statements:
            assert raw.do(statement, workspace=workspace).rowcount == 0


@each_table
def test_a_row_is_not_written_into_another_workspace(cast: Cast, model: type[WorkspaceRow]) -> None:
    """PL-1: INSERT and UPDATE into another workspace than the bound one are refused, and without one too."""
    raw, row = Raw(model), "jsonb_build_object('workspace_id', %s::uuid, 'id', {id})"
    new = row.format(id="gen_random_uuid()" if "uuid" in type(model._meta.pk).__name__.lower() else "-1")
    insert = f"INSERT INTO {{0}} SELECT (jsonb_populate_record(NULL::{{0}}, {new})).*"
    for workspace in (None, cast.workspace.id):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            raw.do(insert, uuid4(), workspace=workspace)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        raw.do("UPDATE {} SET workspace_id = %s", uuid4(), workspace=cast.workspace.id)


ROLE = """
SELECT rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication FROM pg_roles
WHERE rolname = current_user
"""
OWNED = """
SELECT relname::text FROM pg_class WHERE relowner = current_user::regrole
UNION ALL SELECT proname FROM pg_proc WHERE proowner = current_user::regrole
UNION ALL SELECT nspname FROM pg_namespace WHERE nspowner = current_user::regrole
UNION ALL SELECT datname FROM pg_database WHERE datdba = current_user::regrole
"""
MEMBER = """
SELECT rolname FROM pg_roles WHERE rolname <> current_user AND rolname !~ '^pg_'
AND pg_has_role(current_user, oid, 'MEMBER')
"""


@each_database
def test_the_role_owns_nothing_and_is_above_nothing(db: None, alias: str) -> None:
    """PL-1: the application's role is no superuser, passes by no policy, owns nothing and becomes nobody."""
    assert rows(alias, ROLE) == [(False,)]
    assert rows(alias, OWNED) == []
    assert rows(alias, MEMBER) == []


FORBIDDEN = {
    "UPDATE {} SET act = act": "permission denied",
    "DELETE FROM {}": "permission denied",
    "TRUNCATE {}": "permission denied",
    "DROP TRIGGER append_only_rows ON {}": "must be owner",
    "ALTER TABLE {} DISABLE TRIGGER USER": "must be owner",
    "ALTER TABLE {} DISABLE ROW LEVEL SECURITY": "must be owner",
    "DROP TABLE {}": "must be owner",
}


@pytest.mark.parametrize("table", AUDIT)
@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_role_only_adds_to_the_audit(db: None, table: str, statement: str) -> None:
    """PR-22: the application's role may read and add entries, and neither change them nor what guards them."""
    with pytest.raises(DatabaseError, match=FORBIDDEN[statement]), transaction.atomic():
        rows("default", statement.format(table))


FORBIDDEN_ON_HEADS = {
    "DELETE FROM {}": "permission denied",
    "TRUNCATE {}": "permission denied",
    "UPDATE {} SET base_seq = base_seq + 1": "not moved by hand",
    "UPDATE {} SET base_hash = hash": "not moved by hand",
    "UPDATE {} SET base_checkpoint = '{{}}'": "not moved by hand",
    "DROP TRIGGER base_is_kept ON {}": "must be owner",
}


@pytest.mark.parametrize("table", HEADS)
@pytest.mark.parametrize("statement", FORBIDDEN_ON_HEADS)
def test_the_role_moves_a_head_and_no_base(db: None, cast: Cast, table: str, statement: str) -> None:
    """PR-22: the application's role moves the head of a chain on, removes none, and never moves where one begins."""
    if "UPDATE" in statement:
        rows(
            "default",
            "INSERT INTO workspaces_deploymentaudithead (id, seq, hash) VALUES (1, 0, '')"
            " ON CONFLICT DO NOTHING RETURNING 1",
        )
    with (
        access.bound(cast.workspace.id),
        pytest.raises(DatabaseError, match=FORBIDDEN_ON_HEADS[statement]),
        transaction.atomic(),
    ):
        rows("default", statement.format(table))


@pytest.mark.parametrize("kind", ["", "deployment_"])
def test_the_role_removes_no_part_of_the_audit(db: None, kind: str) -> None:
    """PR-22: the function that removes the beginning of a chain is not the application's to call."""
    with pytest.raises(DatabaseError, match="permission denied for function"), transaction.atomic():
        rows("default", f"SELECT lastro_maintain_prune_{kind}audit('deployment', '{{}}')")


@each_database
@pytest.mark.parametrize(
    "statement",
    ["SET ROLE lastro_owner", "CREATE TABLE public.mine (id int)", "DROP POLICY of_the_workspace ON {}"],
)
def test_the_role_cannot_help_itself(db: None, alias: str, statement: str) -> None:
    """PL-1: it becomes no other role, makes no table that it would own, and lifts no policy."""
    table = {"default": "workspaces_profile", "keys": "workspaces_wrappedkey"}[alias]
    with (
        pytest.raises(DatabaseError, match=r"permission denied|must be owner"),
        transaction.atomic(using=alias),
    ):
        rows(alias, statement.format(table))


def test_the_roles_of_the_two_databases_are_apart(db: None) -> None:
    """PR-15: the role of the content opens no key, and the role of the keys no content."""
    for alias, other, table in (
        ("default", "keys", "workspaces_wrappedkey"),
        ("keys", "default", "agentstate_state"),
    ):
        there = connections[other].settings_dict["NAME"]
        with (
            logged_in(alias, dbname=there) as stranger,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            stranger.execute(f"SELECT 1 FROM {table}")  # noqa: S608


DEFINERS = """
SELECT proname, proconfig, pg_get_userbyid(proowner) = current_user,
    EXISTS (SELECT FROM aclexplode(proacl) a WHERE a.grantee = 0), pg_get_function_result(oid)
FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef
"""
IDS_ONLY = "TABLE(workspace_id uuid)"
GIVES = {
    "lastro_api_key": "TABLE(key workspaces_apikey, source_name text)",
    "lastro_personal_token": "SETOF workspaces_personaltoken",
    "lastro_invitation": "SETOF workspaces_invitation",
    "lastro_workspaces_of": IDS_ONLY,
    "lastro_with_old_answers": IDS_ONLY,
    "lastro_with_due_checkpoints": IDS_ONLY,
    "lastro_with_retired_keys": IDS_ONLY,
    "lastro_with_due_states": IDS_ONLY,
    "lastro_with_old_traces": IDS_ONLY,
    "lastro_with_due_history": IDS_ONLY,
    "lastro_with_due_graphs": IDS_ONLY,
    "lastro_with_loose_blobs": IDS_ONLY,
    "lastro_with_old_usage": IDS_ONLY,
    "lastro_with_erasures": IDS_ONLY,
    "lastro_with_ended_holds": IDS_ONLY,
    "lastro_with_overdue_erasures": IDS_ONLY,
    "lastro_maintain_prune_audit": "bigint",
    "lastro_maintain_prune_deployment_audit": "bigint",
    "lastro_with_due_changes": IDS_ONLY,
    "lastro_with_packages_to_build": IDS_ONLY,
    "lastro_with_packages_to_sweep": IDS_ONLY,
    "lastro_with_package_link": IDS_ONLY,
}


def test_what_looks_across_gives_no_more_than_its_answer(db: None) -> None:
    """PL-1: each function of the owner has its search path, is closed to PUBLIC, and gives one row, or ids alone."""
    found = {
        name: (config, own, public, gives) for name, config, own, public, gives in rows("default", DEFINERS)
    }
    assert {name: gives for name, (*_, gives) in found.items()} == GIVES
    assert {tuple(config) for config, *_ in found.values()} == {("search_path=public, pg_temp",)}
    assert not [name for name, (_, own, public, _) in found.items() if own or public]
    assert rows("keys", DEFINERS) == []


def test_a_key_is_found_by_its_whole_id_alone(cast: Cast) -> None:
    """PL-1: the function of keys gives one row for an id, and nothing for a part of one or a pattern."""
    with logged_in("default") as connection, logged_in("default", owner=True) as owner:
        key = owner.execute("SELECT key_id FROM workspaces_apikey LIMIT 1").fetchone()
        assert key is not None
        found = {
            text: len(connection.execute("SELECT * FROM lastro_api_key(%s)", [text]).fetchall())
            for text in (key[0], key[0][:-1], "%", "", None)
        }
    assert found == {key[0]: 1, key[0][:-1]: 0, "%": 0, "": 0, None: 0}


def test_a_query_that_forgot_sees_nothing(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-1: a query past the managers sees the bound workspace alone, and without one nothing."""

    def seen() -> set[UUID]:
        return {row[0] for row in rows("default", "SELECT workspace_id FROM workspaces_document")}

    assert seen() == set()
    for workspace in (aurora, boreal):
        with access.bound(workspace.id):
            assert seen() == {workspace.id}
