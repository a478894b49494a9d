"""A hold on a person keeps what graphs say of whom a conversation names, and graphs move with their scopes (PR-16, PL-12)."""

from importlib import import_module

from django.db import migrations

_MOVED = import_module("privacy.migrations.0007_moved_conversations")
_HELD = import_module("privacy.migrations.0006_held_history")

MOVE_GRAPHS = """
    UPDATE assembly_graph SET conversation_hash = _now, conversation_key_id = _key
    WHERE workspace_id = _workspace AND conversation_hash = _before;
    PERFORM lastro_move_tombstone"""
MOVE = _MOVED.MOVE.replace("\n    PERFORM lastro_move_tombstone", MOVE_GRAPHS)

NAMED = """
                ) OR EXISTS (
                    SELECT FROM assembly_graph g
                    JOIN assembly_graphperson p ON p.graph_id = g.id
                    JOIN workspaces_handle n ON n.id = p.handle_id
                    WHERE g.workspace_id = _workspace AND g.conversation_hash = _scope
                        AND n.profile_id = h.profile_id
                ) OR EXISTS (
                    SELECT FROM agentstate_keptversion k"""
_FUNCTION = _HELD.HOLDS_ON.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
HOLDS_ON = _FUNCTION.replace(
    """
                ) OR EXISTS (
                    SELECT FROM agentstate_keptversion k""",
    NAMED,
)


class Migration(migrations.Migration):
    dependencies = [("privacy", "0007_moved_conversations"), ("assembly", "0002_row_level_security")]
    operations = [
        migrations.RunSQL(MOVE, _MOVED.MOVE),
        migrations.RunSQL(HOLDS_ON, _FUNCTION),
    ]
