"""What the overview gathers of each workspace of a person, by what they may see there (PL-2)."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from itertools import chain

import msgspec
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.presenters.charts import Chart, added, charts
from console.presenters.rows import Change, object_words
from privacy.selectors import erasures
from workspaces.models import Person
from workspaces.rules import approvals as rules
from workspaces.rules.approvals import ASKED
from workspaces.selectors.approvals import waiting_for_others
from workspaces.selectors.audit import AuditFilter, entries
from workspaces.selectors.credentials import expiring_keys
from workspaces.types import WorkspaceRef

WEEK = timedelta(days=7)
SHOWN_CHANGES = 8
MAX_COUNT = 99
OPERATORS = frozenset({"view_usage", "manage_workspace"})
"""One of these opens the page Health."""
ERASURE_READERS = frozenset({"request_erasure", "approve_erasure"})


class Tile(msgspec.Struct, frozen=True):
    """A card: what it counts, how many, what that means, and where it leads."""

    title: str
    value: str | int
    text: str
    tone: str
    url: str = ""


class Glance(msgspec.Struct, frozen=True):
    """What there is to see of one workspace; None where the person may not see it."""

    workspace: WorkspaceRef
    approvals: int | None
    due: int | None
    late: int | None
    features: int
    keys: int | None
    requests: Chart | None
    operates: bool
    changes: list[Change] | None


def glance(
    person: Person, workspace: WorkspaceRef, may: frozenset[str], *, now: datetime, zone: tzinfo
) -> Glance:
    """Look at the bound workspace as one of its members."""
    today, privacy = now.date(), not may.isdisjoint(ERASURE_READERS)
    close = erasures.close_to_due(today) if privacy else None
    shown = charts(span="24h", now=now, zone=zone, only=("requests",)) if "view_usage" in may else [None]
    return Glance(
        workspace=workspace,
        approvals=waiting_for(person, may),
        due=close[:MAX_COUNT].count() if close is not None else None,
        late=close.filter(due_on__lt=today)[:MAX_COUNT].count() if close is not None else None,
        features=sum(entry.at >= now - WEEK for entry in entries(AuditFilter(act="feature.*"))[:MAX_COUNT]),
        keys=expiring_keys(now=now, until=now + WEEK)[:MAX_COUNT].count() if "manage_keys" in may else None,
        requests=shown[0],
        operates=not may.isdisjoint(OPERATORS),
        changes=_changes(workspace, since=now - WEEK) if "view_audit" in may else None,
    )


def waiting_for(person: Person, may: frozenset[str]) -> int | None:
    """Count the changes of others in the bound workspace that the person may decide about; None for nobody's."""
    kinds = [kind for kind in ASKED if any(rules.may(act, kind, may) for act in ("approve", "publish"))]
    if not kinds:
        return None
    return waiting_for_others(but=person.id).filter(kind__in=kinds)[:MAX_COUNT].count()


def tiles(seen: Sequence[Glance], requests: Chart | None) -> list[Tile]:
    """Make the cards of what the person sees in at least one workspace."""
    made = [_approvals(seen), _erasures(seen), _features(seen), _keys(seen), _errors(seen, requests)]
    return [tile for tile in made if tile is not None]


def requests_of(seen: Sequence[Glance]) -> Chart | None:
    """Add up the requests of the workspaces whose usage the person may see."""
    return added(one.requests for one in seen if one.requests is not None)


def recent_changes(seen: Sequence[Glance]) -> list[Change] | None:
    """List the newest acts of governance in the person's workspaces; None where they may read no audit."""
    logs = [one.changes for one in seen if one.changes is not None]
    newest = sorted(chain.from_iterable(logs), key=lambda change: change.at, reverse=True)
    return newest[:SHOWN_CHANGES] if logs else None


def _changes(workspace: WorkspaceRef, *, since: datetime) -> list[Change]:
    return [
        Change(
            at=entry.at,
            actor=entry.actor_name,
            action=entry.act,
            object=f"{object_words(entry)} · {workspace.name}",
            url=reverse("console:audit_entry", args=[workspace.slug, entry.id]),
        )
        # Not by a filter: where little happened in the week it would walk through the whole log.
        for entry in entries()[:SHOWN_CHANGES]
        if entry.at >= since
    ]


def _approvals(seen: Sequence[Glance]) -> Tile | None:
    count = _sum(one.approvals for one in seen)
    if count is None:
        return None
    text, tone = (_("wait for you"), "info") if count else (_("nothing waits"), "ok")
    url = _first(
        "approvals", [one.workspace for one in seen if one.approvals is not None], _busy(seen, "approvals")
    )
    return Tile(_("Approvals"), count, text, tone, url)


def _erasures(seen: Sequence[Glance]) -> Tile | None:
    count, late = _sum(one.due for one in seen), _sum(one.late for one in seen)
    if count is None:
        return None
    if late:
        text = ngettext("%(n)s past its deadline", "%(n)s past their deadline", late) % {"n": late}
    else:
        text = _("due within 7 days")
    tone = "bad" if late else "warn" if count else "ok"
    found = [one.workspace for one in seen if one.due is not None]
    return Tile(_("Erasures due"), count, text, tone, _first("erasures", found, _busy(seen, "due")))


def _features(seen: Sequence[Glance]) -> Tile | None:
    if not seen:
        return None
    url = _first("features", [one.workspace for one in seen], _busy(seen, "features"))
    return Tile(_("Features changed"), sum(one.features for one in seen), _("in 7 days"), "info", url)


def _keys(seen: Sequence[Glance]) -> Tile | None:
    count = _sum(one.keys for one in seen)
    if count is None:
        return None
    text, tone = (_("within 7 days"), "warn") if count else (_("none within 7 days"), "ok")
    found = [one.workspace for one in seen if one.keys is not None]
    return Tile(_("Keys that expire"), count, text, tone, _first("keys", found, _busy(seen, "keys")))


def _errors(seen: Sequence[Glance], requests: Chart | None) -> Tile | None:
    if requests is None:
        return None
    every, _refused, failed = (series.total for series in requests.series)
    share = f"{number_format(100 * failed / every, 2)} %" if every else _("none")
    text = _("of %(count)s requests in 24 h") % {"count": number_format(every, force_grouping=True)}
    found = [one.workspace for one in seen if one.requests is not None]
    return Tile(_("Server errors"), share, text, "bad" if failed else "ok", _first("usage", found, []))


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _busy(seen: Sequence[Glance], name: str) -> list[WorkspaceRef]:
    return [one.workspace for one in seen if getattr(one, name)]


def _first(page: str, open_to: list[WorkspaceRef], busy: list[WorkspaceRef]) -> str:
    """Lead to the page of the first workspace that has something, else of the first that the person may open."""
    workspace = next(iter([*busy, *open_to]))
    return reverse(f"console:{page}", args=[workspace.slug])
