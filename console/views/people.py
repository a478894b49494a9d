"""Who works in a workspace, as what, and who is invited (PL-2, PL-4)."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from console.forms.people import InviteForm, RolesForm, WithdrawForm
from console.pages import actor, dialog, done, here, workspace_page
from console.presenters.approvals import carried_out
from console.presenters.changes import changes_of
from console.presenters.lists import Table, show_list
from console.refusals import in_words
from console.rights import permission_titles, role_title, role_titles
from privacy.services import approvals as gate
from workspaces.errors import RoleNotAllowed
from workspaces.models import ChangeRequest, Invitation, Person
from workspaces.rules.rights import ROLES, permissions_of
from workspaces.selectors.approvals import approving_roles
from workspaces.selectors.audit import AuditFilter
from workspaces.selectors.people import Member, members, open_invitations
from workspaces.services import people as services

COLUMNS = ("name", "email", "roles", "second_factor", "last_sign_in")


class PersonRow(msgspec.Struct, frozen=True):
    name: str
    email: str
    roles: list[str]
    joined_at: datetime
    last_sign_in: datetime | None
    is_self: bool
    has_second_factor: bool
    roles_url: str
    reset_url: str

    @property
    def second_factor(self) -> str:
        """Give the status word."""
        return "on" if self.has_second_factor else "off"


class InvitationRow(msgspec.Struct, frozen=True):
    email: str
    roles: list[str]
    invited_by: str
    expires_at: datetime
    withdraw_url: str = ""


class RoleRow(msgspec.Struct, frozen=True):
    role: str
    may: list[str]


@require_safe
@workspace_page("manage_people", "view_audit")
def people(request: Any) -> HttpResponseBase:
    """List the members, the open invitations, and what each role may do."""
    rows = [_row(request, member) for member in members()]
    context = {
        "people": rows,
        "invitations": [_invitation_row(request, row) for row in open_invitations(now=timezone.now())],
        "invite_url": here(request, "invite") if "manage_people" in request.may else "",
        "role_table": [RoleRow(role_title(role), permission_titles(held)) for role, held in ROLES.items()],
        **changes_of(request, AuditFilter(object_kind="person"), object="person"),
    }
    return show_list(request, "console/people.html", context, table=Table("people", COLUMNS, rows))


@require_http_methods(["GET", "POST"])
@workspace_page("manage_people")
def invite(request: Any) -> HttpResponse:
    """Invite somebody by e-mail; the link works once."""
    form, back = InviteForm(request.POST or None), here(request, "people")
    if request.method == "POST" and form.is_valid():
        asked_for = _invited(request, form)
        if not form.errors:
            return carried_out(request, asked_for, back, said=_("The invitation is on its way."))
    context = {"form": form, "days": services.INVITATION_LIFE.days}
    status = 422 if request.method == "POST" else 200
    return dialog(request, "console/invite.html", context, back=back, status=status)


@require_http_methods(["GET", "POST"])
@workspace_page("manage_people")
def invitation_withdraw(request: Any, invitation_id: UUID) -> HttpResponse:
    """End an invitation before it is used."""
    now, back = timezone.now(), here(request, "people")
    found = next((row for row in open_invitations(now=now) if row.id == invitation_id), None)
    if found is None:
        raise Http404
    form = WithdrawForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.withdraw_invitation(
            invitation_id=found.id, reason=form.cleaned_data["reason"], actor=actor(request), now=now
        )
        return done(request, back, said=_("The invitation is withdrawn."))
    context = {"invitation": _invitation_row(request, found), "form": form}
    status = 422 if request.method == "POST" else 200
    return dialog(request, "console/invitation_withdraw.html", context, back=back, status=status)


@require_http_methods(["GET", "POST"])
@workspace_page("manage_people")
def person_roles(request: Any, person_id: UUID) -> HttpResponse:
    """Change somebody's roles in two steps: choose, then confirm with what is gained and lost (CO-5)."""
    services.require_another(person_id=person_id, changer_id=request.user.id)
    member = _member(person_id)
    form = RolesForm(request.POST or None, initial={"roles": member.roles})
    context: dict[str, Any] = {
        "someone": member,
        "roles_now": role_titles(member.roles),
        "confirming": False,
        "form": form,
    }
    back = here(request, "people")
    if request.method == "POST" and form.is_valid() and _is_change(member, form):
        if form.cleaned_data["step"] == "confirm":
            said = _("The roles of %(name)s are changed.") % {"name": member.name}
            return carried_out(request, _change(request, member, form), back, said=said)
        context |= _confirmation(member, form)
        return dialog(request, "console/person_roles.html", context, back=back)
    status = 422 if request.method == "POST" else 200
    return dialog(request, "console/person_roles.html", context, back=back, status=status)


def _invited(request: Any, form: InviteForm) -> ChangeRequest | None:
    """Invite, or ask for it where that takes a second person, or say at the form why not."""
    try:
        return gate.invite(
            email=form.cleaned_data["email"],
            roles=form.cleaned_data["roles"],
            inviter=request.user,
            reason=form.cleaned_data["reason"],
            actor=actor(request),
            now=timezone.now(),
        )
    except RoleNotAllowed as error:
        form.add_error("email", in_words(error))
    return None


def _is_change(member: Member, form: RolesForm) -> bool:
    if set(form.cleaned_data["roles"]) == set(member.roles):
        form.add_error("roles", _("These are the roles that the person holds now."))
    return not form.errors


def _change(request: Any, member: Member, form: RolesForm) -> ChangeRequest | None:
    return gate.change_roles(
        person=Person.objects.get(id=member.id),
        roles=form.cleaned_data["roles"],
        changer=request.user,
        reason=form.cleaned_data["reason"],
        actor=actor(request),
        now=timezone.now(),
    )


def _confirmation(member: Member, form: RolesForm) -> dict[str, Any]:
    """Show now and after; what was chosen goes along hidden."""
    before, after = permissions_of(member.roles), permissions_of(form.cleaned_data["roles"])
    confirm = RolesForm(initial={**form.cleaned_data, "step": "confirm"})
    for name in ("roles", "reason"):
        field = confirm.fields[name]
        field.widget = field.hidden_widget()
    return {
        "confirming": True,
        "form": confirm,
        "roles_after": role_titles(form.cleaned_data["roles"]),
        "gained": permission_titles(after - before),
        "lost": permission_titles(before - after),
        "needs_approval": bool(approving_roles(set(form.cleaned_data["roles"]) - set(member.roles))),
    }


def _member(person_id: UUID) -> Member:
    for member in members():
        if member.id == person_id:
            return member
    raise Http404


def _row(request: Any, member: Member) -> PersonRow:
    is_self = member.id == request.user.id
    may_change = "manage_people" in request.may and not is_self
    return PersonRow(
        name=member.name,
        email=member.email,
        roles=role_titles(member.roles),
        joined_at=member.joined_at,
        last_sign_in=member.last_sign_in,
        is_self=is_self,
        has_second_factor=member.has_second_factor,
        roles_url=here(request, "person_roles", member.id) if may_change else "",
        reset_url=here(request, "person_second_factor", member.id)
        if may_change and member.has_second_factor
        else "",
    )


def _invitation_row(request: Any, invitation: Invitation) -> InvitationRow:
    may_change = "manage_people" in request.may
    return InvitationRow(
        email=invitation.email,
        roles=role_titles(invitation.roles),
        invited_by=invitation.invited_by.name if invitation.invited_by else "",
        expires_at=invitation.expires_at,
        withdraw_url=here(request, "invitation_withdraw", invitation.id) if may_change else "",
    )
