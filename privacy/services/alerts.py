"""Telling people by e-mail what waits for them, without a word about whom it concerns (PL-4, PR-17, CO-6)."""

from collections.abc import Iterable
from datetime import datetime

import msgspec
from django.conf import settings
from django.core.mail import EmailMessage, get_connection, send_mail
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext, gettext_noop, ngettext

from privacy.models import ErasureRequest
from privacy.selectors import erasures as selectors
from privacy.selectors.approvals import needs_approval
from workspaces.languages import spoken_to
from workspaces.models import ChangeRequest
from workspaces.rules import approvals as rules
from workspaces.rules.rights import permissions_of
from workspaces.selectors.approvals import bound_workspace, is_own, takes_approval
from workspaces.selectors.people import Member, members
from workspaces.types import Actor, WorkspaceRef

ROLE = "privacy"


class Title(msgspec.Struct, frozen=True):
    """What a mail is about, before its reader and so its language is known."""

    text: str
    what: str

    def within(self, workspace: WorkspaceRef) -> str:
        """Say it in the language that is spoken now."""
        return gettext(self.text) % {"what": self.what, "name": workspace.name}


@transaction.atomic
def tell_overdue(*, workspace: WorkspaceRef, now: datetime) -> int:
    """Mail the privacy role that requests for erasure are late; give how many are. Each is told of once a day.

    The mail leaves before the transaction ends: where it cannot, the next run tries again.
    """
    today = now.date()
    untold = selectors.overdue(today).filter(Q(reminded_on=None) | Q(reminded_on__lt=today))
    late = untold.update(reminded_on=today)
    people = [member for member in members() if ROLE in member.roles]
    if late:
        for person in people:
            with spoken_to(person):
                send_mail(*_overdue_mail(workspace, late), None, [person.email])
    return late


def tell_change_waits(change: ChangeRequest) -> None:
    """Mail everybody who may approve a change, once its transaction has committed, that it waits for one of them.

    Not its author, nor whom it is about; nobody where it takes no approval. The mail names the kind and the page.
    """
    if not takes_approval(change):
        return
    approvers = [
        member
        for member in members()
        if rules.may("approve", change.kind, permissions_of(member.roles)) and not is_own(change, member.id)
    ]
    title = Title(gettext_noop("A change of `%(what)s` waits for approval in %(name)s"), change.kind)
    _mail_on_commit(approvers, title, f"approvals/{change.id}/")


def tell_erasure_waits(request: ErasureRequest, *, actor: Actor) -> None:
    """Mail everybody who may approve an erasure, once its transaction has committed, that it waits for one of them.

    Not whoever made it wait; nor who asked for it, where that one must not approve it. The mail names its number and
    the page, and nothing of whom it is about.
    """
    if request.status != ErasureRequest.Status.VERIFIED:
        return
    besides = {actor.name} | ({request.asked_by} if needs_approval("erasure") else set())
    approvers = [
        member
        for member in members()
        if "approve_erasure" in permissions_of(member.roles) and member.email not in besides
    ]
    title = Title(
        gettext_noop("The request for erasure %(what)s waits for approval in %(name)s"), request.reference
    )
    _mail_on_commit(approvers, title, f"erasures/{request.id}/")


def _mail_on_commit(people: Iterable[Member], title: Title, page: str) -> None:
    """Send when the transaction has committed; a mail server that is away must not undo or refuse what is there."""
    workspace = bound_workspace()
    link = f"{settings.LASTRO_BASE_URL}/console/w/{workspace.slug}/{page}"
    mails = [_waits_mail(person, title, workspace, link) for person in people]
    if mails:
        transaction.on_commit(lambda: _send(mails), robust=True)


def _waits_mail(person: Member, about: Title, workspace: WorkspaceRef, link: str) -> EmailMessage:
    with spoken_to(person):
        title, advice = about.within(workspace), gettext("You may approve or deny it:")
        return EmailMessage(title, f"{title}. {advice}\n\n{link}\n", None, [person.email])


def _send(mails: list[EmailMessage]) -> None:
    get_connection().send_messages(mails)


def _overdue_mail(workspace: WorkspaceRef, late: int) -> tuple[str, str]:
    link = f"{settings.LASTRO_BASE_URL}/console/w/{workspace.slug}/erasures/?due=late"
    words = {"n": late, "name": workspace.name}
    title = ngettext(
        "A request for erasure is late in %(name)s",
        "%(n)s requests for erasure are late in %(name)s",
        late,
    )
    text = ngettext(
        "A request for erasure is past the legal deadline in %(name)s.",
        "%(n)s requests for erasure are past the legal deadline in %(name)s.",
        late,
    )
    advice = gettext("See which, and what they wait for:")
    return title % words, f"{text % words} {advice}\n\n{link}\n"
