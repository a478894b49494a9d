"""Requests for changes in people's words: what they are about, what they would do, and who may do what with them."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.pages import actor, done, here
from console.presenters.effects import Check, Effect, ShownChange, check_of, short
from console.rights import permission_title, permission_titles, role_titles
from privacy.selectors.documents import preview
from workspaces.models import ChangeRequest, Document, Person
from workspaces.rules import approvals as rules
from workspaces.rules.documents import KINDS, diff
from workspaces.rules.rights import permissions_of
from workspaces.selectors.approvals import (
    EDITABLE,
    OPEN,
    counting_approvals,
    is_own,
    needs_approval,
    open_requests,
    takes_approval,
)
from workspaces.selectors.people import others_with
from workspaces.types import Decider

KIND_TITLES = {
    "features": gettext_lazy("Features"),
    "object-types": gettext_lazy("Object types"),
    "masking": gettext_lazy("Masking"),
    "retention": gettext_lazy("Retention"),
    "assembly-policy": gettext_lazy("Assembly policy"),
    rules.ERASURE: gettext_lazy("Erasures"),
    rules.FOUR_EYES: gettext_lazy("Four eyes"),
    rules.ROLE_GRANT: gettext_lazy("Roles"),
}
READERS = ("approve_documents", "propose_documents", "publish_documents", "manage_people", "view_audit")
ACTS = ("approve", "publish", "deny", "withdraw", "break-glass")


class RequestRow(msgspec.Struct, frozen=True):
    """A request in the inbox."""

    title: Any
    about: str
    author: str
    asked_at: datetime
    status: str
    reason: str
    is_mine: bool
    url: str


class Waiting(msgspec.Struct, frozen=True):
    """What the page of a document says about approvals."""

    holds: bool
    waits: int
    url: str


def decider(request: Any) -> Decider:
    """Give the person who is signed in as one who decides about changes."""
    return Decider(request.user.id, request.may, actor(request))


def carried_out(request: Any, asked_for: ChangeRequest | None, url: str, *, said: str) -> HttpResponse:
    """Lead on after a change: to the request where a second person has to approve it."""
    if asked_for is None:
        return done(request, url, said=said)
    said = _("Your request waits for the approval of another person.")
    return done(request, here(request, "approval", asked_for.id), said=said)


def row_of(request: Any, change: ChangeRequest) -> RequestRow:
    """Show a request as one line."""
    return RequestRow(
        title=KIND_TITLES[change.kind],
        about=about(change),
        author=author_of(change),
        asked_at=change.proposed_at,
        status=status_of(change),
        reason=change.reason,
        is_mine=change.author_id == request.user.id,
        url=here(request, "approval", change.id),
    )


def waiting_for(request: Any, kind: str) -> Waiting | None:
    """Tell on a document's page whether four eyes hold for it, and how many changes of it wait."""
    holds, waits = needs_approval(kind), open_requests().filter(kind=kind).count()
    url = here(request, "approvals") if request.may & set(READERS) else ""
    return Waiting(holds=holds, waits=waits, url=url) if holds or (waits and url) else None


def author_of(change: ChangeRequest) -> str:
    """Name who asked."""
    return change.author.name if change.author else _("the operator")


def status_of(change: ChangeRequest) -> str:
    """Give the status word; what is approved and not published yet is `approved`."""
    is_approved = change.status == "proposed" and takes_approval(change) and counting_approvals(change)
    return "approved" if is_approved else change.status


def about(change: ChangeRequest) -> str:
    """Say what a request is about, in a few words."""
    if change.kind == rules.FOUR_EYES:
        off = rules.weakened(change.body["before"], change.body["kinds"])
        return _("off for: %(kinds)s") % {"kinds": _kinds(sorted(off))}
    if change.kind == rules.ROLE_GRANT:
        return f"{_whose(change)}: {_roles(change.body['after'])}"
    return _("version %(number)s") % {"number": change.replaces + 1}


