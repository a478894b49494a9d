"""Drafts of documents: the whole document as text, its check, and the publication of what was checked (PR-2, CO-5)."""

from collections.abc import Mapping
from typing import Any

import msgspec
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from console.forms.documents import DraftForm, TypesDraftForm
from console.pages import actor, here, workspace_page
from console.presenters.approvals import carried_out
from console.presenters.effects import check_of
from console.presenters.start import FIRST_TYPES
from console.views.documents import EDITED, head_of, indented, live_version
from privacy.selectors.approvals import needs_approval
from privacy.selectors.documents import preview
from privacy.services.approvals import change_document
from privacy.types import Preview
from workspaces.errors import InvalidDocument, InvalidInput, InvalidJson, WrongVersion
from workspaces.models import ChangeRequest
from workspaces.rules import json as strict_json
from workspaces.rules.documents import digest
from workspaces.types import ChangeWish


class Editor(msgspec.Struct, frozen=True):
    """The editor of one kind of document: its heading, and what is said when a version is published."""

    kind: str
    title: Any
    said: Any
    form: type[DraftForm] = DraftForm


EDITORS: Mapping[str, Editor] = {
    "object-types": Editor(
        "object-types",
        gettext_lazy("Draft of the object types"),
        gettext_lazy("The object types are published: %s."),
        TypesDraftForm,
    ),
    "masking": Editor(
        "masking", gettext_lazy("Draft of the masking"), gettext_lazy("The masking is published: %s.")
    ),
    "retention": Editor(
        "retention", gettext_lazy("Draft of the retention"), gettext_lazy("The retention is published: %s.")
    ),
    "assembly-policy": Editor(
        "assembly-policy",
        gettext_lazy("Draft of the assembly policies"),
        gettext_lazy("The assembly policies are published: %s."),
    ),
}


class Draft(msgspec.Struct, frozen=True):
    """A document that a form holds, and what a check of it found."""

    document: Any
    drop: tuple[str, ...]
    found: Preview

    @property
    def mark(self) -> str:
        """Give what tells that exactly this draft was checked; one with problems has no mark."""
        return "" if self.found.problems else digest({"document": self.document, "drop": sorted(self.drop)})


@require_http_methods(["GET", "POST"])
@workspace_page("propose_documents")
def types_draft(request: Any) -> HttpResponse:
    """Edit the object types; Check shows what changes and breaks, Publish makes exactly what was checked live."""
    return _edit(request, EDITORS["object-types"], back=here(request, "types"))


@require_http_methods(["GET", "POST"])
@workspace_page("propose_documents")
def document_draft(request: Any, kind: str) -> HttpResponse:
    """Edit the masking, the retention or the assembly policies in the same way."""
    if kind not in EDITED:
        raise Http404
    return _edit(request, EDITORS[kind], back=here(request, "document", kind))


def _edit(request: Any, editor: Editor, *, back: str) -> HttpResponse:
    head = head_of(editor.kind)
    initial = {"document": indented(editor.kind, _begun(head.body)), "version": head.version}
    form = editor.form(request.POST or None, initial=initial)
    context: dict[str, Any] = {
        "form": form,
        "title": editor.title,
        "back": back,
        "live": live_version(head),
        "check": None,
        "publishable": False,
        "needs_approval": needs_approval(editor.kind),
    }
    if request.method == "POST" and form.is_valid() and (draft := _draft(editor, form)) is not None:
        context["moved"] = form.cleaned_data["version"] != head.version
        if request.POST.get("act") == "publish":
            asked_for = _published(request, editor, form, draft)
            if not form.errors:
                return carried_out(request, asked_for, back, said=str(editor.said) % f"v{head.version + 1}")
        context |= _checked(request, editor, form, draft, head.version)
    is_refused = request.method == "POST" and (bool(form.errors) or not form.is_bound)
    status = (409 if context.get("moved") else 422) if is_refused else 200
    return render(request, "console/draft.html", context, status=status)


def _begun(live: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give what a draft begins with: the live version, or an example where no type was declared yet."""
    return FIRST_TYPES if live == {"types": []} else live


def _draft(editor: Editor, form: DraftForm) -> Draft | None:
    """Read the document of a form and check it."""
    try:
        document = strict_json.parse(form.cleaned_data["document"].encode())
    except InvalidJson as error:
        form.add_error("document", error.detail or error.title)
        return None
    drop = tuple(form.cleaned_data.get("drop", ()))
    return Draft(document=document, drop=drop, found=preview(editor.kind, document, drop=drop))


def _published(request: Any, editor: Editor, form: DraftForm, draft: Draft) -> ChangeRequest | None:
    """Publish what was checked, or ask for it where that takes a second person, or say at the form why not."""
    if not _may_publish(request, editor):
        form.add_error(None, _("You may propose, but not publish: ask security or an owner."))
    elif draft.found.problems:
        form.add_error(None, _("It cannot be published as it is: see the problems below."))
    elif form.cleaned_data["checked"] != draft.mark:
        form.add_error(None, _("The text changed since it was checked: check it again."))
    else:
        return _publish(request, editor, form, draft)
    return None


def _may_publish(request: Any, editor: Editor) -> bool:
    """Tell whether the person may publish, or ask for it where another one approves."""
    return "publish_documents" in request.may or needs_approval(editor.kind)


def _publish(request: Any, editor: Editor, form: DraftForm, draft: Draft) -> ChangeRequest | None:
    wish = ChangeWish(
        kind=editor.kind,
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


def _checked(request: Any, editor: Editor, form: DraftForm, draft: Draft, live: int) -> dict[str, Any]:
    """Show what was found, which is about the live version: from now on the draft replaces that one."""
    found = draft.found
    data: Any = form.data.copy()  # type: ignore[attr-defined]
    data["checked"], data["version"] = draft.mark, str(live)
    form.data = data
    publishable = not found.problems and bool(found.changes) and _may_publish(request, editor)
    return {"check": check_of(found), "publishable": publishable}
