"""Who a key or a token stands for (PL-3)."""

import hmac
from collections.abc import Sequence
from datetime import datetime
from ipaddress import ip_address, ip_network
from uuid import UUID

import msgspec
from django.db.models import Q, QuerySet

from workspaces import access, deployment
from workspaces.errors import Forbidden, Unauthenticated
from workspaces.hotstore import Name, name_of
from workspaces.models import ApiKey, Person, PersonalToken
from workspaces.rules.credentials import SOURCE_KEY, KeyText, parse_key
from workspaces.selectors.people import permissions_of, roles_of
from workspaces.types import Actor, Caller, Origin, WorkspaceRef


class KeyFacts(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What a source key opens, and the hash of its secret: an entry of the hot store that grants something."""

    id: UUID
    workspace: WorkspaceRef
    secret_hash: bytes
    secret_generation: int
    name: str
    source_id: UUID
    source_name: str
    scopes: frozenset[str]
    agents: frozenset[str]
    networks: tuple[str, ...]
    resend: bool
    expires_at: datetime | None
    is_revoked: bool


def caller_of(text: str, *, origin: Origin, now: datetime) -> Caller:
    """Give the caller that a key or token stands for by what the database says, or refuse it.

    Raises Unauthenticated for every text that opens nothing, without saying why, and Forbidden for a key that is
    used from outside its networks.
    """
    parts = parse_key(text)
    if parts is None:
        raise Unauthenticated
    if parts.prefix == SOURCE_KEY:
        return source_caller(key_facts(parts.key_id), parts, origin=origin, now=now)
    return person_caller(parts, origin=origin, now=now)


def key_name(key_id: str) -> Name:
    """Name a source key in the hot store."""
    return name_of("k", key_id.encode())


def key_facts(key_id: str) -> KeyFacts | None:
    """Read what a source key opens."""
    key = access.find_api_key(key_id)
    return (
        KeyFacts(
            id=key.id,
            workspace=key.workspace.ref,
            secret_hash=bytes(key.secret_hash),
            secret_generation=key.secret_generation,
            name=key.name,
            source_id=key.source_id,
            source_name=key.source.name,
            scopes=frozenset(key.scopes),
            agents=frozenset(key.agents),
            networks=tuple(key.networks),
            resend=key.resend,
            expires_at=key.expires_at,
            is_revoked=key.revoked_at is not None,
        )
        if key is not None
        else None
    )


def secret_hash(parts: KeyText, generation: int) -> bytes:
    """Hash a secret as it is stored under a generation of the deployment's hash key; one that is gone fits nothing."""
    words = "credential", parts.prefix, parts.key_id, parts.secret
    return deployment.hashed_at(generation, *words) or b""


def api_keys() -> QuerySet[ApiKey]:
    """List the workspace's keys, newest first."""
    return ApiKey.objects.select_related("source", "made_by").order_by("-created_at", "-id")


def expiring_keys(*, now: datetime, until: datetime) -> QuerySet[ApiKey]:
    """List the active keys whose end comes before a moment."""
    return ApiKey.objects.filter(revoked_at=None, expires_at__gt=now, expires_at__lte=until)


def keys_in_state(keys: QuerySet[ApiKey], state: str, *, now: datetime) -> QuerySet[ApiKey]:
    """Keep the keys that are active, expired or revoked; another word does not filter."""
    expired = Q(revoked_at=None, expires_at__lte=now)
    states = {
        "revoked": Q(revoked_at__isnull=False),
        "expired": expired,
        "active": Q(revoked_at=None) & ~expired,
    }
    return keys.filter(states.get(state, Q()))


def tokens_of(person_id: UUID) -> QuerySet[PersonalToken]:
    """List a person's tokens in the workspace, newest first."""
    return PersonalToken.objects.filter(person_id=person_id).order_by("-created_at")


def source_caller(facts: KeyFacts | None, parts: KeyText, *, origin: Origin, now: datetime) -> Caller:
    """Give the source that a key stands for, or refuse it; an unknown key costs as much as a known one."""
    stored = facts.secret_hash if facts is not None else bytes(32)
    is_right = hmac.compare_digest(stored, secret_hash(parts, _generation(facts)))
    if not is_right or facts is None or facts.is_revoked or (facts.expires_at and now >= facts.expires_at):
        raise Unauthenticated
    _require_network(facts.networks, origin.address)
    return Caller(
        workspace=facts.workspace,
        actor=Actor(
            kind="key",
            id=str(facts.id),
            name=f"{facts.source_name} ({facts.name})",
            address=origin.address,
            request_id=origin.request_id,
        ),
        credential_id=facts.id,
        source_id=facts.source_id,
        source_name=facts.source_name,
        scopes=facts.scopes,
        agents=facts.agents,
        resend=facts.resend,
        has_old_secret=_is_old(facts),
    )


def person_caller(parts: KeyText, *, origin: Origin, now: datetime) -> Caller:
    """Give the person that a token stands for, with what both may do, or refuse it."""
    token = access.find_personal_token(parts.key_id)
    stored = bytes(token.secret_hash) if token else bytes(32)
    is_right = hmac.compare_digest(stored, secret_hash(parts, _generation(token)))
    if not is_right or token is None or not token.is_live(now):
        raise Unauthenticated
    workspace: WorkspaceRef = token.workspace.ref
    held = permissions_of(token.person, workspace) if token.person.is_active else frozenset()
    allowed = held & frozenset(token.permissions)
    if not allowed:
        raise Unauthenticated
    return Caller(
        workspace=workspace,
        actor=Actor(
            kind="token",
            id=str(token.id),
            name=token.person.email,
            roles=_roles_in(workspace, token.person),
            address=origin.address,
            request_id=origin.request_id,
        ),
        credential_id=token.id,
        person_id=token.person_id,
        permissions=allowed,
        has_old_secret=_is_old(token),
    )


def _generation(known: KeyFacts | PersonalToken | None) -> int:
    """Give under which secret a credential was hashed; an unknown one costs what a known one does."""
    return known.secret_generation if known is not None else deployment.generation()


def _is_old(known: KeyFacts | PersonalToken) -> bool:
    return known.secret_generation < deployment.generation()


def _roles_in(workspace: WorkspaceRef, person: Person) -> tuple[str, ...]:
    with access.bound(workspace.id):
        return roles_of(person)


def _require_network(networks: Sequence[str], address: str) -> None:
    if networks and not _is_inside(address, networks):
        raise Forbidden("The key may not be used from this network.")


def _is_inside(address: str, networks: Sequence[str]) -> bool:
    """Tell whether an address lies in one of the networks; what is no address (a socket's peer) lies in none."""
    try:
        caller = ip_address(address)
    except ValueError:
        return False
    return any(caller in ip_network(network) for network in networks)
