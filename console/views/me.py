"""A person's own settings and tokens (PL-3)."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console.forms.base import ConfirmForm
from console.forms.me import MeForm, TokenForm
from console.forms.sign_ins import ProvenTokenForm
from console.pages import actor, dialog, done, personal_page, see_other, workspace_page
from console.presenters.rows import KeyRow, Tab
from console.refusals import in_words
from console.rights import permission_title, role_titles
from console.sign_ins import is_own_password, proof_of
from console.views.keys import prefix_of, status_of
from console.views.sessions import session_rows
from workspaces import access
from workspaces.errors import InvalidInput
from workspaces.languages import spoken_to
from workspaces.models import PersonalToken
from workspaces.selectors.credentials import tokens_of
from workspaces.selectors.people import permissions_of, roles_of
from workspaces.selectors.sign_ins import second_factor
from workspaces.services import credentials
from workspaces.services.people import change_settings
from workspaces.types import WorkspaceRef

EXAMPLE = """curl {base_url}/v1/config/features \\
  -H "Authorization: Bearer $LASTRO_TOKEN\""""


@require_http_methods(["GET", "POST"])
@personal_page
def me(request: Any) -> HttpResponse:
    """Show and change the person's own settings; list their tokens and roles."""
    person = request.user
    form = MeForm(
        request.POST or None,
        initial={"name": person.name, "language": person.language, "time_zone": person.time_zone},
    )
    if request.method == "POST" and form.is_valid():
        change_settings(person=person, **form.cleaned_data)
        with spoken_to(person):
            messages.success(request, _("Saved."))
        return see_other(reverse("console:me"))
    own = access.workspaces_of(person)
    context = {
        "form": form,
        "tokens": [token for workspace in own for token in _tokens(person, workspace)],
        "memberships": [_membership(person, workspace) for workspace in own],
        "token_urls": _token_urls(person, own),
        "sessions": session_rows(request, now=timezone.now()),
        "has_second_factor": second_factor(person.id) is not None,
    }
    return render(request, "console/me.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@workspace_page()
def token_new(request: Any) -> HttpResponse:
    """Make a token of this workspace and show it once; password and second factor are asked again."""
    form = _token_form(request)
    if request.method == "POST" and form.is_valid() and _is_owner(request, form):
        made = _made(request, form)
        if made is not None:
            return _shown_once(request, made)
    status = 422 if request.method == "POST" else 200
    return render(request, "console/token_new.html", {"form": form}, status=status)


@require_http_methods(["GET", "POST"])
@workspace_page()
def token_revoke(request: Any, token_id: UUID) -> HttpResponse:
    """Stop one of the person's own tokens."""
    token = access.one(tokens_of(request.user.id), id=token_id)
    back = reverse("console:me")
    if request.method == "POST":
        credentials.revoke_token(
            token_id=token.id, person=request.user, actor=actor(request), now=timezone.now()
        )
        return done(request, back, said=_("The token %(name)s is revoked.") % {"name": token.name})
    context = {"token": _row(token, request.workspace, timezone.now()), "form": ConfirmForm()}
    return dialog(request, "console/token_revoke.html", context, back=back)


def _token_form(request: Any) -> TokenForm:
    """Give the form of a token; who has a second factor shows it again (PL-3)."""
    kind = ProvenTokenForm if second_factor(request.user.id) else TokenForm
    return kind(request.POST or None, held=request.may)


def _is_owner(request: Any, form: TokenForm) -> bool:
    """Check the password, and the code where the person has an app, or say at the form which is wrong."""
    now = timezone.now()
    if not is_own_password(request, form, now=now):
        return False
    return not isinstance(form, ProvenTokenForm) or bool(proof_of(request, form, request.user, now=now))


def _made(request: Any, form: TokenForm) -> credentials.Made | None:
    try:
        return credentials.make_token(
            workspace=request.workspace,
            person=request.user,
            name=form.cleaned_data["name"],
            permissions=form.cleaned_data["permissions"],
            life=timedelta(days=form.cleaned_data["expires"]),
            actor=actor(request),
            now=timezone.now(),
        )
    except InvalidInput as error:
        form.add_problems(error.errors, otherwise=in_words(error))
        return None


def _shown_once(request: Any, made: credentials.Made) -> HttpResponse:
    token = access.one(tokens_of(request.user.id), id=made.id)
    context = {
        "token": _row(token, request.workspace, timezone.now()),
        "secret": made.text,
        "example": EXAMPLE.format(base_url=settings.LASTRO_BASE_URL),
    }
    return render(request, "console/token_created.html", context)


def _tokens(person: Any, workspace: WorkspaceRef) -> list[KeyRow]:
    with access.bound(workspace.id):
        return [_row(token, workspace, timezone.now()) for token in tokens_of(person.id)]


def _row(token: PersonalToken, workspace: WorkspaceRef, now: datetime) -> KeyRow:
    status = status_of(token, now)
    return KeyRow(
        name=token.name,
        source="",
        prefix=prefix_of(token, "lsp"),
        status=status,
        last_used_on=token.last_used_on,
        expires_at=token.expires_at,
        permissions=[permission_title(name) for name in token.permissions],
        workspace=workspace.name,
        revoke_url=reverse("console:token_revoke", args=[workspace.slug, token.id])
        if status in {"active", "expiring"}
        else "",
    )


def _membership(person: Any, workspace: WorkspaceRef) -> dict[str, Any]:
    with access.bound(workspace.id):
        return {"workspace": workspace, "roles": role_titles(roles_of(person))}


def _token_urls(person: Any, own: list[WorkspaceRef]) -> list[Tab]:
    """Say where the person can make a token: where they may do anything that it could do for them."""
    return [
        Tab(title=workspace.name, url=reverse("console:token_new", args=[workspace.slug]))
        for workspace in own
        if permissions_of(person, workspace)
    ]
