"""A key can be given a new secret; what it wraps moves over while requests go on (PL-12)."""

from django.db import migrations, models

# A process may still know the secret that was replaced: it wraps nothing any more. Without this, what it wrapped after
# the last look would be lost with that secret.
GUARD = """
CREATE FUNCTION lastro_wrapped_by_the_newest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM workspaces_wrappedkey k WHERE k.id = NEW.wrapped_by AND k.generation <> NEW.under
    ) THEN
        RAISE EXCEPTION 'the key that wraps has a new secret' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER wrapped_by_the_newest BEFORE INSERT OR UPDATE OF wrapped_by, under, wrapped ON workspaces_wrappedkey
    FOR EACH ROW WHEN (NEW.wrapped_by IS NOT NULL) EXECUTE FUNCTION lastro_wrapped_by_the_newest();
"""

NO_GUARD = """
DROP TRIGGER wrapped_by_the_newest ON workspaces_wrappedkey;
DROP FUNCTION lastro_wrapped_by_the_newest();
"""


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0009_barriers")]
    operations = [
        migrations.AddField("wrappedkey", "generation", models.PositiveIntegerField(db_default=0, default=0)),
        migrations.AddField("wrappedkey", "under", models.PositiveIntegerField(db_default=0, default=0)),
        migrations.AddField("wrappedkey", "previous", models.BinaryField(max_length=80, null=True)),
        migrations.AddField("wrappedkey", "renewed_at", models.DateTimeField(null=True)),
        migrations.RunSQL(GUARD, NO_GUARD, hints={"database": "keys"}),
    ]
