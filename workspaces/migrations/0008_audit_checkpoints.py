"""Where a chain begins, what its last verification found, and how alone a prefix of it is removed (PR-22)."""

from django.db import migrations, models

HEADS = {"audithead": "workspaces_audithead", "deploymentaudithead": "workspaces_deploymentaudithead"}

FIELDS = {
    "base_seq": models.PositiveBigIntegerField(db_default=0, default=0),
    "base_hash": models.BinaryField(db_default=bytes(32), default=bytes(32), max_length=32),
    "base_checkpoint": models.JSONField(null=True),
    "verified_at": models.DateTimeField(null=True),
    "verified_seq": models.PositiveBigIntegerField(db_default=0, default=0),
    "finding": models.TextField(db_default="", default=""),
}

# An entry goes only when the base of its chain stands at it or behind it.
REFUSE = """
CREATE OR REPLACE FUNCTION lastro_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'workspaces_auditentry' THEN
        IF EXISTS (SELECT FROM workspaces_audithead h WHERE h.workspace_id = OLD.workspace_id AND h.base_seq >= OLD.seq)
        THEN RETURN OLD; END IF;
    ELSIF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM workspaces_deploymentaudithead h WHERE h.base_seq >= OLD.seq)
        THEN RETURN OLD; END IF;
    END IF;
    RAISE EXCEPTION 'the audit is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
"""

REFUSE_ALL = """
CREATE OR REPLACE FUNCTION lastro_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
"""

# Inside the owner's own function the current user is the owner.
KEEP_BASE = """
CREATE FUNCTION lastro_audit_keep_base() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.base_seq, NEW.base_hash, NEW.base_checkpoint::text)
        IS DISTINCT FROM (OLD.base_seq, OLD.base_hash, OLD.base_checkpoint::text)
        AND current_user::regrole <> (SELECT relowner FROM pg_class WHERE oid = TG_RELID)
    THEN
        RAISE EXCEPTION 'the base of an audit chain is not moved by hand' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;
""" + "".join(
    f"""
CREATE TRIGGER base_is_kept BEFORE UPDATE OF base_seq, base_hash, base_checkpoint ON {table}
    FOR EACH ROW EXECUTE FUNCTION lastro_audit_keep_base();
"""
    for table in HEADS.values()
)

DROP_KEEP_BASE = (
    "".join(f"DROP TRIGGER base_is_kept ON {table};" for table in HEADS.values())
    + "DROP FUNCTION lastro_audit_keep_base();"
)

PRUNE = """
CREATE FUNCTION {name}(chain text, checkpoint jsonb) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = public, pg_temp AS $function$
DECLARE
    upto bigint := (checkpoint ->> 'seq')::bigint;
    head {heads};
    removed bigint;
BEGIN
    SELECT * INTO STRICT head FROM {heads} WHERE {of_head} FOR UPDATE;
    IF checkpoint ->> 'kind' IS DISTINCT FROM 'checkpoint'
        OR checkpoint ->> 'chain' IS DISTINCT FROM chain
        OR length(checkpoint ->> 'signature') IS DISTINCT FROM 88
        OR NOT EXISTS (SELECT FROM workspaces_signingkey WHERE id = checkpoint ->> 'key_id')
    THEN
        RAISE EXCEPTION 'no signed checkpoint of this chain' USING ERRCODE = 'check_violation';
    END IF;
    IF upto IS NULL OR upto <= head.base_seq OR upto > head.seq OR NOT EXISTS (
        SELECT FROM {entries} WHERE {of_entry} AND seq = upto AND hash = decode(checkpoint ->> 'hash', 'hex'))
    THEN
        RAISE EXCEPTION 'the checkpoint does not stand in this chain' USING ERRCODE = 'check_violation';
    END IF;
    UPDATE {heads} SET base_seq = upto, base_hash = decode(checkpoint ->> 'hash', 'hex'), base_checkpoint = checkpoint
        WHERE {of_head};
    DELETE FROM {entries} WHERE {of_entry} AND seq <= upto;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$function$;
REVOKE EXECUTE ON FUNCTION {name}(text, jsonb) FROM PUBLIC;
"""

OF_WORKSPACE = PRUNE.format(
    name="lastro_maintain_prune_audit",
    heads="workspaces_audithead",
    entries="workspaces_auditentry",
    of_head="workspace_id = chain::uuid",
    of_entry="workspace_id = chain::uuid",
)
OF_DEPLOYMENT = PRUNE.format(
    name="lastro_maintain_prune_deployment_audit",
    heads="workspaces_deploymentaudithead",
    entries="workspaces_deploymentauditentry",
    of_head="id = 1",
    of_entry="chain = 'deployment'",
)
DROP_PRUNE = "DROP FUNCTION {}(text, jsonb);"


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0007_outgoing")]
    operations = [
        *(
            migrations.AddField(model_name=model, name=name, field=field)
            for model in HEADS
            for name, field in FIELDS.items()
        ),
        migrations.RunSQL(REFUSE, REFUSE_ALL),
        migrations.RunSQL(KEEP_BASE, DROP_KEEP_BASE),
        migrations.RunSQL(OF_WORKSPACE, DROP_PRUNE.format("lastro_maintain_prune_audit")),
        migrations.RunSQL(OF_DEPLOYMENT, DROP_PRUNE.format("lastro_maintain_prune_deployment_audit")),
    ]
