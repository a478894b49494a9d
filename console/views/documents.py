"""The documents that the console shows without changing them, and what all documents share (PR-2)."""

import json
from datetime import datetime
from typing import Any

import msgspec
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from console.pages import asked_version, here, see_other, workspace_page
from console.rows import Tab
from privacy.rules.documents import require_kind
from workspaces import access, documents
from workspaces.models import Document
from workspaces.selectors.documents import versions

READERS = ("propose_documents", "approve_documents", "publish_documents", "view_audit", "request_erasure")
VERSIONS_SHOWN = 20


DOCUMENT_TITLES = {
    "masking": (_("Masking"), _("What becomes of personal data before it is stored.")),
    "retention": (_("Retention"), _("How long history, artifacts, packages and the audit are kept.")),
    "assembly-policy": (_("Assembly policy"), _("What a model may be shown, and in which form.")),
}


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


@require_safe
@workspace_page(*READERS)
def document(request: Any, kind: str) -> HttpResponse:
    """Show a document that is only read here, in its live version or another one."""
    require_kind(kind)
    if kind not in DOCUMENT_TITLES:
        return see_other(here(request, "types" if kind == "object-types" else "features"))
    head = head_of(kind)
    number = asked_version(request)
    shown = head if number is None else access.one(versions(kind), version=number)
    title, description = DOCUMENT_TITLES[kind]
    context = {
        "document": {
            "kind": kind,
            "title": title,
            "description": description,
            "version": shown.version,
            "live": shown.version == head.version,
            "published_at": shown.published_at,
            "published_by": publisher_of(shown),
            "reason": shown.reason,
            "text": indented(shown.body),
        },
        "documents": [
            Tab(title=name, url=here(request, "document", other), current=other == kind)
            for other, (name, _text) in DOCUMENT_TITLES.items()
        ],
        "versions": versions_shown(request, kind, head.version),
    }
    return render(request, "console/document.html", context)


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


def indented(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, indent=2)
