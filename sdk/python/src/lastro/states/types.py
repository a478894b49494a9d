"""The values of working memory that travel. No representation of one shows content, an id or a handle."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from lastro.errors import InvalidCall

ScopeKind = Literal["conversation", "task", "object", "subject"]
Mode = Literal["cas", "merge_by_key"]
Body = dict[str, Any]

NAMESPACED = ("wa_bsuid", "gov_id_hmac", "system_id", "org_registry_hmac")
"""The types of handles that have a namespace."""


@dataclass(frozen=True, slots=True)
class Handle:
    """An identifier of a person in a channel or system. It is trimmed here; the server brings it to its canonical form.

    Raises InvalidCall where the type or the value is empty.
    """

    type: str
    value: str = field(repr=False)
    namespace: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        for name in ("type", "value", "namespace"):
            object.__setattr__(self, name, getattr(self, name).strip())
        if not self.type or not self.value:
            raise InvalidCall("a handle has a type and a value")

    @classmethod
    def parse(cls, text: str) -> "Handle":
        """Read `type:value`, or `type:namespace:value` for a type that has namespaces."""
        kind, _, rest = text.strip().partition(":")
        namespace, _, value = rest.partition(":") if kind.strip() in NAMESPACED else ("", "", rest)
        return cls(kind, value, namespace)

    @property
    def text(self) -> str:
        """Give it as one text, as `parse` reads it."""
        return ":".join(part for part in (self.type, self.namespace, self.value) if part)

    @property
    def wire(self) -> dict[str, str]:
        """Give it as the server takes it."""
        scope = {"scope": self.namespace} if self.namespace else {}
        return {"type": self.type, "value": self.value, **scope}


@dataclass(frozen=True, slots=True, order=True)
class StateName:
    """Which state: the kind and the id of its scope, and the agent that writes it (WM-4)."""

    kind: ScopeKind
    id: str = field(repr=False)
    agent: str

    @property
    def wire(self) -> dict[str, Any]:
        """Give it as the server takes it."""
        return {"scope": {"kind": self.kind, "id": self.id}, "agent": self.agent}


@dataclass(frozen=True, slots=True)
class StateRead:
    """What a read found; `body` is the caller's own (SD-3).

    `degraded` says that the server was out of reach and this is the local copy; `pending` is how many writes of this
    client, shown in `body` already, still wait to be sent (SD-4).
    """

    body: Body = field(default_factory=dict[str, Any], repr=False)
    version: int = 0
    updated_at: datetime | None = None
    valid_until: datetime | None = None
    epoch: str = "none"
    degraded: bool = False
    pending: int = 0


@dataclass(frozen=True, slots=True)
class StateWritten:
    """What became of a write.

    `reason` says why nothing was stored: `conflict`, `not_declared_field` or `over_cap`. With `pending` the server was
    out of reach: the write is in the outbox and in the local copy, and `version` is a prediction (SD-4).
    """

    stored: bool
    version: int = 0
    reason: str | None = None
    masked: dict[str, int] = field(default_factory=dict[str, int])
    pending: bool = False
    epoch: str = "none"


@dataclass(frozen=True, slots=True)
class StateCleared:
    """What became of a removal: whether there was a state; with `pending` that is not known yet."""

    deleted: bool
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Conflict:
    """A late write that the server refused; it was not merged (SD-5).

    `body` is what the write carried, none where it was about something erased. `code` is the server's.
    """

    code: str
    mode: str
    if_version: int | None
    written_at: datetime
    request_id: str | None = None
    body: Body | None = field(default=None, repr=False)


def moment(seconds: float | None) -> datetime | None:
    """Give a time in UTC."""
    return None if seconds is None else datetime.fromtimestamp(seconds, tz=UTC)
