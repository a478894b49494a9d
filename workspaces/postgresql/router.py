"""Keys live in a database of their own, which no dump of the content contains (PR-15)."""

from typing import Any

KEYS = "keys"
KEY_MODELS = {"workspaces.wrappedkey", "workspaces.deploymentkey"}


class KeysApart:
    """Sends the key tables to `keys`, and everything else to `default`."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return _place(model._meta.label_lower)

    db_for_write = db_for_read

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool:
        return _place(first._meta.label_lower) == _place(second._meta.label_lower)

    def allow_migrate(self, db: str, app_label: str, model_name: str | None = None, **hints: Any) -> bool:
        """Let an operation run where its table is; one by hand says `hints={"database": ...}` when that is `keys`."""
        place = _place(f"{app_label}.{model_name}") if model_name else hints.get("database", "default")
        return bool(db == place)


def _place(label: str) -> str:
    return KEYS if label in KEY_MODELS else "default"
