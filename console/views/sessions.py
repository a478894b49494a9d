"""Where a person is signed in, and ending that (PL-4)."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from console.pages import personal_page, see_other
from workspaces.errors import NotFound
from workspaces.selectors.sign_ins import sessions_of
from workspaces.services import sessions as services


class SessionRow(msgspec.Struct, frozen=True):
    """A session as its owner sees it: never its key."""

    address: str
    browser: str
    began_at: datetime
    seen_at: datetime
    is_this: bool
    end_url: str


def session_rows(request: Any, *, now: datetime) -> list[SessionRow]:
    """List where the person is signed in; the session of this page is ended by signing out."""
    this = request.session.session_key
    return [
        SessionRow(
            address=row.address,
            browser=row.browser,
            began_at=row.began_at,
            seen_at=row.seen_at,
            is_this=row.session_key == this,
            end_url="" if row.session_key == this else reverse("console:session_end", args=[row.id]),
        )
        for row in sessions_of(request.user.id, now=now)
    ]


@require_POST
@personal_page
def session_end(request: Any, session_id: UUID) -> HttpResponse:
    """End one of the person's own sessions."""
    try:
        services.end_session(
            person=request.user, session_id=session_id, origin=request.origin, now=timezone.now()
        )
    except NotFound as error:
        raise Http404 from error
    messages.success(request, _("That session has ended."))
    return see_other(reverse("console:me"))


@require_POST
@personal_page
def sessions_end(request: Any) -> HttpResponse:
    """End all of the person's sessions but this one."""
    services.end_other_sessions(
        person=request.user,
        session_key=request.session.session_key,
        origin=request.origin,
        now=timezone.now(),
    )
    messages.success(request, _("You are signed in here alone."))
    return see_other(reverse("console:me"))
