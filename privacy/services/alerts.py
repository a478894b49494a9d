"""Telling people by e-mail what waits for them, without a word about whom it concerns (PR-17)."""

from datetime import datetime

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import Q

from privacy.selectors import erasures as selectors
from workspaces.selectors.people import members
from workspaces.types import WorkspaceRef

ROLE = "privacy"


@transaction.atomic
def tell_overdue(*, workspace: WorkspaceRef, now: datetime) -> int:
    """Mail the privacy role that requests for erasure are late; give how many are. Each is told of once a day.

    The mail leaves before the transaction ends: where it cannot, the next run tries again.
    """
    today = now.date()
    untold = selectors.overdue(today).filter(Q(reminded_on=None) | Q(reminded_on__lt=today))
    late = untold.update(reminded_on=today)
    people = [member.email for member in members() if ROLE in member.roles]
    if late and people:
        for address in people:
            send_mail(*_overdue_mail(workspace, late), None, [address])
    return late


def _overdue_mail(workspace: WorkspaceRef, late: int) -> tuple[str, str]:
    link = f"{settings.LASTRO_BASE_URL}/console/w/{workspace.slug}/erasures/?due=late"
    what = "A request for erasure is" if late == 1 else f"{late} requests for erasure are"
    text = (
        f"{what} past the legal deadline in {workspace.name}. See which, and what they wait for:\n\n{link}\n"
    )
    return f"{what} late in {workspace.name}", text
