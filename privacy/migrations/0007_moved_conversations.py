"""The conversations that sessions name move under the hash key of now with every other scope (PL-12).

A session keeps the identity that it was made under, and with it the key that `hash_key_id` names: it is looked for
under both until it ends.
"""

from importlib import import_module

from django.db import migrations

_BEFORE = import_module("privacy.migrations.0005_hash_keys")

MOVED = """
    UPDATE history_session SET conversation_hash = _now
    WHERE workspace_id = _workspace AND conversation_hash = _before;
    UPDATE history_keptitem SET conversation_hash = _now
    WHERE workspace_id = _workspace AND conversation_hash = _before;
    PERFORM lastro_move_tombstone"""
_FUNCTION = _BEFORE.MOVE.partition("CREATE INDEX")[0].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
MOVE = _FUNCTION.replace("\n    PERFORM lastro_move_tombstone", MOVED)


class Migration(migrations.Migration):
    dependencies = [("privacy", "0006_held_history"), ("history", "0005_hash_keys")]
    operations = [migrations.RunSQL(MOVE, _FUNCTION)]
