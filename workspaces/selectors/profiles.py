"""Finding a person by a handle or a pseudonym, without ever storing the handle (PL-6, CO-3)."""

import re

from django.db.models import Prefetch, QuerySet

from workspaces import rehashing
from workspaces.errors import InvalidInput
from workspaces.models import Handle, Profile
from workspaces.rules import handles
from workspaces.rules.handles import Handle as HandleValue
from workspaces.types import WorkspaceRef

# An e-mail address may start like a pseudonym.
_PSEUDONYM = re.compile("p_[0-9a-z]{20}")


def handle_hash(workspace: WorkspaceRef, handle: HandleValue) -> bytes:
    """Hash a canonical handle as it is stored."""
    return rehashing.handle_hash(workspace, handle.text)


def known_handle(workspace: WorkspaceRef, handle: HandleValue) -> Handle | None:
    """Give the row of a handle that was seen before."""
    known = Handle.objects.select_related("profile").filter(erasure_id=None)
    return known.filter(hash=handle_hash(workspace, handle)).first()


def profiles() -> QuerySet[Profile]:
    """List the profiles of the bound workspace with their handles' hints, without what is being erased (PR-11)."""
    handles = Prefetch("handles", Handle.objects.filter(erasure_id=None))
    return Profile.objects.filter(erasure_id=None).prefetch_related(handles)


def find_profiles(
    workspace: WorkspaceRef, query: str, *, type: str | None = None, namespace: str | None = None
) -> list[Profile]:
    """Find whom a pseudonym or an identifier names, in any spelling; as several kinds of handle it may be several."""
    text = query.strip()
    if _PSEUDONYM.fullmatch(text.lower()):
        return list(profiles().filter(pseudonym=text.lower()))
    found = handles_named(workspace, text, type=type, namespace=namespace).values("profile_id")
    return list(profiles().filter(id__in=found).order_by("-last_seen_at", "-id"))


def handles_named(
    workspace: WorkspaceRef, text: str, *, type: str | None = None, namespace: str | None = None
) -> QuerySet[Handle]:
    """List the handles that an identifier may mean, in any spelling."""
    hashes = [handle_hash(workspace, handle) for handle in _readings(text.strip(), type, namespace)]
    return Handle.objects.filter(hash__in=hashes, erasure_id=None)


def _readings(text: str, type: str | None, namespace: str | None) -> list[HandleValue]:
    """List what an identifier may mean: the named type, or each type without a namespace that accepts it."""
    readings = []
    for candidate in [type] if type else [name for name, takes in handles.HANDLE_TYPES.items() if not takes]:
        try:
            readings.append(handles.canonical(candidate, text, namespace or ""))
        except InvalidInput:
            continue
    return readings
