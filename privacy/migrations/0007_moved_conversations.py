"""The conversations that sessions name move under the hash key of now with every other scope (PL-12).

A session's own name does not: it is looked for under both keys until the session ends.
"""

from importlib import import_module

from django.db import migrations

_BEFORE = import_module("privacy.migrations.0005_hash_keys")

MOVED = """
    UPDATE history_session SET conversation_hash = _now, conversation_key_id = _key
    WHERE workspace_id = _workspace AND conversation_hash = _before;
    UPDATE history_keptitem SET conversation_hash = _now, hash_key_id = _key
    WHERE workspace_id = _workspace AND conversation_hash = _before;
    PERFORM lastro_move_tombstone"""
_FUNCTION = _BEFORE.MOVE.partition("CREATE INDEX")[0].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
MOVE = _FUNCTION.replace("\n    PERFORM lastro_move_tombstone", MOVED)


class Migration(migrations.Migration):
    dependencies = [("privacy", "0006_held_history")]
    operations = [migrations.RunSQL(MOVE, _FUNCTION)]
