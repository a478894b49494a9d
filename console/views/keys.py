"""Keys of sources: made, shown once, rotated, revoked (PL-3)."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from console.forms.keys import KeyForm, RevokeForm, RotateForm
from console.pages import actor, dialog, done, here, workspace_page
from console.presenters.changes import changes_of
from console.presenters.lists import Table, show_list
from console.presenters.rows import Filter, KeyRow
from console.refusals import in_words
from workspaces import access
from workspaces.errors import InvalidInput
from workspaces.models import ApiKey
from workspaces.models.credentials import Credential
from workspaces.paging import page
from workspaces.rules.rights import KEY_SCOPES
from workspaces.selectors.audit import AuditFilter
from workspaces.selectors.credentials import api_keys, keys_in_state
from workspaces.services import credentials
from workspaces.services.credentials import KeyWish, Made

COLUMNS = (
    "name",
    "source",
    "prefix",
    "scopes",
    "resend",
    "agents",
    "networks",
    "last_used_on",
    "status",
    "expires_at",
)
SOON = timedelta(days=14)
EXAMPLE = """curl -X POST {base_url}/v1/agent-state/read \\
  -H "Authorization: Bearer $LASTRO_KEY" -H "Content-Type: application/json" \\
  -d '{{"scope": {{"kind": "conversation", "id": "c-1"}}, "agent": "my-agent"}}'"""


@require_safe
@workspace_page("manage_keys", "view_audit")
def keys(request: Any) -> HttpResponseBase:
    """List the keys; what they open is never shown again."""
    now, state, scope = timezone.now(), request.GET.get("state", ""), request.GET.get("scope", "")
    rows = keys_in_state(api_keys(), state, now=now)
    rows = rows.filter(scopes__contains=[scope]) if scope in KEY_SCOPES else rows
    listed = page(rows, by="created_at", older=request.GET.get("older"), newer=request.GET.get("newer"))
    may_manage = "manage_keys" in request.may
    shown = [_row(request, key, now, may_manage=may_manage) for key in listed.rows]
    context = {
        "filters": _filters(state, scope),
        "keys": shown,
        "page": listed,
        "new_url": here(request, "key_new") if may_manage else "",
        **changes_of(request, AuditFilter(act="key.*"), action="key.*"),
    }
    return show_list(request, "console/keys.html", context, table=Table("keys", COLUMNS, shown))


@require_http_methods(["GET", "POST"])
@workspace_page("manage_keys")
def key_new(request: Any) -> HttpResponse:
    """Make a key and show it once, on the answer itself."""
    form = KeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        now, values = timezone.now(), form.cleaned_data
        wish = KeyWish(
            source=values["source"],
            name=values["name"],
            scopes=tuple(values["scopes"]),
            agents=values["agents"],
            networks=values["networks"],
            resend=values["resend"],
            expires_at=now + timedelta(days=values["expires"]),
        )
        try:
            made = credentials.make_api_key(
                wish=wish, maker=request.user, reason=values["reason"], actor=actor(request), now=now
            )
            return _shown_once(request, made)
        except InvalidInput as error:
            form.add_problems(error.errors, otherwise=in_words(error))
    status = 422 if request.method == "POST" else 200
    return render(request, "console/key_new.html", {"form": form}, status=status)


@require_http_methods(["GET", "POST"])
@workspace_page("manage_keys")
def key_rotate(request: Any, key_id: UUID) -> HttpResponse:
    """Make a new secret with the rights of an old key; both work during the overlap."""
    key = access.one(api_keys(), id=key_id)
    form = RotateForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        overlap, now = timedelta(hours=form.cleaned_data["overlap"]), timezone.now()
        made = credentials.rotate_api_key(
            key_id=key.id,
            overlap=overlap,
            maker=request.user,
            reason=form.cleaned_data["reason"],
            actor=actor(request),
            now=now,
        )
        return _shown_once(request, made, rotated_until=now + overlap)
    context = {"key": _row(request, key, timezone.now(), may_manage=True), "form": form}
    status = 422 if request.method == "POST" else 200
    return dialog(request, "console/key_rotate.html", context, back=here(request, "keys"), status=status)


@require_http_methods(["GET", "POST"])
@workspace_page("manage_keys")
def key_revoke(request: Any, key_id: UUID) -> HttpResponse:
    """Stop a key at once; its name is typed, since this cannot be undone (CO-5)."""
    key, back = access.one(api_keys(), id=key_id), here(request, "keys")
    form = RevokeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["name"] == key.name:
            credentials.revoke_api_key(
                key_id=key.id, reason=form.cleaned_data["reason"], actor=actor(request), now=timezone.now()
            )
            return done(request, back, said=_("The key %(name)s is revoked.") % {"name": key.name})
        form.add_error("name", _("This is not the name of the key."))
    context = {"key": _row(request, key, timezone.now(), may_manage=True), "form": form}
    status = 422 if request.method == "POST" else 200
    return dialog(request, "console/key_revoke.html", context, back=back, status=status)


def prefix_of(credential: Credential, kind: str) -> str:
    """Give the part of a key that people know it by."""
    return f"{kind}_{credential.key_id}"


def status_of(credential: Credential, now: datetime) -> str:
    """Say whether a credential works, and whether it ends soon."""
    if credential.revoked_at is not None:
        return "revoked"
    if credential.expires_at is None:
        return "active"
    if credential.expires_at <= now:
        return "expired"
    return "expiring" if credential.expires_at <= now + SOON else "active"


def _shown_once(request: Any, made: Made, *, rotated_until: datetime | None = None) -> HttpResponse:
    key = access.one(api_keys(), id=made.id)
    context = {
        "key": _row(request, key, timezone.now(), may_manage=True),
        "secret": made.text,
        "example": EXAMPLE.format(base_url=settings.LASTRO_BASE_URL),
        "rotated_until": rotated_until,
    }
    return render(request, "console/key_created.html", context)


def _filters(state: str, scope: str) -> list[Filter]:
    states = [("active", _("active")), ("expired", _("expired")), ("revoked", _("revoked"))]
    scopes = [(name, name) for name in KEY_SCOPES]
    return [
        Filter(name="state", label=_("State"), kind="select", value=state, choices=states),
        Filter(name="scope", label=_("Scope"), kind="select", value=scope, choices=scopes),
    ]


def _row(request: Any, key: ApiKey, now: datetime, *, may_manage: bool) -> KeyRow:
    status = status_of(key, now)
    can_change = may_manage and status in {"active", "expiring"}
    return KeyRow(
        name=key.name,
        source=key.source.name,
        prefix=prefix_of(key, "lst"),
        status=status,
        last_used_on=key.last_used_on,
        expires_at=key.expires_at,
        scopes=key.scopes,
        agents=key.agents,
        networks=key.networks,
        resend=key.resend,
        rotate_url=here(request, "key_rotate", key.id) if can_change else "",
        revoke_url=here(request, "key_revoke", key.id) if can_change else "",
    )
