"""People join by invitation, hold roles, and sign in (PL-2, PL-4)."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from workspaces import access, audit, deployment, locks
from workspaces.errors import ApprovalRequired, InvitationInvalid, RoleNotAllowed
from workspaces.languages import spoken_to
from workspaces.models import ChangeRequest, Invitation, Membership, Person, PersonalToken, Role
from workspaces.rules.approvals import ROLE_GRANT
from workspaces.rules.rights import ROLE_TITLES, ROLES
from workspaces.rules.rights import permissions_of as permissions_of_roles
from workspaces.selectors.approvals import approving_roles
from workspaces.selectors.people import require_permission, roles_of
from workspaces.services import approvals, lockouts
from workspaces.types import Actor, AuditObject, Origin, WorkspaceRef

INVITATION_LIFE = timedelta(days=7)
_NOT_APPROVED = gettext_noop("A second person has to approve these roles by now: ask for another invitation.")
_MEMBER_ALREADY = gettext_noop("This person is a member already: change their roles instead.")


def actor_of(person: Person, origin: Origin, *, roles: tuple[str, ...] = ()) -> Actor:
    """Give a person as the audit names them, with the roles held where they act."""
    return Actor(
        kind="person",
        id=str(person.id),
        name=person.email,
        roles=roles,
        address=origin.address,
        request_id=origin.request_id,
    )


@transaction.atomic
def invite(
    *,
    workspace: WorkspaceRef,
    email: str,
    roles: Iterable[str],
    inviter: Person | None,
    reason: str = "",
    actor: Actor,
    now: datetime,
    request: ChangeRequest | None = None,
) -> str:
    """Invite somebody by e-mail; give the link's token, which is stored hashed and works once within 7 days.

    Where four eyes hold, approving roles take an approved request (PR-2b), or ApprovalRequired.
    """
    approvals.hold()
    chosen = known_roles(roles)
    _require_cleared(chosen, request, {"email": email.lower(), "after": chosen})
    require_no_member(email)
    token = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        email=email.lower(),
        roles=chosen,
        token_hash=_token_hash(token),
        request=request,
        invited_by=inviter,
        made_at=now,
        expires_at=now + INVITATION_LIFE,
    )
    audit.record(
        "person.invite",
        actor=actor,
        now=now,
        on=AuditObject("invitation", str(invitation.id)),
        reason=reason,
        facts={"roles": chosen},
    )
    # A mail server that is away must not answer an error for what is committed: the invitation can be sent again.
    transaction.on_commit(lambda: _mail_invitation(email, workspace, token, inviter), robust=True)
    return token


@transaction.atomic
def withdraw_invitation(*, invitation_id: UUID, reason: str, actor: Actor, now: datetime) -> None:
    """End an open invitation at once: its link opens nothing any more. Raises NotFound for one that is not open."""
    rows = Invitation.objects.select_for_update()
    invitation = access.one(rows, id=invitation_id, accepted_at=None, expires_at__gt=now)
    invitation.expires_at = now
    invitation.save(update_fields=["expires_at"])
    audit.record(
        "person.withdraw_invitation",
        actor=actor,
        now=now,
        on=AuditObject("invitation", str(invitation.id)),
        reason=reason,
    )


def invitation_link(token: str) -> str:
    """Give the address that an invited person opens."""
    return f"{settings.LASTRO_BASE_URL}/console/invitation/{token}/"


def open_invitation(token: str, *, now: datetime) -> Invitation:
    """Give the invitation that a link names, or refuse one that is unknown, used or expired."""
    invitation = access.find_invitation(_token_hash(token))
    if invitation is None or invitation.accepted_at is not None or now >= invitation.expires_at:
        raise InvitationInvalid
    return invitation


class InvitationView(msgspec.Struct, frozen=True):
    """An invitation as the invited person sees it."""

    email: str
    workspace: str
    invited_by: str
    roles: list[str]
    expires_at: datetime
    has_account: bool


def invitation_of(token: str, *, now: datetime) -> InvitationView:
    """Describe an open invitation to who holds its link. Raises InvitationInvalid."""
    invitation = open_invitation(token, now=now)
    inviter = invitation.invited_by
    return InvitationView(
        email=invitation.email,
        workspace=invitation.workspace.name,
        invited_by=inviter.name if inviter else "The operator of this server",
        roles=[ROLE_TITLES[role] for role in invitation.roles],
        expires_at=invitation.expires_at,
        has_account=Person.objects.filter(email=invitation.email).exists(),
    )


def accept_invitation(*, token: str, name: str, password: str, origin: Origin, now: datetime) -> Person:
    """Make the invited person a member, with a new account or the one that has their address already.

    An existing account keeps its name; its password must be the one given, or the invitation is refused and the try
    counts as a failed sign-in. Raises InvitationInvalid, and RoleNotAllowed for who is a member already.
    """
    invitation = open_invitation(token, now=now)
    account = Person.objects.filter(email=invitation.email).first()
    if account is not None:
        _require_password(account, password, origin=origin, now=now)
    with access.bound(invitation.workspace.id), transaction.atomic():
        # The row's lock stops a link that is used twice at once.
        locked = Invitation.objects.select_for_update().filter(id=invitation.id, accepted_at=None).first()
        if locked is None:
            raise InvitationInvalid
        person = account or Person.objects.create_user(
            email=locked.email, name=name, password=password, joined_at=now
        )
        try:
            join(
                person=person,
                roles=locked.roles,
                actor=actor_of(person, origin),
                now=now,
                request=locked.request,
            )
        except ApprovalRequired as error:
            raise RoleNotAllowed(_NOT_APPROVED) from error
        locked.accepted_at = now
        locked.save(update_fields=["accepted_at"])
    return person


@transaction.atomic
def join(
    *,
    person: Person,
    roles: Iterable[str],
    actor: Actor,
    now: datetime,
    request: ChangeRequest | None = None,
) -> None:
    """Make a person a member of the bound workspace with these roles. Raises RoleNotAllowed for a member.

    Where four eyes hold, approving roles take an approved request (PR-2b), or ApprovalRequired.
    """
    approvals.hold()
    chosen = known_roles(roles)
    _require_cleared(chosen, request, {"email": person.email, "after": chosen})
    _, is_new = Membership.objects.get_or_create(person=person, defaults={"joined_at": now})
    if not is_new:
        # Else an invitation of one's own address would be a way to change one's own roles (PL-2).
        raise RoleNotAllowed(_MEMBER_ALREADY)
    _set_roles(person, chosen)
    audit.record(
        "person.join",
        actor=actor,
        now=now,
        on=AuditObject("person", str(person.id)),
        facts={"roles": chosen},
    )


@transaction.atomic
def change_roles(
    *,
    person: Person,
    roles: Iterable[str],
    changer: Person,
    reason: str,
    actor: Actor,
    now: datetime,
    request: ChangeRequest | None = None,
) -> None:
    """Give a member of the bound workspace exactly these roles (PL-2).

    Nobody changes their own. One change goes at a time, and the changer must still hold the right then, so that two
    owners who take it from each other leave one. Tokens that need a permission that goes are revoked (PL-3). Where
    four eyes hold, a gain of approving roles takes an approved request (PR-2b), or ApprovalRequired.
    """
    require_another(person_id=person.id, changer_id=changer.id)
    approvals.hold()
    locks.lock(locks.number(b"roles"))
    require_permission(changer, access.one(Membership, person=changer).workspace.ref, "manage_people")
    access.one(Membership, person=person)
    before, after = list(roles_of(person)), known_roles(roles)
    wanted = {"person": str(person.id), "before": before, "after": after}
    _require_cleared(set(after) - set(before), request, wanted)
    _set_roles(person, after)
    revoked = _revoke_tokens_beyond(person, permissions_of_roles(after), now=now)
    audit.record(
        "role.change",
        actor=actor,
        now=now,
        on=AuditObject("person", str(person.id)),
        reason=reason,
        facts={"before": before, "after": after, "tokens_revoked": revoked},
    )


def require_no_member(email: str) -> None:
    """Refuse to invite who is a member of the bound workspace."""
    if Membership.objects.filter(person__email=email.lower()).exists():
        raise RoleNotAllowed(_MEMBER_ALREADY)


def require_another(*, person_id: UUID, changer_id: UUID) -> None:
    """Refuse who would change their own roles (PL-2)."""
    if person_id == changer_id:
        raise RoleNotAllowed("Nobody changes their own roles: ask another owner.")


def change_settings(*, person: Person, name: str, language: str, time_zone: str) -> None:
    """Change how a person is called, in which language they read, and in which zone they see times."""
    person.name, person.language, person.time_zone = name, language, time_zone
    person.save(update_fields=["name", "language", "time_zone"])


def change_language(*, person: Person, language: str) -> None:
    """Change in which language a person reads pages and mails."""
    person.language = language
    person.save(update_fields=["language"])


@transaction.atomic
def note_sign_in(*, person: Person, origin: Origin, now: datetime, by: str = "password") -> None:
    """Write a sign-in and what proved it to the deployment's chain, and forget earlier failures."""
    Person.objects.filter(id=person.id).update(failed_sign_ins=0, locked_until=None)
    on = AuditObject("person", str(person.id))
    audit.record_outside("person.sign_in", actor=actor_of(person, origin), now=now, on=on, facts={"by": by})


