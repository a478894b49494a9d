"""Object types: the live ones, and each one's fields and versions (PR-2)."""

from typing import Any

import msgspec
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from agentstate.rules.object_types import declared_type, parse_types
from agentstate.selectors.states import AGENT_COUNTED_UP_TO, states_by_agent
from agentstate.types import ObjectType
from console.pages import asked_version, here, see_other, workspace_page
from console.presenters.approvals import waiting_for
from console.presenters.lists import Table, show_list
from console.views.documents import (
    READERS,
    changes_of_document,
    head_of,
    live_version,
    versions_shown,
)
from workspaces import access
from workspaces.selectors.documents import versions

COLUMNS = (
    "name",
    "version",
    "ownership",
    "agents",
    "fields",
    "personal",
    "retention",
    "cap_bytes",
    "states",
)


class TypeRow(msgspec.Struct, frozen=True):
    name: str
    version: str
    ownership: str
    agents: tuple[str, ...]
    fields: int
    personal: int
    retention: str
    cap_bytes: int | None
    states: int | str
    url: str


class FieldRow(msgspec.Struct, frozen=True):
    name: str
    label: str
    description: str
    type: str
    values: tuple[str, ...]
    personal: str
    sensitivity: str
    origin: str
    retention: str


class TypePage(msgspec.Struct, frozen=True):
    name: str
    version: str
    ownership: str
    agents: tuple[str, ...]
    scopes: tuple[str, ...]
    cap_bytes: int | None
    retention: str
    purposes: tuple[str, ...]
    recipients: tuple[str, ...]
    fields: list[FieldRow]


class Usage(msgspec.Struct, frozen=True):
    states: int | str
    agents: int
    bytes: int | None = None


@require_safe
@workspace_page(*READERS)
def types(request: Any) -> HttpResponseBase:
    """List the live object types with how much each holds."""
    head = head_of("object-types")
    parsed = parse_types(head.body)
    states = states_by_agent()
    rows = [_type_row(request, declared, parsed, states) for declared in parsed]
    context = {
        "types": rows,
        "document": live_version(head),
        "draft_url": _draft_url(request),
        "waiting": waiting_for(request, "object-types"),
        "versions": versions_shown(request, "object-types", head.version),
        **changes_of_document(request, "object-types"),
    }
    return show_list(request, "console/types.html", context, table=Table("types", COLUMNS, rows))


@require_safe
@workspace_page(*READERS)
def type_page(request: Any, name: str) -> HttpResponse:
    """Show one object type of the live version, or of the version that `version` names."""
    number, head = asked_version(request), head_of("object-types")
    shown = head if number is None else access.one(versions("object-types"), version=number)
    parsed = parse_types(shown.body)
    declared = next((found for found in parsed if found.type == name), None)
    if declared is None:
        return see_other(here(request, "types"))
    body = next(found for found in shown.body["types"] if found["type"] == name)
    states = states_by_agent()
    agents = [agent for agent in states if declared_type(parsed, agent) == declared]
    context = {
        "type": _type_page(declared, body),
        "usage": Usage(states=_counted([states[agent] for agent in agents]), agents=len(agents)),
        "document": msgspec.structs.replace(live_version(shown), live=shown.version == head.version),
        "versions": versions_shown(request, "object-types", head.version),
        "draft_url": _draft_url(request),
    }
    return render(request, "console/type.html", context)


def _draft_url(request: Any) -> str:
    return here(request, "types_draft") if "propose_documents" in request.may else ""


def _counted(counts: list[int]) -> int | str:
    """Add counts up; where one of them goes no further, so does the sum, in words."""
    is_capped = max(counts, default=0) >= AGENT_COUNTED_UP_TO
    return f"{sum(counts):,}+" if is_capped else sum(counts)


def _type_row(
    request: Any, declared: ObjectType, parsed: tuple[ObjectType, ...], states: dict[str, int]
) -> TypeRow:
    held = [count for agent, count in states.items() if declared_type(parsed, agent) == declared]
    return TypeRow(
        name=declared.type,
        version=declared.version,
        ownership=declared.ownership,
        agents=declared.agents,
        fields=len(declared.fields),
        personal=sum(1 for field in declared.fields.values() if field.pii),
        retention=_days(declared.state_retention_seconds),
        cap_bytes=declared.cap_bytes,
        states=_counted(held),
        url=here(request, "type", declared.type),
    )


def _type_page(declared: ObjectType, body: dict[str, Any]) -> TypePage:
    kept = body.get("retention", {})
    return TypePage(
        name=declared.type,
        version=declared.version,
        ownership=declared.ownership,
        agents=declared.agents,
        scopes=declared.scopes,
        cap_bytes=declared.cap_bytes,
        retention=kept.get("state", _days(declared.state_retention_seconds)),
        purposes=declared.purposes,
        recipients=declared.recipients,
        fields=[
            FieldRow(
                name=field.name,
                label=field.label,
                description=field.description,
                type=field.type,
                values=field.values,
                personal=field.pii if isinstance(field.pii, str) else _("personal") if field.pii else "",
                sensitivity=field.sensitivity,
                origin=field.origin,
                retention=kept.get(field.name, ""),
            )
            for field in sorted(declared.fields.values(), key=lambda field: field.name)
        ],
    )


def _days(seconds: int) -> str:
    return f"{seconds // 86_400}d"
