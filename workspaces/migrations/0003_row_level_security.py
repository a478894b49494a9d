"""Rows of another workspace are refused to every query of the application's role (PL-1)."""

from django.db import migrations

from workspaces.postgresql.policies import isolate, look_across

TABLES = (
    "workspaces_apikey",
    "workspaces_auditentry",
    "workspaces_audithead",
    "workspaces_document",
    "workspaces_documentchange",
    "workspaces_documenthead",
    "workspaces_handle",
    "workspaces_invitation",
    "workspaces_membership",
    "workspaces_personaltoken",
    "workspaces_profile",
    "workspaces_rememberedanswer",
    "workspaces_retiredkey",
    "workspaces_role",
    "workspaces_source",
)


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0002_audit_append_only")]
    operations = [
        *(isolate(table) for table in TABLES),
        isolate("workspaces_wrappedkey", database="keys"),
        look_across(
            "lastro_api_key",
            takes="text",
            gives="TABLE (key workspaces_apikey, source_name text)",
            query="SELECT k, s.name::text FROM workspaces_apikey k JOIN workspaces_source s ON s.id = k.source_id"
            " WHERE k.key_id = $1",
        ),
        look_across(
            "lastro_personal_token",
            takes="text",
            gives="SETOF workspaces_personaltoken",
            query="SELECT * FROM workspaces_personaltoken WHERE key_id = $1",
        ),
        look_across(
            "lastro_invitation",
            takes="bytea",
            gives="SETOF workspaces_invitation",
            query="SELECT * FROM workspaces_invitation WHERE token_hash = $1",
        ),
        look_across(
            "lastro_workspaces_of",
            takes="uuid",
            gives="TABLE (workspace_id uuid)",
            query="SELECT workspace_id FROM workspaces_membership WHERE person_id = $1",
        ),
        look_across(
            "lastro_with_old_answers",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query="SELECT DISTINCT workspace_id FROM workspaces_rememberedanswer WHERE made_at < $1",
        ),
        look_across(
            "lastro_with_retired_keys",
            takes="",
            gives="TABLE (workspace_id uuid)",
            query="SELECT DISTINCT workspace_id FROM workspaces_retiredkey",
        ),
    ]
