"""Changes that take two people come into force here, whatever they are and however they were asked for (PR-2b)."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.utils.translation import gettext as _

from privacy.services import alerts, documents
from privacy.services.documents import propose_change, publish_change
from workspaces import access
from workspaces.errors import Conflict, OwnChange, Problem, RoleNotAllowed, Unavailable, WrongVersion
from workspaces.languages import spoken_to
from workspaces.models import ChangeRequest, Membership, Person
from workspaces.rules import approvals as rules
from workspaces.selectors.approvals import (
    approving_roles,
    bound_workspace,
    four_eyes,
    needs_approval,
    require_cleared,
    takes_approval,
)
from workspaces.selectors.people import Member, members, require_permission, roles_of
from workspaces.services import approvals, people
from workspaces.types import Actor, ChangeWish, Decider, WorkspaceRef

SCHEDULE = Actor(kind="system", id="schedule", name="schedule")
Status = ChangeRequest.Status


@transaction.atomic
def approve(
    *, change_id: UUID, reason: str = "", seen: str = "", by: Decider, now: datetime
) -> ChangeRequest:
    """Approve a change (PR-2, PR-2b). `seen` is the digest of the content that the person looked at.

    Where four eyes hold, another person than the author approves exactly what the change says now; if they may also
    publish it, it comes into force at once, or at the time that the author asked for. Where they do not, the person
    with the right to publish does so by this, the author too. Raises WrongVersion for another content than was seen.
    """
    change = approvals.locked(change_id, seen=seen)
    if not takes_approval(change):
        return _publish(change, by=by, now=now)
    approvals.approve_request(request=change, reason=reason, by=by, now=now)
    if rules.may("publish", change.kind, by.may):
        return _publish(change, by=by, now=now)
    return change.refresh()


@transaction.atomic
def publish(
    *, change_id: UUID, reason: str = "", seen: str = "", by: Decider, now: datetime
) -> ChangeRequest:
    """Put a change into force that has what it takes, at once or at the time that the author asked for.

    A reason of who publishes is an audit entry of its own; the publication's has the reason of the change.
    """
    change = approvals.locked(change_id, seen=seen)
    published = _publish(change, by=by, now=now)
    if reason:
        approvals.note("release", change, actor=by.actor, reason=reason, now=now)
    return published


@transaction.atomic
def break_glass(*, change_id: UUID, reason: str, seen: str = "", by: Decider, now: datetime) -> ChangeRequest:
    """Put a change into force at once without approval, and tell every security person by e-mail (PR-2b).

    It takes an owner, and for `features`, weaker four eyes and approving roles one who is security too.
    """
    change = approvals.locked(change_id, seen=seen)
    if not takes_approval(change):
        raise Conflict("The change takes no approval: publish it.")
    if change.body.get("person") == str(by.person_id):
        raise OwnChange("Nobody changes their own roles.")
    approvals.break_glass_for(request=change, reason=reason, by=by, now=now)
    _put_in_force(change, by=by, now=now)
    workspace = bound_workspace()
    told = [member for member in members() if "security" in member.roles]
    # A mail server that is away must not answer an error for what is committed; the audit says it too.
    transaction.on_commit(lambda: _alert(workspace, change, told), robust=True)
    return change.refresh()


@transaction.atomic
def publish_due(*, change_id: UUID, now: datetime) -> ChangeRequest:
    """Put a scheduled change into force whose time has come, or keep that it failed, for everybody to see (PR-2b).

    Its author and who scheduled it are told by e-mail. A store that is away leaves it for the next time.
    """
    change = approvals.locked(change_id, statuses=(Status.SCHEDULED,))
    by = Decider(change.publisher_id, frozenset(), SCHEDULE)
    try:
        with transaction.atomic():
            _put_in_force(change, by=by, now=now)
    except Unavailable:
        raise
    except Problem as problem:
        change.refresh()
        approvals.fail_request(request=change, code=problem.code, actor=SCHEDULE, now=now)
        workspace, told = bound_workspace(), _concerned(change)
        transaction.on_commit(lambda: _tell_of_failure(workspace, change, told), robust=True)
    return change.refresh()


@transaction.atomic
def change_document(
    *, wish: ChangeWish, person_id: UUID | None, actor: Actor, now: datetime
) -> ChangeRequest | None:
    """Publish a version at once; give the request instead where four eyes hold for its kind (PR-2, PR-2b)."""
    approvals.hold()
    if needs_approval(wish.kind):
        return propose_change(wish=wish, author_id=person_id, actor=actor, now=now).change
    documents.change_document(wish=wish, person_id=person_id, actor=actor, now=now)
    return None


@transaction.atomic
def change_four_eyes(
    *, kinds: Iterable[str], replaces: int, reason: str, by: Decider, now: datetime
) -> ChangeRequest | None:
    """Set where four eyes hold; give the request instead where that ends them for a kind (PR-2b).

    Turning them on holds at once, for security and owners; turning them off is asked for, and another one approves.
    """
    approvals.hold()
    approvals.require_permission_for("propose", rules.FOUR_EYES, by)
    chosen, setting = approvals.known_kinds(kinds), four_eyes()
    if not rules.weakened(setting.kinds, chosen):
        approvals.set_four_eyes(kinds=chosen, replaces=replaces, reason=reason, by=by, now=now)
        return None
    if setting.version != replaces:
        raise WrongVersion(f"Version {setting.version} of the setting is live.")
    body = {"before": setting.kinds, "kinds": chosen}
    wish = ChangeWish(kind=rules.FOUR_EYES, document=body, reason=reason, replaces=replaces)
    change = approvals.open_request(wish=wish, author_id=by.person_id, actor=by.actor, now=now)
    alerts.tell_change_waits(change)
    return change


@transaction.atomic
def change_roles(
    *, person: Person, roles: Iterable[str], changer: Person, reason: str, actor: Actor, now: datetime
) -> ChangeRequest | None:
    """Change somebody's roles; give the request instead where they gain approving roles and four eyes hold (PR-2b)."""
    approvals.hold()
    before, after = list(roles_of(person)), people.known_roles(roles)
    if not approving_roles(set(after) - set(before)):
        people.change_roles(person=person, roles=after, changer=changer, reason=reason, actor=actor, now=now)
        return None
    people.require_another(person_id=person.id, changer_id=changer.id)
    require_permission(changer, bound_workspace(), "manage_people")
    access.one(Membership, person=person)
    body = {"person": str(person.id), "before": before, "after": after}
    return _ask_for_roles(body, author=changer, reason=reason, actor=actor, now=now)