@transaction.atomic
def note_failed_sign_in(*, email: str, origin: Origin, now: datetime) -> None:
    """Write a failed sign-in, the name as a keyed hash (PR-21); too many lock the account and where they come from."""
    # The rows before the chain, in one order everywhere: two failures at once must not wait for each other.
    person = Person.objects.select_for_update().filter(email=email.lower()).first()
    name = AuditObject("name_hash", deployment.hashed("sign-in-name", email.lower()).hex())
    locked = lockouts.count_failure(person=person, name=name, address=origin.address, now=now)
    actor = Actor(kind="person", id="", name="", address=origin.address, request_id=origin.request_id)
    audit.record_outside("person.sign_in", actor=actor, now=now, on=name, result="refused")
    for on in locked:
        lockouts.note_lock(on=on, actor=actor, now=now)


def is_own_password(*, person: Person, password: str, origin: Origin, now: datetime) -> bool:
    """Tell whether a password is the person's; a wrong one is a failed sign-in, so that no form can guess it (PL-4)."""
    if person.is_active and not person.is_locked(now) and person.check_password(password):
        return True
    note_failed_sign_in(email=person.email, origin=origin, now=now)
    return False


@transaction.atomic
def choose_password(*, person: Person, password: str, origin: Origin, now: datetime) -> None:
    """Give a person the new password that they chose by the link that was mailed to them (PL-4)."""
    person.set_password(password)
    person.save(update_fields=["password"])
    audit.record_outside(
        "person.new_password",
        actor=actor_of(person, origin),
        now=now,
        on=AuditObject("person", str(person.id)),
    )


