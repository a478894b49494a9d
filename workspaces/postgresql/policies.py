"""Row-level security for the migrations: one line for each table (PL-1)."""

from django.db.migrations import RunSQL

ENABLE = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_the_workspace ON {table}
    USING (workspace_id = NULLIF(current_setting('lastro.workspace', true), '')::uuid)
    WITH CHECK (workspace_id = NULLIF(current_setting('lastro.workspace', true), '')::uuid);
"""
DISABLE = """
DROP POLICY of_the_workspace ON {table};
ALTER TABLE {table} DISABLE ROW LEVEL SECURITY;
"""


def isolate(table: str, *, database: str = "default") -> RunSQL:
    """Keep the rows of a table to the workspace that a transaction is bound to."""
    return RunSQL(ENABLE.format(table=table), DISABLE.format(table=table), hints={"database": database})


def look_across(name: str, *, takes: str, gives: str, query: str) -> RunSQL:
    """Make a function of the owner that answers one question across workspaces, with no more than its answer.

    `takes` are the types of what it takes: `$1`, `$2` in the query. Only roles that were let in may call it.
    """
    forward = f"""
CREATE FUNCTION {name}({takes}) RETURNS {gives} LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = public, pg_temp AS $function$ {query} $function$;
REVOKE EXECUTE ON FUNCTION {name}({takes}) FROM PUBLIC;
"""
    return RunSQL(forward, f"DROP FUNCTION {name}({takes});")
