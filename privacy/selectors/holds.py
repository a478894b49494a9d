"""Legal holds as people see them (PR-16)."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from agentstate.models import KeptVersion, State
from assembly.selectors import holds as graphs
from history.models import Item, KeptItem, Session
from history.selectors.holds import ended_sessions, kept_items
from privacy.models import ErasureRequest
from workspaces import barriers
from workspaces.models import HeldKey, Hold

HoldStatus = Literal["standing", "lifted", "ended"]


def holds() -> QuerySet[Hold]:
    """List the holds of the bound workspace with who placed and lifted them."""
    return Hold.objects.select_related("placed_by", "lifted_by")


def standing(now: datetime) -> QuerySet[Hold]:
    """List the holds that stand."""
    return barriers.standing_holds(now)


def in_state(rows: QuerySet[Hold], state: str, *, now: datetime) -> QuerySet[Hold]:
    """Narrow a list of holds to those that stand, or those that do not; another word narrows nothing."""
    if state == "standing":
        return rows.filter(lifted_at__isnull=True, ends_at__gt=now)
    if state == "ended":
        return rows.filter(Q(lifted_at__isnull=False) | Q(ends_at__lte=now))
    return rows


def waiting_for(hold: Hold) -> int:
    """Count the approved erasures of what a hold is on that have not begun: they go on when it ends."""
    waiting = ErasureRequest.objects.filter(status="approved", erasure_id__isnull=True)
    if hold.profile_id is None:
        return waiting.filter(scope_hash=hold.scope_hash).count()
    return waiting.filter(profile_id=hold.profile_id).count()


def hold_on_profile(profile_id: UUID, *, now: datetime) -> Hold | None:
    """Give the standing hold on a person that ends last."""
    on_them = barriers.holds_on(profile_ids=[profile_id], scope_hashes=[], now=now)
    return on_them.select_related("placed_by").order_by("-ends_at").first()


def held_profiles(profile_ids: Iterable[UUID], *, now: datetime) -> set[UUID]:
    """Tell which of these people a standing hold is on."""
    found = barriers.holds_on(profile_ids=profile_ids, scope_hashes=[], now=now)
    return {profile_id for profile_id in found.values_list("profile_id", flat=True) if profile_id}


def status_of(hold: Hold, *, now: datetime) -> HoldStatus:
    """Say whether a hold stands, or how it ended: standing, lifted or ended."""
    if hold.lifted_at is not None:
        return "lifted"
    return "standing" if hold.ends_at > now else "ended"


def kept_count(hold: Hold, *, up_to: int) -> int:
    """Count the versions and messages that a hold has kept, up to a number."""
    versions = KeptVersion.objects.filter(hold=hold)[:up_to].count()
    ended = Item.objects.filter(session__in=ended_sessions(hold).values("id"), is_swept=False)
    return min(versions + kept_items(hold)[:up_to].count() + ended[:up_to].count(), up_to)


def to_settle(now: datetime) -> QuerySet[Hold]:
    """List the holds that have ended and still keep something, or have not been settled."""
    versions, items, keys = (
        model.objects.filter(hold=OuterRef("id")).values("id")[:1]
        for model in (KeptVersion, KeptItem, HeldKey)
    )
    ended = Hold.objects.filter(Q(lifted_at__isnull=False) | Q(ends_at__lte=now))
    return ended.filter(
        Q(settled_at__isnull=True) | Exists(versions) | Exists(items) | Exists(keys)
    ).order_by("id")


def is_being_erased(hold: Hold) -> bool:
    """Tell whether an erasure has begun on what a hold would be on: then there is nothing to keep any more."""
    states = State.objects.filter(erasure_id__isnull=False)
    sessions = Session.objects.filter(erasure_id__isnull=False)
    if hold.profile_id is None:
        on_states, on_sessions = Q(scope_hash=hold.scope_hash), Q(conversation_hash=hold.scope_hash)
    else:
        on_states = on_sessions = Q(handle__profile_id=hold.profile_id)
    if states.filter(on_states).exists() or sessions.filter(on_sessions).exists():
        return True
    return graphs.is_being_erased(hold)