@transaction.atomic
def note_sign_out(*, person: Person, origin: Origin, now: datetime) -> None:
    """Write a sign-out to the deployment's chain."""
    audit.record_outside(
        "person.sign_out", actor=actor_of(person, origin), now=now, on=AuditObject("person", str(person.id))
    )


def _require_password(person: Person, password: str, *, origin: Origin, now: datetime) -> None:
    if not is_own_password(person=person, password=password, origin=origin, now=now):
        raise InvitationInvalid("The address has an account already: use its password.")


def _revoke_tokens_beyond(person: Person, held: frozenset[str], *, now: datetime) -> int:
    """Revoke the person's tokens that hold more than the person does; give how many."""
    live = PersonalToken.objects.filter(person=person, revoked_at=None)
    return live.exclude(permissions__contained_by=sorted(held)).update(revoked_at=now)


def _require_cleared(gained: Iterable[str], request: ChangeRequest | None, wanted: dict[str, Any]) -> None:
    """Refuse a grant of approving roles where four eyes hold and nobody else approved it (PR-2b)."""
    if approving_roles(gained):
        approvals.require_request(request, kind=ROLE_GRANT, body=wanted)


def _set_roles(person: Person, roles: list[str]) -> None:
    for role in Role.objects.select_related("group"):
        if role.role in roles:
            person.groups.add(role.group)
        else:
            person.groups.remove(role.group)


def known_roles(roles: Iterable[str]) -> list[str]:
    """Give roles in one order, or refuse one that does not exist."""
    chosen = sorted(set(roles))
    if not set(chosen) <= set(ROLES):
        raise RoleNotAllowed("One of the roles does not exist.")
    return chosen


def _token_hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _mail_invitation(email: str, workspace: WorkspaceRef, token: str, inviter: Person | None) -> None:
    """Send the link, in the language of whoever has an account already, or else of who invites."""
    known = Person.objects.filter(email=email.lower()).first()
    with spoken_to(known, otherwise=inviter.language if inviter else ""):
        title = _("You are invited to %(name)s on Lastro") % {"name": workspace.name}
        text = _("Open this link within 7 days to join %(name)s:") % {"name": workspace.name}
    send_mail(title, f"{text}\n\n{invitation_link(token)}\n", None, [email])
