"""Who calls, how often, and under which documents: one look at the hot store (PL-3, PL-5, WM-19)."""

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest
from django.utils import timezone

from workspaces import access, documents, grants, hotstore
from workspaces.documents import Live
from workspaces.errors import Problem, RateLimited, Unauthenticated
from workspaces.hotstore import Bucket, HotStoreDown, Name, Seen, Spent, bucket_of
from workspaces.rules.credentials import SOURCE_KEY, KeyText, parse_key
from workspaces.selectors.credentials import KeyFacts, key_facts, key_name, person_caller, source_caller
from workspaces.services import credentials
from workspaces.types import Caller, Origin, WorkspaceRef

Wanted = Callable[[WorkspaceRef], Sequence[Name]]
"""Names what a request is about, once it is known in which workspace."""

NOTHING_SEEN = Seen()


class Admitted(msgspec.Struct, frozen=True):
    """A caller who may go on, with the live documents, and what was seen of what the request is about."""

    caller: Caller
    live: Live
    spent: Spent
    seen: Sequence[Seen] = ()


def admit(request: HttpRequest, wanted: Wanted = lambda _: ()) -> Admitted:
    """Find out who calls, and take a token from the buckets of the key and of the address.

    Raises Unauthenticated, Forbidden and RateLimited.
    """
    parts, origin = _key_of(request), request.origin  # type: ignore[attr-defined]
    if parts.prefix == SOURCE_KEY:
        admitted = _known_source(parts, origin, wanted) or _source(parts, origin, wanted)
    else:
        admitted = _person(parts, origin, wanted)
    with access.bound(admitted.caller.workspace.id):
        credentials.note_use(caller=admitted.caller, now=timezone.now())
        if admitted.caller.has_old_secret:
            # Neither store may be there to write to: the next use comes again.
            with suppress(Problem, DatabaseError):
                credentials.rehash_secret(parts=parts, caller=admitted.caller)
    return admitted


def limit_address(origin: Origin) -> None:
    """Take a token from the bucket of the address, for a route that takes no key. Raises RateLimited."""
    _look([], _address(origin))


def _known_source(parts: KeyText, origin: Origin, wanted: Wanted) -> Admitted | None:
    """Admit a key that this process has read before, if the hot store still holds the very same entry."""
    name = key_name(parts.key_id)
    facts = grants.last_read(name)
    if facts is None:
        return None
    try:
        caller = source_caller(facts, parts, origin=origin, now=timezone.now())
    except Problem:
        return None
    spent, seen = _look([name, *_names(caller, wanted)], _address(origin), _key(caller), caller=caller)
    payload = seen[0].payload
    if payload is None or grants.load(name, payload, KeyFacts) is not facts:
        return None
    return _admitted(caller, spent, seen[1:])


def _source(parts: KeyText, origin: Origin, wanted: Wanted) -> Admitted:
    spent, seen = _look([key_name(parts.key_id)], _address(origin))
    facts = _facts(parts.key_id, seen[0])
    caller = source_caller(facts, parts, origin=origin, now=timezone.now())
    return _of(caller, wanted, spent)


def _person(parts: KeyText, origin: Origin, wanted: Wanted) -> Admitted:
    spent, _ = _look([], _address(origin))
    return _of(person_caller(parts, origin=origin, now=timezone.now()), wanted, spent)


def _of(caller: Caller, wanted: Wanted, of_address: Spent) -> Admitted:
    of_key, seen = _look(_names(caller, wanted), _key(caller), caller=caller)
    return _admitted(caller, min(of_address, of_key, key=lambda spent: spent.remaining), seen)


def _admitted(caller: Caller, spent: Spent, seen: Sequence[Seen]) -> Admitted:
    with access.bound(caller.workspace.id):
        live = documents.served(seen[0])
    return Admitted(caller, live, spent, seen[1:])


def _facts(key_id: str, seen: Seen) -> KeyFacts | None:
    # An unknown key is refused after the same work as a known one.
    with suppress(Unauthenticated):
        return grants.served(key_name(key_id), seen, KeyFacts, lambda: _stored_facts(key_id))
    return None


def _stored_facts(key_id: str) -> KeyFacts:
    facts = key_facts(key_id)
    if facts is None:
        raise Unauthenticated
    return facts


def _names(caller: Caller, wanted: Wanted) -> list[Name]:
    return [documents.heads_name(caller.workspace.id), *wanted(caller.workspace)]


def _look(names: Sequence[Name], *buckets: Bucket, caller: Caller | None = None) -> tuple[Spent, list[Seen]]:
    """Look, or refuse where a bucket is empty; a hot store that does not answer limits nobody."""
    try:
        spent, seen = hotstore.look(names, buckets=buckets)
    except HotStoreDown:
        return Spent(), [NOTHING_SEEN] * len(names)
    if spent.wait_ms:
        raise RateLimited(spent, caller)
    return spent, seen


def _address(origin: Origin) -> Bucket:
    return _bucket("address", origin.address.encode())


def _key(caller: Caller) -> Bucket:
    return _bucket("key", caller.credential_id.bytes)


def _bucket(kind: str, id: bytes) -> Bucket:
    per_second, burst = settings.RATE_LIMITS[kind]
    return Bucket(bucket_of(kind, id), per_second, burst)


def _key_of(request: HttpRequest) -> KeyText:
    scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise Unauthenticated("Send the key as `Authorization: Bearer <key>`.")
    parts = parse_key(text.strip())
    if parts is None:
        raise Unauthenticated
    return parts


def limit_headers(spent: Spent) -> dict[str, str]:
    """Write what is left in the bucket that is nearest to empty (PL-5)."""
    if spent.remaining < 0:
        return {}
    return {
        "RateLimit-Limit": str(spent.burst),
        "RateLimit-Remaining": str(spent.remaining),
        "RateLimit-Reset": str(-(-spent.full_ms // 1000)),
    }
