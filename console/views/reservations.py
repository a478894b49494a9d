"""Sessions on which a decision runs, and freeing one whose worker has stopped (HI-5)."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from console.forms.reservations import RecoverForm
from console.pages import actor, asked, dialog, done, here, workspace_page
from console.presenters.changes import changes_of
from console.presenters.features import title_of
from console.presenters.lists import Table, show_list
from console.presenters.rows import Filter
from console.views.features import described
from history.documents import retention_of
from history.models import Session
from history.selectors import metadata as selectors
from history.services.reservations import recover_row
from history.types import SessionMetadata
from workspaces import access, documents
from workspaces.paging import page
from workspaces.selectors.audit import AuditFilter

COLUMNS = ("source", "worker", "since", "status", "provider", "model", "items", "bytes")
LONG = timedelta(minutes=15)
"""A decision that runs for longer has probably lost its worker."""


class ReservationRow(msgspec.Struct, frozen=True):
    """A reserved session as its list shows it: neither its ids nor anything of what it says."""

    row: UUID
    since: datetime
    is_long: bool
    worker: str
    source: str
    provider: str
    model: str
    items: int
    bytes: int
    url: str

    @property
    def status(self) -> str:
        """Give the status word."""
        return "stuck" if self.is_long else "running"


@require_safe
@workspace_page("recover_history")
def reservations(request: Any) -> HttpResponseBase:
    """List the sessions that are reserved, those first that have been for longest."""
    feature = described(request, title_of("history"))
    change_url = here(request, "features") if feature.change_url else ""
    context: dict[str, Any] = {"feature": feature, "change_url": change_url, "reservations": []}
    if feature.enabled:
        context |= _listed(request)
    beside = changes_of(request, AuditFilter(act="history.recover"), action="history.recover")
    return show_list(
        request,
        "console/reservations.html",
        {**context, **beside},
        table=Table("decisions", COLUMNS, context["reservations"]),
    )


@require_http_methods(["GET", "POST"])
@workspace_page("recover_history")
def reservation_recover(request: Any, session_id: UUID) -> HttpResponse:
    """Free a session, with a reason and the word that its worker has stopped."""
    session = access.one(selectors.reservations(), id=session_id)
    form = RecoverForm(request.POST or None, initial={"reservation": session.reservation_id})
    back = here(request, "reservations")
    if request.method == "POST" and form.is_valid():
        if _recover(request, session, form.cleaned_data):
            return done(request, back, said=_("The session is free."))
        form.add_error(None, _("Another decision has begun on it since this page was opened: look again."))
    shown = selectors.metadata_of([session], now=timezone.now())
    context = {"form": form, "session": _row(request, shown[0], timezone.now()) if shown else None}
    status = 422 if request.method == "POST" else 200
    return dialog(request, "console/reservation_recover.html", context, back=back, status=status)


def _recover(request: Any, session: Session, values: dict[str, Any]) -> bool:
    return recover_row(
        workspace=request.workspace,
        session_id=session.id,
        reservation_id=values["reservation"],
        worker_stopped=values["stopped"],
        reason=values["reason"],
        actor=actor(request),
        retention=retention_of(documents.live("retention")),
        now=timezone.now(),
    )


def _listed(request: Any) -> dict[str, Any]:
    now = timezone.now()
    chosen = {name: asked(request, name) for name in selectors.SESSION_FILTERS}
    everything = selectors.reservations()
    listed = page(
        selectors.chosen_sessions(everything, chosen),
        by="reserved_at",
        soonest_first=True,
        older=request.GET.get("older"),
        newer=request.GET.get("newer"),
    )
    rows = selectors.metadata_of(listed.rows, now=now)
    return {
        "filters": filters_of(everything, chosen),
        "reservations": [_row(request, found, now) for found in rows],
        "page": listed,
    }


def filters_of(rows: QuerySet[Session], chosen: dict[str, str]) -> list[Filter]:
    """Give the filters of a list of sessions, with the values that are in it."""
    labels, values = {"source": _("Source"), "provider": _("Provider")}, selectors.session_filters(rows)
    return [
        Filter(
            name=name,
            label=label,
            kind="select",
            value=chosen[name],
            choices=[(value, value) for value in values[name]],
        )
        for name, label in labels.items()
    ]


def _row(request: Any, found: SessionMetadata, now: datetime) -> ReservationRow:
    since = found.reserved_at or now
    return ReservationRow(
        row=found.row,
        since=since,
        is_long=now - since > LONG,
        worker=found.worker,
        source=found.source,
        provider=found.provider,
        model=found.model,
        items=found.items,
        bytes=found.bytes,
        url=here(request, "reservation_recover", found.row),
    )
