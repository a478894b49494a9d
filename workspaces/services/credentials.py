"""Keys of sources and tokens of people: made, rotated, revoked (PL-3)."""

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, datetime, timedelta
from ipaddress import ip_network
from uuid import UUID

import msgspec
from django.db import DatabaseError, transaction

from workspaces import access, audit, coherence, deployment
from workspaces.errors import InvalidInput, NotFound
from workspaces.models import ApiKey, Person, PersonalToken, Source
from workspaces.models.credentials import Credential
from workspaces.rules.credentials import (
    PERSONAL_TOKEN,
    SOURCE_KEY,
    KeyText,
    key_text,
    require_token_life,
)
from workspaces.rules.rights import KEY_SCOPES
from workspaces.selectors.credentials import key_name, secret_hash
from workspaces.selectors.people import permissions_of
from workspaces.types import Actor, AuditObject, Caller, FieldProblem, WorkspaceRef

MAX_AGENT_LENGTH = 256
REVOKED_AT_ONCE = 100

_noted: dict[UUID, date] = {}


class Made(msgspec.Struct, frozen=True):
    """A credential just made, with the text that is shown this once."""

    id: UUID
    text: str

    def __repr__(self) -> str:
        return f"Made(id={self.id})"


class KeyWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a new source key is to be."""

    source: str
    name: str
    scopes: tuple[str, ...]
    agents: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    resend: bool = False
    expires_at: datetime | None = None


@transaction.atomic
def make_api_key(
    *, wish: KeyWish, maker: Person | None, reason: str = "", actor: Actor, now: datetime
) -> Made:
    """Make a key of a source, which is made too when it is new.

    Raises InvalidInput for unknown scopes, wrong networks and an end that is past, and WorkspaceClosed.
    """
    access.require_open()
    _require_key_wish(wish, now)
    source, _ = Source.objects.get_or_create(name=wish.source, defaults={"created_at": now})
    key = ApiKey(
        source=source,
        name=wish.name,
        scopes=sorted(wish.scopes),
        agents=list(wish.agents),
        networks=list(wish.networks),
        resend=wish.resend,
        expires_at=wish.expires_at,
        created_at=now,
        made_by=maker,
    )
    text = _fill_secret(key, SOURCE_KEY)
    key.save(force_insert=True)
    audit.record(
        "key.create",
        actor=actor,
        now=now,
        on=AuditObject("key", str(key.id)),
        reason=reason,
        facts={
            "source": str(source.id),
            "scopes": key.scopes,
            "agents": len(key.agents),
            "resend": key.resend,
        },
    )
    return Made(key.id, text)


@transaction.atomic
def rotate_api_key(
    *,
    key_id: UUID,
    overlap: timedelta,
    maker: Person | None,
    reason: str = "",
    actor: Actor,
    now: datetime,
) -> Made:
    """Make a key with the rights of a live one, which stops after the overlap. Raises NotFound for a dead one."""
    access.require_open()
    old = access.one(ApiKey.objects.select_for_update(), id=key_id)
    if not old.is_live(now):
        raise NotFound("Only a key that still works is rotated.")
    life = old.expires_at - old.created_at if old.expires_at else None
    key = ApiKey(
        source_id=old.source_id,
        name=old.name,
        scopes=old.scopes,
        agents=old.agents,
        networks=old.networks,
        resend=old.resend,
        expires_at=now + life if life else None,
        created_at=now,
        made_by=maker,
        replaces=old,
    )
    text = _fill_secret(key, SOURCE_KEY)
    key.save(force_insert=True)
    coherence.changing(key_name(old.key_id))
    old.expires_at = min(old.expires_at or now + overlap, now + overlap)
    old.save(update_fields=["expires_at"])
    audit.record(
        "key.rotate",
        actor=actor,
        now=now,
        on=AuditObject("key", str(old.id)),
        reason=reason,
        facts={"new_key": str(key.id), "overlap_seconds": int(overlap.total_seconds())},
    )
    return Made(key.id, text)


@transaction.atomic
def revoke_api_key(*, key_id: UUID, reason: str, actor: Actor, now: datetime) -> None:
    """Stop a key at once."""
    _revoke(access.one(ApiKey.objects.select_for_update(), id=key_id), "key", reason, actor, now)


@transaction.atomic
def make_token(
    *,
    workspace: WorkspaceRef,
    person: Person,
    name: str,
    permissions: Iterable[str],
    life: timedelta,
    actor: Actor,
    now: datetime,
) -> Made:
    """Make a personal token with some of the person's own permissions, for at most 90 days."""
    access.require_open()
    wished = frozenset(permissions)
    if not wished or not wished <= permissions_of(person, workspace):
        problem = FieldProblem(
            "/permissions", "not_held", "A token takes only permissions that its owner holds."
        )
        raise InvalidInput(errors=(problem,))
    require_token_life(life)
    token = PersonalToken(
        person=person, name=name, permissions=sorted(wished), created_at=now, expires_at=now + life
    )
    text = _fill_secret(token, PERSONAL_TOKEN)
    token.save(force_insert=True)
    audit.record(
        "token.create",
        actor=actor,
        now=now,
        on=AuditObject("token", str(token.id)),
        facts={"permissions": token.permissions},
    )
    return Made(token.id, text)


