"""A workspace's first hour: what is done, what is next, and who may do it."""

import json
import shlex
from datetime import datetime
from typing import Any

import msgspec
from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from agentstate.documents import types_of
from agentstate.models import State
from agentstate.types import Field, ObjectType
from assembly.models import Graph
from console.pages import here
from console.rights import role_titles
from history.models import Session
from workspaces import documents
from workspaces.models import ApiKey
from workspaces.rules.rights import roles_with

FIRST_TYPES: dict[str, Any] = {
    "types": [
        {
            "type": "order",
            "version": "1",
            "ownership": "agent",
            "agents": ["order-taker"],
            "fields": {
                "step": {"type": "enum", "values": ["cart", "address", "paid"], "origin": "observed"},
                "phone": {"type": "string", "pii": "phone", "origin": "provided"},
                "remark": {"type": "text", "pii": True, "origin": "provided"},
            },
            "retention": {"state": "30d", "phone": "24h"},
            "agent_state": {"scopes": ["conversation"], "cap_bytes": 16384},
            "purposes": ["order handling"],
        }
    ]
}
"""What the draft of a workspace without types begins with: something to change instead of an empty page."""

_EXAMPLES: dict[str, Any] = {
    "integer": 1,
    "number": 1,
    "percent": 50,
    "bool": True,
    "date": "2027-01-31",
    "datetime": "2027-01-31T12:00:00Z",
    "duration": "PT15M",
    "ref": "order:shop:81",
    "money": {"amount": "12.50", "currency": "EUR"},
    "list": [],
    "object": {},
}


class Arrived(msgspec.Struct, frozen=True):
    """The first state that arrived: what is known of it without opening it."""

    agent: str
    size_bytes: int
    version: int
    at: datetime


class Step(msgspec.Struct, frozen=True):
    """One thing to do: `url` and `action` for who may do it; `roles` names who may, for everybody else."""

    name: str
    title: str
    text: str
    is_done: bool
    url: str = ""
    action: str = ""
    roles: str = ""


class FirstHour(msgspec.Struct, frozen=True):
    """The steps in their order, the command of the first write, and what arrived by it."""

    steps: list[Step]
    command: str
    arrived: Arrived | None

    @property
    def next_step(self) -> str:
        """Name the first step that is not done."""
        return next((step.name for step in self.steps if not step.is_done), "")

    @property
    def done(self) -> int:
        """Count the steps that are done."""
        return sum(step.is_done for step in self.steps)


def first_hour(request: Any) -> FirstHour:
    """Look how far the bound workspace is."""
    live = documents.live("features", "object-types")
    kept = [kind for kind in types_of(live["object-types"]) if kind.ownership == "agent"]
    arrived = _arrived()
    steps = [
        _step(
            request,
            "type",
            _("Declare what an agent may keep"),
            _(
                "An object type names the fields of a state, which of them are personal data, and how long each stays."
            ),
            may="propose_documents",
            url=here(request, "types_draft"),
            action=_("Make a type"),
            is_done=bool(kept),
        ),
        _step(
            request,
            "feature",
            _("Switch working memory on"),
            _("It is off until security switches it on, with a reason. Nothing can be stored before."),
            may="change_features",
            url=here(request, "feature_change", "agent_state"),
            action=_("Switch it on"),
            is_done=documents.is_on(live["features"], "agent_state"),
        ),
        _step(
            request,
            "key",
            _("Make a key"),
            _("A key belongs to one source, the system that calls. Its secret is shown once."),
            may="manage_keys",
            url=here(request, "key_new"),
            action=_("Make a key"),
            is_done=_has_key(),
        ),
    ]
    write = Step(
        name="write",
        title=_("Send a first write"),
        text=_("Put the key into the variable LASTRO_KEY and run this where your agent runs."),
        is_done=arrived is not None,
    )
    return FirstHour(steps=[*steps, write], command=_command(kept), arrived=arrived)


def is_empty() -> bool:
    """Tell whether nothing ever arrived in the bound workspace."""
    return not (State.objects.exists() or Session.objects.exists() or Graph.objects.exists())


def _step(
    request: Any, name: str, title: str, text: str, *, may: str, url: str, action: str, is_done: bool
) -> Step:
    is_theirs = may in request.may
    return Step(
        name=name,
        title=title,
        text=text,
        is_done=is_done,
        url=url if is_theirs else "",
        action=action if is_theirs else "",
        roles="" if is_theirs else ", ".join(role_titles(roles_with(may))),
    )


def _has_key() -> bool:
    works = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return ApiKey.objects.filter(works, revoked_at=None, scopes__contains=["agent_state"]).exists()


def _arrived() -> Arrived | None:
    state = State.objects.order_by("created_at").only("agent", "body_bytes", "version", "created_at").first()
    if state is None:
        return None
    return Arrived(state.agent, state.body_bytes, state.version, state.created_at)


def _command(kept: list[ObjectType]) -> str:
    """Give a write that the first type takes, ready for a shell; the key is read from the environment."""
    if not kept:
        return ""
    declared = kept[0]
    scope = next((kind for kind in declared.scopes if kind in ("conversation", "task")), "conversation")
    body = {
        "scope": {"kind": scope, "id": "first-hour"},
        "agent": declared.agents[0] if declared.agents else declared.type,
        "mode": "merge_by_key",
        "body": dict(map(_example, list(declared.fields.values())[:1])),
    }
    return " ".join(
        [
            f"curl -X PUT {settings.LASTRO_BASE_URL}/v1/agent-state",
            '-H "Authorization: Bearer $LASTRO_KEY"',
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(json.dumps(body))}",
        ]
    )


def _example(field: Field) -> tuple[str, Any]:
    if field.values:
        return field.name, field.values[0]
    return field.name, _EXAMPLES.get(field.type, "hello")
