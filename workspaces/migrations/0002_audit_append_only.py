"""The audit refuses UPDATE, DELETE and TRUNCATE, to its owner too (PR-22)."""

from django.db import migrations

TABLES = ("workspaces_auditentry", "workspaces_deploymentauditentry")

FORWARD = """
CREATE FUNCTION lastro_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
""" + "".join(
    f"""
CREATE TRIGGER append_only_rows BEFORE UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION lastro_audit_refuse();
CREATE TRIGGER append_only_table BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION lastro_audit_refuse();
"""
    for table in TABLES
)

BACKWARD = (
    "".join(
        f"DROP TRIGGER append_only_rows ON {table}; DROP TRIGGER append_only_table ON {table};"
        for table in TABLES
    )
    + "DROP FUNCTION lastro_audit_refuse();"
)


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
