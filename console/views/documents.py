"""The documents without pages of their own, and what all documents share (PR-2). Their drafts are in `drafts`."""

import functools
import json
import secrets
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from console.forms.documents import MaskingForm
from console.pages import asked_version, here, see_other, workspace_page
from console.presenters.approvals import waiting_for
from console.presenters.changes import changes_of
from console.presenters.rows import Tab
from privacy.rules.documents import require_kind
from workspaces import access, documents
from workspaces.models import Document
from workspaces.rules.documents import schema
from workspaces.selectors.audit import AuditFilter
from workspaces.selectors.documents import versions
from workspaces.selectors.masking import FIELD, kept_of

READERS = ("propose_documents", "approve_documents", "publish_documents", "view_audit", "request_erasure")
VERSIONS_SHOWN = 20


DOCUMENT_TITLES = {
    "masking": (_("Masking"), _("What becomes of personal data before it is stored.")),
    "retention": (_("Retention"), _("How long history, artifacts, packages and the audit are kept.")),
    "assembly-policy": (_("Assembly policy"), _("What a model may be shown, and in which form.")),
}
EDITED = ("masking", "retention", "assembly-policy")
"""Those that are edited as one text."""


class Version(msgspec.Struct, frozen=True):
    number: int
    published_at: datetime
    published_by: str
    reason: str
    live: bool
    url: str


class LiveVersion(msgspec.Struct, frozen=True):
    version: int
    published_at: datetime
    published_by: str
    live: bool = True


class Kept(msgspec.Struct, frozen=True):
    """What masking keeps of a value (None: the field is left out), and how many of each kind were masked."""

    text: str | None
    unchanged: bool
    counts: list[tuple[str, int]]


@require_safe
@workspace_page(*READERS)
def document(request: Any, kind: str) -> HttpResponse:
    """Show a document, in its live version or another one."""
    require_kind(kind)
    if kind not in DOCUMENT_TITLES:
        return see_other(here(request, "types" if kind == "object-types" else "features"))
    context = _shown(request, kind)
    form = MaskingForm() if kind == "masking" and context["document"]["live"] else None
    return render(request, "console/document.html", {**context, "form": form})


@require_POST
@sensitive_post_parameters("value")
@workspace_page(*READERS)
def masking_preview(request: Any) -> HttpResponse:
    """Show what masking keeps of a value; it is in no address, and nothing of it is stored or logged (PR-5)."""
    form = MaskingForm(request.POST)
    valid = form.is_valid()
    context = {**_shown(request, "masking"), "form": form, "kept": _kept(form) if valid else None}
    return render(request, "console/document.html", context, status=200 if valid else 422)


def _kept(form: MaskingForm) -> Kept:
    value = form.cleaned_data["value"]
    masked = kept_of(value, pii=form.pii, example_key=secrets.token_bytes())
    text = masked.fields.get(FIELD)
    return Kept(text=text, unchanged=text == value, counts=sorted(masked.counts.items()))


def _shown(request: Any, kind: str) -> dict[str, Any]:
    """Show the live version of a document, or the one that the address asks for."""
    head = head_of(kind)
    number = asked_version(request)
    shown = head if number is None else access.one(versions(kind), version=number)
    title, description = DOCUMENT_TITLES[kind]
    return {
        "document": {
            "kind": kind,
            "title": title,
            "description": description,
            "version": shown.version,
            "live": shown.version == head.version,
            "published_at": shown.published_at,
            "published_by": publisher_of(shown),
            "reason": shown.reason,
            "text": indented(kind, shown.body),
        },
        "documents": [
            Tab(title=name, url=here(request, "document", other), current=other == kind)
            for other, (name, _text) in DOCUMENT_TITLES.items()
        ],
        "draft_url": _draft_url(request, kind),
        "versions": versions_shown(request, kind, head.version),
        "waiting": waiting_for(request, kind),
        **changes_of_document(request, kind),
    }


def _draft_url(request: Any, kind: str) -> str:
    may = kind in EDITED and "propose_documents" in request.may
    return here(request, "document_draft", kind) if may else ""


def changes_of_document(request: Any, kind: str) -> dict[str, Any]:
    """Give the audit beside a document (CO-7)."""
    filters = AuditFilter(object_kind="document", object_id=kind)
    return changes_of(request, filters, object=f"document:{kind}")


def head_of(kind: str) -> Document:
    return access.one(versions(kind), version=documents.live(kind)[kind].version)


def live_version(document: Document) -> LiveVersion:
    return LiveVersion(document.version, document.published_at, publisher_of(document))


def publisher_of(document: Document) -> str:
    return document.published_by.name if document.published_by else ""


def versions_shown(request: Any, kind: str, live: int) -> list[Version]:
    name = "document" if kind in DOCUMENT_TITLES else ""
    return [
        Version(
            number=row.version,
            published_at=row.published_at,
            published_by=publisher_of(row),
            reason=row.reason,
            live=row.version == live,
            url=here(request, name, kind, version=str(row.version)) if name else "",
        )
        for row in versions(kind)[:VERSIONS_SHOWN]
    ]


def indented(kind: str, body: Any) -> str:
    """Write a document for people, its members in the order of the schema: the database keeps none."""
    return json.dumps(_arranged(body, _members(kind)), ensure_ascii=False, indent=2)


@functools.cache
def _members(kind: str) -> dict[str, int]:
    names = dict.fromkeys(_declared(schema(kind)))
    return {name: place for place, name in enumerate(names)}


def _declared(node: Any) -> Iterator[str]:
    """Name the members that a schema declares, in its order."""
    if isinstance(node, dict):
        yield from node.get("properties", {})
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _declared(inner)


def _arranged(value: Any, order: Mapping[str, int]) -> Any:
    if isinstance(value, list):
        return [_arranged(item, order) for item in value]
    if not isinstance(value, dict):
        return value
    names = sorted(value, key=lambda name: (order.get(name, len(order)), name))
    return {name: _arranged(value[name], order) for name in names}
