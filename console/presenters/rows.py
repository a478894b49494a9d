"""What the pages show, as values: one row of a list, one filter, one fact."""

from datetime import date, datetime
from typing import Any

import msgspec

from workspaces.models import AuditEntry


class Change(msgspec.Struct, frozen=True):
    """An act in the list beside an object (CO-7)."""

    at: datetime
    actor: str
    action: str
    object: str
    url: str


class Filter(msgspec.Struct, frozen=True):
    """One filter of a list, with its value from the address (CO-4)."""

    name: str
    label: Any
    kind: str
    value: str
    choices: list[tuple[str, str]] = []
    hint: str = ""
    pattern: str = ""

    @property
    def shown(self) -> str:
        """Give the value in words."""
        return dict(self.choices).get(self.value, self.value)


class Fact(msgspec.Struct, frozen=True):
    """One line of a list of facts: a value, a time or a status."""

    label: Any
    value: str = ""
    at: datetime | None = None
    status: str = ""
    mono: bool = False
    copy: Any = ""
    url: str = ""


class Tab(msgspec.Struct, frozen=True):
    title: Any
    url: str
    current: bool = False
    count: int | None = None


class KeyRow(msgspec.Struct, frozen=True):
    """A key or a token as its page lists it: never its secret."""

    name: str
    source: str
    prefix: str
    status: str
    last_used_on: date | None
    expires_at: datetime | None
    scopes: list[str] = []
    agents: list[str] = []
    networks: list[str] = []
    permissions: list[str] = []
    resend: bool = False
    workspace: str = ""
    rotate_url: str = ""
    revoke_url: str = ""


class AuditRow(msgspec.Struct, frozen=True):
    at: datetime
    actor: str
    role: str
    action: str
    object: str
    reason: str
    result: str
    url: str


def result_status(result: str) -> str:
    """Give the status word under which a result is shown."""
    return "success" if result == "done" else result


def object_words(entry: AuditEntry) -> str:
    """Name what an act was done to, short enough for a column."""
    return named(entry.object_kind, entry.object_id)


def named(kind: str, id: str) -> str:
    """Name an object: by its id where that is a word, else by its kind and the beginning of its id."""
    if not id:
        return kind
    short = id if len(id) <= 40 else id[:40] + "…"
    return short if kind in {"feature", "document"} else f"{kind} {short[:8]}"