def shown_effects(change: ChangeRequest) -> Check:
    """Show now and after, and what the change would do as things stand (CO-5)."""
    if change.kind in KINDS:
        return _document_effects(change)
    if change.kind == rules.FOUR_EYES:
        before, after = _kinds(change.body["before"]), _kinds(change.body["kinds"])
        text = _("One person alone can then change what two people had to agree on.")
        return Check(
            (), [ShownChange(str(KIND_TITLES[change.kind]), before, after, False)], [Effect("warn", text)]
        )
    before, after = change.body.get("before", []), change.body["after"]
    gained = permissions_of(after) - permissions_of(before)
    names = ", ".join(permission_titles(gained))
    effects = [Effect("warn", _("Gains: %(names)s.") % {"names": names})]
    if "email" in change.body:
        effects.append(Effect("info", _("An invitation is sent by e-mail; its link works once.")))
    return Check((), [ShownChange(_whose(change), _roles(before), _roles(after), False)], effects)


def why_not(request: Any, change: ChangeRequest, act: str) -> str:
    """Say why a person may not do an act with a request; nothing where they may."""
    return next((reason for reason in _reasons(request, change, act) if reason), "")


def _reasons(request: Any, change: ChangeRequest, act: str) -> Iterator[str]:
    is_author = change.author_id == request.user.id
    if change.status not in (EDITABLE if act == "withdraw" else OPEN):
        yield _("The change is closed.")
    if act == "withdraw":
        yield "" if is_author else _("Only the author withdraws a change: deny it instead.")
        return
    if act == "deny":
        yield _("You asked for this change: withdraw it instead.") if is_author else ""
        may = any(rules.may(name, change.kind, request.may) for name in ("approve", "publish"))
        yield "" if may else _missing(request, change, "approve")
        return
    takes, approvals = takes_approval(change), counting_approvals(change)
    if act == "publish":
        yield _("Another person has to approve it before.") if takes and not approvals else ""
        yield _("It is scheduled.") if change.status == "scheduled" else ""
    elif not takes:
        yield _("It takes no approval: publish it.")
    if act == "approve":
        yield _("You asked for this change: another person approves it.") if is_author else ""
        yield (
            _("It is about your own roles: another person approves it.")
            if is_own(change, request.user.id)
            else ""
        )
        is_done = any(approval.person_id == request.user.id for approval in approvals)
        yield _("You have approved exactly this.") if is_done else ""
    if act == "break-glass":
        yield _("It is approved: publish it.") if approvals else ""
    yield "" if rules.may(_word(act), change.kind, request.may) else _missing(request, change, _word(act))


def _missing(request: Any, change: ChangeRequest, act: str) -> str:
    """Name the permission that is missing, and who else holds it."""
    names = rules.needed(act, change.kind)
    lacking = [name for name in names if name not in request.may] if act == "break_glass" else names[:1]
    others = others_with(lacking[0], but=request.user.id)
    words = {"permission": permission_title(lacking[0]), "people": ", ".join(others) or _("nobody")}
    return _("You lack the permission “%(permission)s”. These people hold it: %(people)s.") % words


def _word(act: str) -> str:
    return act.replace("-", "_")


def _document_effects(change: ChangeRequest) -> Check:
    if change.status in EDITABLE:
        return check_of(preview(change.kind, change.body, drop=tuple(change.drop)))
    replaced = Document.objects.get(kind=change.kind, version=change.replaces)
    shown = [
        ShownChange(found.pointer, short(found.before), short(found.after), False)
        for found in diff(replaced.body, change.body)
    ]
    return Check((), shown, [])


def _whose(change: ChangeRequest) -> str:
    if "email" in change.body:
        return str(change.body["email"])
    return Person.objects.get(id=change.body["person"]).name


def _roles(roles: list[str]) -> str:
    return ", ".join(role_titles(roles)) or _("none")


def _kinds(kinds: list[str]) -> str:
    return ", ".join(str(KIND_TITLES[kind]) for kind in kinds) or _("none")
