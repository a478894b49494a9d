"""Object types: the live ones, each one's fields, and the draft with its check and publication (PR-2, PR-3, CO-5)."""

from typing import Any

import msgspec
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from agentstate.rules.object_types import declared_type, parse_types
from agentstate.selectors.states import states_by_agent
from agentstate.types import ObjectType
from console.approvals import carried_out, waiting_for
from console.effects import check_of
from console.forms import DraftForm
from console.pages import actor, asked_version, here, see_other, workspace_page
from console.views.documents import (
    READERS,
    changes_of_document,
    head_of,
    indented,
    live_version,
    versions_shown,
)
from privacy.selectors.approvals import needs_approval
from privacy.selectors.documents import preview
from privacy.services.approvals import change_document
from privacy.types import Preview
from workspaces import access
from workspaces.errors import InvalidDocument, InvalidInput, InvalidJson, WrongVersion
from workspaces.models import ChangeRequest
from workspaces.rules import json as strict_json
from workspaces.rules.documents import digest
from workspaces.selectors.documents import versions
from workspaces.types import ChangeWish


class TypeRow(msgspec.Struct, frozen=True):
    name: str
    version: str
    ownership: str
    agents: tuple[str, ...]
    fields: int
    personal: int
    retention: str
    cap_bytes: int | None
    states: int
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
    states: int
    agents: int
    bytes: int | None = None


class Draft(msgspec.Struct, frozen=True):
    """A document that a form holds, and what a check of it found."""

    document: Any
    drop: tuple[str, ...]
    found: Preview

    @property
    def mark(self) -> str:
        """Give what tells that exactly this draft was checked; one with problems has no mark."""
        return "" if self.found.problems else digest({"document": self.document, "drop": sorted(self.drop)})


@require_safe
@workspace_page(*READERS)
def types(request: Any) -> HttpResponse:
    """List the live object types with how much each holds."""
    head = head_of("object-types")
    parsed = parse_types(head.body)
    states = states_by_agent()
    context = {
        "types": [_type_row(request, declared, parsed, states) for declared in parsed],
        "document": live_version(head),
        "draft_url": _draft_url(request),
        "waiting": waiting_for(request, "object-types"),
        "versions": versions_shown(request, "object-types", head.version),
        **changes_of_document(request, "object-types"),
    }
    return render(request, "console/types.html", context)


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
        "usage": Usage(states=sum(states[agent] for agent in agents), agents=len(agents)),
        "document": msgspec.structs.replace(live_version(shown), live=shown.version == head.version),
        "versions": versions_shown(request, "object-types", head.version),
        "draft_url": _draft_url(request),
    }
    return render(request, "console/type.html", context)


@require_http_methods(["GET", "POST"])
@workspace_page("propose_documents")
def types_draft(request: Any) -> HttpResponse:
    """Edit the whole document; Check shows what changes and breaks, Publish makes exactly what was checked live."""
    head = head_of("object-types")
    initial = {"document": indented("object-types", head.body), "version": head.version}
    form = DraftForm(request.POST or None, initial=initial)
    context: dict[str, Any] = {
        "form": form,
        "live": live_version(head),
        "check": None,
        "publishable": False,
        "needs_approval": needs_approval("object-types"),
    }
    if request.method == "POST" and form.is_valid() and (draft := _draft(form)) is not None:
        context["moved"] = form.cleaned_data["version"] != head.version
        if request.POST.get("act") == "publish":
            asked_for = _published(request, form, draft)
            if not form.errors:
                said = _("The object types are published: %s.") % f"v{head.version + 1}"
                return carried_out(request, asked_for, here(request, "types"), said=said)
        context |= _checked(request, form, draft, head.version)
    is_refused = request.method == "POST" and (bool(form.errors) or not form.is_bound)
    status = (409 if context.get("moved") else 422) if is_refused else 200
    return render(request, "console/types_draft.html", context, status=status)


def _draft(form: DraftForm) -> Draft | None:
    """Read the document of a form and check it."""
    try:
        document = strict_json.parse(form.cleaned_data["document"].encode())
    except InvalidJson as error:
        form.add_error("document", error.detail or error.title)
        return None
    drop = form.cleaned_data["drop"]
    return Draft(document=document, drop=drop, found=preview("object-types", document, drop=drop))


def _published(request: Any, form: DraftForm, draft: Draft) -> ChangeRequest | None:
    """Publish what was checked, or ask for it where that takes a second person, or say at the form why not."""
    if not _may_publish(request):
        form.add_error(None, _("You may propose, but not publish: ask security or an owner."))
    elif draft.found.problems:
        form.add_error(None, _("It cannot be published as it is: see the problems below."))
    elif form.cleaned_data["checked"] != draft.mark:
        form.add_error(None, _("The text changed since it was checked: check it again."))
    else:
        return _publish(request, form, draft)
    return None


def _may_publish(request: Any) -> bool:
    """Tell whether the person may publish, or ask for it where another one approves."""
    return "publish_documents" in request.may or needs_approval("object-types")


def _publish(request: Any, form: DraftForm, draft: Draft) -> ChangeRequest | None:
    wish = ChangeWish(
        kind="object-types",
        document=draft.document,
        reason=form.cleaned_data["reason"],
        replaces=form.cleaned_data["version"],
        drop=draft.drop,
    )
    try:
        return change_document(wish=wish, person_id=request.user.id, actor=actor(request), now=timezone.now())
    except (InvalidInput, InvalidDocument) as error:
        form.add_problems(error.errors, otherwise=error.title)
    except WrongVersion:
        form.add_error(None, _("Nothing was published."))
    return None


def _checked(request: Any, form: DraftForm, draft: Draft, live: int) -> dict[str, Any]:
    """Show what was found, which is about the live version: from now on the draft replaces that one."""
    found = draft.found
    data: Any = form.data.copy()  # type: ignore[attr-defined]
    data["checked"], data["version"] = draft.mark, str(live)
    form.data = data
    publishable = not found.problems and bool(found.changes) and _may_publish(request)
    return {"check": check_of(found), "publishable": publishable}


def _draft_url(request: Any) -> str:
    return here(request, "types_draft") if "propose_documents" in request.may else ""


def _type_row(
    request: Any, declared: ObjectType, parsed: tuple[ObjectType, ...], states: dict[str, int]
) -> TypeRow:
    held = sum(count for agent, count in states.items() if declared_type(parsed, agent) == declared)
    return TypeRow(
        name=declared.type,
        version=declared.version,
        ownership=declared.ownership,
        agents=declared.agents,
        fields=len(declared.fields),
        personal=sum(1 for field in declared.fields.values() if field.pii),
        retention=_days(declared.state_retention_seconds),
        cap_bytes=declared.cap_bytes,
        states=held,
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
