"""Who a key or a token stands for (PL-3)."""

import hmac
from datetime import datetime
from ipaddress import ip_address, ip_network
from uuid import UUID

import msgspec
from django.db.models import Q, QuerySet

from workspaces import access, encryption
from workspaces.errors import Forbidden, Unauthenticated
from workspaces.models import ApiKey, Person, PersonalToken
from workspaces.models.credentials import Credential
from workspaces.rules.credentials import SOURCE_KEY, KeyText, parse_key
from workspaces.selectors.people import permissions_of, roles_of
from workspaces.types import Actor, Caller, Origin, WorkspaceRef


def caller_of(text: str, *, origin: Origin, now: datetime) -> Caller:
    """Give the caller that a key or token stands for, or refuse it.

    Raises Unauthenticated for every text that opens nothing, without saying why, and Forbidden for a key that is
    used from outside its networks.
    """
    parts = parse_key(text)
    if parts is None:
        raise Unauthenticated
    if parts.prefix == SOURCE_KEY:
        return _source_caller(parts, origin, now)
    return _person_caller(parts, origin, now)


def secret_hash(parts: KeyText) -> bytes:
    """Hash a secret as it is stored."""
    return encryption.deployment_hash("credential", parts.prefix, parts.key_id, parts.secret)


def api_keys() -> QuerySet[ApiKey]:
    """List the workspace's keys, newest first."""
    return ApiKey.objects.select_related("source", "made_by").order_by("-created_at", "-id")


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


def _source_caller(parts: KeyText, origin: Origin, now: datetime) -> Caller:
    key = access.find_api_key(parts.key_id)
    _require_live(key, parts, now)
    assert key is not None  # noqa: S101  (_require_live refused None)
    _require_network(key.networks, origin.address)
    return Caller(
        workspace=key.workspace.ref,
        actor=_actor("key", key, f"{key.source.name} ({key.name})", origin),
        credential_id=key.id,
        source_id=key.source_id,
        source_name=key.source.name,
        scopes=frozenset(key.scopes),
        agents=frozenset(key.agents),
        resend=key.resend,
        last_used_on=key.last_used_on,
    )


def _person_caller(parts: KeyText, origin: Origin, now: datetime) -> Caller:
    token = access.find_personal_token(parts.key_id)
    _require_live(token, parts, now)
    assert token is not None  # noqa: S101  (_require_live refused None)
    workspace: WorkspaceRef = token.workspace.ref
    held = permissions_of(token.person, workspace) if token.person.is_active else frozenset()
    allowed = held & frozenset(token.permissions)
    if not allowed:
        raise Unauthenticated
    return Caller(
        workspace=workspace,
        actor=msgspec.structs.replace(
            _actor("token", token, token.person.email, origin), roles=_roles_in(workspace, token.person)
        ),
        credential_id=token.id,
        person_id=token.person_id,
        permissions=allowed,
        last_used_on=token.last_used_on,
    )


def _roles_in(workspace: WorkspaceRef, person: Person) -> tuple[str, ...]:
    with access.bound(workspace.id):
        return roles_of(person)


def _actor(kind: str, credential: Credential, name: str, origin: Origin) -> Actor:
    return Actor(
        kind=kind,  # type: ignore[arg-type]
        id=str(credential.id),
        name=name,
        address=origin.address,
        request_id=origin.request_id,
    )


def _require_live(credential: Credential | None, parts: KeyText, now: datetime) -> None:
    stored = bytes(credential.secret_hash) if credential else bytes(32)
    if (
        not hmac.compare_digest(stored, secret_hash(parts))
        or credential is None
        or not credential.is_live(now)
    ):
        raise Unauthenticated


def _require_network(networks: list[str], address: str) -> None:
    if networks and not _is_inside(address, networks):
        raise Forbidden("The key may not be used from this network.")


def _is_inside(address: str, networks: list[str]) -> bool:
    """Tell whether an address lies in one of the networks; what is no address (a socket's peer) lies in none."""
    try:
        caller = ip_address(address)
    except ValueError:
        return False
    return any(caller in ip_network(network) for network in networks)
