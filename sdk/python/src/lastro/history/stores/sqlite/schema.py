"""The tables of a SQLite store. Their names are ours alone, since a host may give a connection of its own."""

import sqlite3

from lastro.history.errors import DecisionHistoryStorageFailed

VERSION = 1

TABLES = (
    """CREATE TABLE IF NOT EXISTS lastro_total (
        version INTEGER NOT NULL, sessions INTEGER NOT NULL, bytes INTEGER NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS lastro_session (
        id INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE, saved INTEGER NOT NULL DEFAULT 0,
        last INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0, pins BLOB, leaf TEXT NOT NULL DEFAULT '',
        count INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, summary BLOB,
        conversation TEXT NOT NULL DEFAULT '', subject TEXT NOT NULL DEFAULT '',
        created_at REAL NOT NULL DEFAULT 0, touched_at REAL NOT NULL DEFAULT 0, token TEXT, since REAL, worker TEXT)""",
    """CREATE INDEX IF NOT EXISTS lastro_session_idle ON lastro_session (touched_at) WHERE token IS NULL""",
    """CREATE TABLE IF NOT EXISTS lastro_item (
        id INTEGER PRIMARY KEY, session INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL,
        parent TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, provisional INTEGER NOT NULL,
        recorded_at REAL NOT NULL, expires_at REAL, leading INTEGER NOT NULL, body BLOB NOT NULL,
        UNIQUE (session, position), UNIQUE (session, name))""",
    """CREATE INDEX IF NOT EXISTS lastro_item_keyed ON lastro_item (session, key, position) WHERE key <> ''""",
    """CREATE INDEX IF NOT EXISTS lastro_item_marked ON lastro_item (session, position) WHERE leading > 0""",
    """CREATE INDEX IF NOT EXISTS lastro_item_beside ON lastro_item (session, position)
        WHERE kind IN ('opaque', 'removal')""",
    """CREATE INDEX IF NOT EXISTS lastro_item_removal ON lastro_item (session, position) WHERE kind = 'removal'""",
    """CREATE TRIGGER IF NOT EXISTS lastro_session_made AFTER INSERT ON lastro_session BEGIN
        UPDATE lastro_total SET sessions = sessions + 1, bytes = bytes + NEW.size; END""",
    """CREATE TRIGGER IF NOT EXISTS lastro_session_grown AFTER UPDATE OF size ON lastro_session BEGIN
        UPDATE lastro_total SET bytes = bytes + NEW.size - OLD.size; END""",
    """CREATE TRIGGER IF NOT EXISTS lastro_item_swept AFTER DELETE ON lastro_item BEGIN
        UPDATE lastro_session SET count = count - 1, bytes = bytes - length(OLD.body),
            size = size - length(OLD.body) WHERE id = OLD.session; END""",
    """CREATE TRIGGER IF NOT EXISTS lastro_session_ended AFTER DELETE ON lastro_session BEGIN
        DELETE FROM lastro_item WHERE session = OLD.id;
        UPDATE lastro_total SET sessions = sessions - 1, bytes = bytes - OLD.size; END""",
)


def prepare(cursor: sqlite3.Cursor) -> None:
    """Make the tables where they are not there; refuse those of another version."""
    for table in TABLES:
        cursor.execute(table)
    row = cursor.execute("SELECT version FROM lastro_total").fetchone()
    if row is None:
        cursor.execute("INSERT INTO lastro_total VALUES (?, 0, 0)", (VERSION,))
    elif row[0] != VERSION:
        raise DecisionHistoryStorageFailed("the tables are of another version")
