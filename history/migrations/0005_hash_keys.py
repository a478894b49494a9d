"""Sessions take no new name under a hash key that was replaced, and say under which their conversation is (PL-12)."""

from django.db import migrations, models

GUARD = """
CREATE TRIGGER named_by_the_newest BEFORE INSERT ON history_session
    FOR EACH ROW EXECUTE FUNCTION lastro_named_by_the_newest();
"""
NO_GUARD = "DROP TRIGGER named_by_the_newest ON history_session;"


class Migration(migrations.Migration):
    dependencies = [("history", "0004_kept_items"), ("workspaces", "0012_hash_keys")]
    operations = [
        migrations.AddField("session", "conversation_key_id", models.UUIDField(null=True)),
        migrations.RunSQL(GUARD, NO_GUARD),
    ]