@transaction.atomic
def revoke_token(*, token_id: UUID, person: Person, actor: Actor, now: datetime) -> None:
    """Stop one of a person's own tokens at once."""
    token = access.one(PersonalToken.objects.select_for_update(), id=token_id, person=person)
    _revoke(token, "token", "", actor, now)


@transaction.atomic
def revoke_batch(*, reason: str, actor: Actor, now: datetime) -> int:
    """Stop a batch of the bound workspace's keys and tokens; give how many were stopped (PL-5b)."""
    keys = ApiKey.objects.select_for_update().filter(revoked_at=None).order_by("id")
    tokens = PersonalToken.objects.select_for_update().filter(revoked_at=None).order_by("id")
    live: list[tuple[Credential, str]] = [(key, "key") for key in keys[:REVOKED_AT_ONCE]]
    live += [(token, "token") for token in tokens[:REVOKED_AT_ONCE]]
    for credential, kind in live:
        _revoke(credential, kind, reason, actor, now)
    return len(live)


def note_use(*, caller: Caller, now: datetime) -> None:
    """Keep the day on which a credential was last used: one try a day and process, which no request waits for."""
    day = now.date()
    if _noted.get(caller.credential_id) != day:
        _noted[caller.credential_id] = day
        model = ApiKey if caller.is_source else PersonalToken
        with suppress(DatabaseError):
            rows = model.objects.filter(id=caller.credential_id)
            rows.exclude(last_used_on=day).update(last_used_on=day)


@transaction.atomic
def rehash_secret(*, parts: KeyText, caller: Caller) -> None:
    """Hash the secret of a credential that was just used under the newest hash key of the deployment (PL-12)."""
    model: type[ApiKey | PersonalToken] = ApiKey if caller.is_source else PersonalToken
    credential = model.objects.select_for_update().get(id=caller.credential_id)
    if isinstance(credential, ApiKey):
        coherence.changing(key_name(credential.key_id))
    _hash_secret(credential, parts)
    credential.save(update_fields=["secret_hash", "secret_generation"])


def forget_noted_uses() -> None:
    """Forget which uses this process has noted, as a new one would."""
    _noted.clear()


def _fill_secret(credential: Credential, prefix: str) -> str:
    parts, text = key_text(prefix, key_id_entropy=os.urandom(10), secret=os.urandom(32))
    credential.key_id = parts.key_id
    _hash_secret(credential, parts)
    return text


def _hash_secret(credential: Credential, parts: KeyText) -> None:
    credential.secret_generation = deployment.generation()
    credential.secret_hash = secret_hash(parts, credential.secret_generation)


def _revoke(credential: Credential, kind: str, reason: str, actor: Actor, now: datetime) -> None:
    if isinstance(credential, ApiKey):
        coherence.changing(key_name(credential.key_id))
    credential.revoked_at = credential.revoked_at or now
    credential.save(update_fields=["revoked_at"])
    on = AuditObject(kind, str(credential.id))
    audit.record(f"{kind}.revoke", actor=actor, now=now, on=on, reason=reason)


def _require_key_wish(wish: KeyWish, now: datetime) -> None:
    problems = []
    if not wish.scopes or not set(wish.scopes) <= set(KEY_SCOPES):
        known = ", ".join(KEY_SCOPES)
        problems.append(FieldProblem("/scopes", "not_a_choice", f"Give at least one scope of: {known}."))
    if not all(_is_network(network) for network in wish.networks):
        problems.append(FieldProblem("/networks", "wrong_form", "Networks look like 10.0.0.0/8."))
    if not all(0 < len(agent) <= MAX_AGENT_LENGTH for agent in wish.agents):
        problems.append(FieldProblem("/agents", "too_long", "An agent's name has 1 to 256 characters."))
    if wish.expires_at is not None and wish.expires_at <= now:
        problems.append(FieldProblem("/expires_at", "too_small", "A key ends in the future."))
    if problems:
        raise InvalidInput(errors=tuple(problems))


def _is_network(text: str) -> bool:
    try:
        return "%" not in str(ip_network(text))
    except ValueError:
        return False