@transaction.atomic
def invite(
    *, email: str, roles: Iterable[str], inviter: Person, reason: str, actor: Actor, now: datetime
) -> ChangeRequest | None:
    """Invite somebody; give the request instead where the roles approve and four eyes hold (PR-2b).

    Then the link is sent when another person has approved it.
    """
    approvals.hold()
    chosen, workspace = people.known_roles(roles), bound_workspace()
    if not approving_roles(chosen):
        people.invite(
            workspace=workspace,
            email=email,
            roles=chosen,
            inviter=inviter,
            reason=reason,
            actor=actor,
            now=now,
        )
        return None
    require_permission(inviter, workspace, "manage_people")
    people.require_no_member(email)
    body = {"email": email.lower(), "after": chosen}
    return _ask_for_roles(body, author=inviter, reason=reason, actor=actor, now=now)


def _ask_for_roles(
    body: Mapping[str, Any], *, author: Person, reason: str, actor: Actor, now: datetime
) -> ChangeRequest:
    wish = ChangeWish(kind=rules.ROLE_GRANT, document=dict(body), reason=reason, replaces=0)
    change = approvals.open_request(wish=wish, author_id=author.id, actor=actor, now=now)
    alerts.tell_change_waits(change)
    return change


def _publish(change: ChangeRequest, *, by: Decider, now: datetime) -> ChangeRequest:
    approvals.require_may("publish", change, by)
    require_cleared(change)
    if change.publish_at is not None and change.publish_at > now:
        approvals.schedule_request(request=change, by=by, now=now)
    else:
        _put_in_force(change, by=by, now=now)
    return change.refresh()


def _put_in_force(change: ChangeRequest, *, by: Decider, now: datetime) -> None:
    """Make a locked change hold; what makes it hold asks once more whether it may."""
    if change.kind == rules.FOUR_EYES:
        approvals.set_four_eyes(
            kinds=change.body["kinds"],
            replaces=change.replaces,
            reason=change.reason,
            by=by,
            now=now,
            request=change,
        )
        approvals.close_published(request=change, publisher_id=by.person_id)
    elif change.kind == rules.ROLE_GRANT:
        _grant(change, actor=by.actor, now=now)
        approvals.close_published(request=change, publisher_id=by.person_id)
    else:
        publish_change(change_id=change.id, publisher_id=by.person_id, actor=by.actor, now=now)


def _grant(change: ChangeRequest, *, actor: Actor, now: datetime) -> None:
    """Give the roles of a request, in the name of its author, who must still be allowed to."""
    author = change.author
    if author is None:
        raise RoleNotAllowed("Nobody asked for these roles.")
    if "email" in change.body:
        require_permission(author, bound_workspace(), "manage_people")
        people.invite(
            workspace=bound_workspace(),
            email=change.body["email"],
            roles=change.body["after"],
            inviter=author,
            reason=change.reason,
            actor=actor,
            now=now,
            request=change,
        )
        return
    person = Person.objects.get(id=change.body["person"])
    if list(roles_of(person)) != change.body["before"]:
        raise WrongVersion("The person holds other roles by now.")
    people.change_roles(
        person=person,
        roles=change.body["after"],
        changer=author,
        reason=change.reason,
        actor=actor,
        now=now,
        request=change,
    )


def _concerned(change: ChangeRequest) -> list[Person]:
    told = {person.id: person for person in (change.author, change.publisher) if person}
    return list(told.values())


def _link(workspace: WorkspaceRef, change: ChangeRequest) -> str:
    return f"{settings.LASTRO_BASE_URL}/console/w/{workspace.slug}/approvals/{change.id}/"


def _alert(workspace: WorkspaceRef, change: ChangeRequest, people_told: Iterable[Member]) -> None:
    """Name the kind and the way to the change, never what it says."""
    words = {"kind": change.kind, "name": workspace.name}
    for person in people_told:
        with spoken_to(person):
            title = _("Published without approval: %(kind)s in %(name)s") % words
            text = _(
                "A change of `%(kind)s` in %(name)s was published without the approval of a second person."
            )
            send_mail(
                title, _with_link(text % words, _("Review it:"), workspace, change), None, [person.email]
            )


def _tell_of_failure(workspace: WorkspaceRef, change: ChangeRequest, people_told: Iterable[Person]) -> None:
    words = {"kind": change.kind, "name": workspace.name, "failure": change.failure}
    for person in people_told:
        with spoken_to(person):
            title = _("Not published: %(kind)s in %(name)s") % words
            text = _("The scheduled change of `%(kind)s` in %(name)s was not published: %(failure)s.")
            send_mail(title, _with_link(text % words, _("See it:"), workspace, change), None, [person.email])


def _with_link(text: str, lead: str, workspace: WorkspaceRef, change: ChangeRequest) -> str:
    return f"{text}\n\n{lead} {_link(workspace, change)}\n"
