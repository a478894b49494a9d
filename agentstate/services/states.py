"""Storing and deleting working memory (WM-6 to WM-16b). Each is one transaction on one locked row."""

import secrets
from datetime import datetime, timedelta

import msgspec
from django.db import transaction

from agentstate import access, documents, encryption
from agentstate.documents import Declared
from agentstate.errors import ScopeKindNotDeclared, SubjectMismatch
from agentstate.models import State
from agentstate.rules import resends, writes
from agentstate.selectors.lives import due_at, life_of
from agentstate.types import Draft, Life, RememberedWrite, StateDeletion, StateWrite, StoredState
from workspaces.encryption import destroy_keys, keyed_hash
from workspaces.masking import mask_fields
from workspaces.models import Handle
from workspaces.rules import json
from workspaces.scopes import Scope, scope_of
from workspaces.selectors.profiles import known_handle
from workspaces.services.profiles import handle_of
from workspaces.types import Caller, Key, WorkspaceRef


@transaction.atomic
def store_state(*, caller: Caller, write: StateWrite, now: datetime) -> StoredState:
    """Store one write of a working memory state (WM-7 to WM-15).

    1. Lock the row of the state, or its name where there is no row.
    2. Answer a write that was sent again as the first time.
    3. Refuse another person's subject (409), a scope kind that is not declared (422), another version (412).
    4. Draft the next body: a field that is not declared and a body over the cap are answers, not errors.
    5. Seal the body and keep the row at the next version.

    Raises AgentStateConflict, InvalidFieldValue, SubjectMismatch, ScopeKindNotDeclared, Conflict, InvalidInput.
    """
    scope = scope_of(caller.workspace, kind=write.scope_kind, id=write.scope_id)
    declared = documents.declared_for(caller.workspace, write.agent)
    row = access.lock_state(scope, write.agent)
    life = life_of(caller.workspace, row, declared, now=now)
    earlier = _sent_before(caller, write, life, now=now)
    if earlier is not None:
        return StoredState(stored=True, version=earlier.version, masked=earlier.masked, epoch=earlier.epoch)
    _require_same_person(caller.workspace, row if life.is_live else None, scope, write)
    if declared.type is not None and scope.kind not in declared.type.scopes:
        raise ScopeKindNotDeclared
    draft = _draft(write, life, declared, now=now)
    if draft.reason is not None:
        return StoredState(stored=False, version=life.version, reason=draft.reason, epoch=life.epoch)
    return _keep(caller, row or _new_row(scope, write.agent), life, declared, write, draft, scope, now=now)


@transaction.atomic
def delete_state(
    *, caller: Caller, scope: Scope, agent: str, if_version: int | None, now: datetime
) -> StateDeletion:
    """Remove a whole state; it reads as never written afterwards (WM-16b). Raises AgentStateConflict."""
    declared = documents.declared_for(caller.workspace, agent)
    row = access.lock_state(scope, agent)
    life = life_of(caller.workspace, row, declared, now=now)
    if if_version is not None:
        writes.require_version(life.version, if_version)
    if row is None or not life.is_live:
        return StateDeletion(deleted=False)
    entomb(caller.workspace, row, into=State.Life.DELETED, declared=declared, now=now)
    row.save()
    return StateDeletion(deleted=True)


def entomb(
    workspace: WorkspaceRef, state: State, *, into: State.Life, declared: Declared, now: datetime
) -> None:
    """Turn a row into its tombstone, unsaved: no content, its key destroyed, the last version kept (PR-12)."""
    destroy_keys(workspace, state.data_key_id)
    state.life = into
    state.body = state.data_key_id = state.handle = None
    state.body_bytes, state.held, state.type, state.type_version = 0, {}, "", ""
    state.recent_writes = resends.dump(resends.without_bodies(resends.load(bytes(state.recent_writes))))
    state.types_document = declared.document
    state.due_at = now + timedelta(seconds=declared.tombstone_seconds)


def _draft(write: StateWrite, life: Life, declared: Declared, *, now: datetime) -> Draft:
    """Check a write in the order of WM-13, mask it, and build the next body."""
    writes.require_version(life.version, writes.expected_version(write))
    if writes.has_undeclared(write, life, declared.type):
        return Draft(reason="not_declared_field")
    writes.require_values(write, declared.type)
    masked = mask_fields(
        writes.values_of(write), declared=writes.field_rules(declared.type), policy=declared.policy
    )
    body = writes.next_body(write, life, masked.fields)
    size = len(json.compact(body))
    if writes.is_over_cap(size, declared.type):
        return Draft(reason="over_cap")
    return Draft(body=body, size=size, masked=masked.counts)


def _keep(
    caller: Caller,
    state: State,
    life: Life,
    declared: Declared,
    write: StateWrite,
    draft: Draft,
    scope: Scope,
    *,
    now: datetime,
) -> StoredState:
    is_new_row = state._state.adding
    state.version = life.numbering + 1
    state.life, state.updated_at, state.source_id = State.Life.LIVE, now, caller.source_id
    state.epoch = life.epoch if life.is_live else _new_epoch()
    state.created_at = state.created_at if life.is_live else now
    key = _data_key(caller.workspace, state, life, scope, write, now=now)
    encryption.seal_body(caller.workspace, state, json.compact(draft.body), key)
    _describe(state, declared, write, life, draft)
    state.recent_writes = resends.dump(_memory(caller, write, life, state, key, draft))
    state.save(force_insert=is_new_row)
    return StoredState(stored=True, version=state.version, masked=draft.masked, epoch=state.epoch)


def _data_key(
    workspace: WorkspaceRef, state: State, life: Life, scope: Scope, write: StateWrite, *, now: datetime
) -> Key:
    """Give the key of this life: a new one at its beginning, and when it names a person for the first time (WM-6)."""
    value = scope.handle or write.subject
    named: Handle | None = handle_of(workspace=workspace, value=value, now=now) if value else None
    if life.is_live and life.key is not None and (named is None or state.handle_id is not None):
        return life.key
    destroy_keys(workspace, state.data_key_id)
    state.handle = named
    return encryption.make_data_key(workspace, state, now=now)


def _describe(state: State, declared: Declared, write: StateWrite, life: Life, draft: Draft) -> None:
    """Set what stands beside the body in clear."""
    kind = declared.type
    assert kind is not None  # noqa: S101  (a write without a type is refused as not declared)
    held = writes.next_held(write, life, draft.body, kind, now=state.updated_at)
    state.body_bytes, state.held = draft.size, msgspec.to_builtins(held)
    state.type, state.type_version, state.types_document = kind.type, kind.version, declared.document
    state.retention_seconds = kind.state_retention_seconds
    state.due_at = due_at(state, held, declared)


def _sent_before(caller: Caller, write: StateWrite, life: Life, *, now: datetime) -> RememberedWrite | None:
    if not write.idempotency_key and not caller.resend:
        return None
    attempt = _attempt(caller, write, life.key, now=now)
    by_key = resends.same_key(life.memory, key_mac=attempt.key_mac, body_mac=attempt.body_mac)
    if by_key is not None or not caller.resend:
        return by_key
    return resends.same_cas(life.memory, attempt, version=life.version)


def _memory(
    caller: Caller, write: StateWrite, life: Life, state: State, key: Key, draft: Draft
) -> tuple[RememberedWrite, ...]:
    """Give what the row remembers after this write: only writes that can be recognized when they come again."""
    is_same_key = life.key is not None and life.key.id == key.id
    kept = life.memory if is_same_key else resends.without_bodies(life.memory)
    if not write.idempotency_key and not caller.resend:
        return kept
    stored = _attempt(caller, write, key, now=state.updated_at)
    return (*kept, resends.stored(stored, version=state.version, epoch=state.epoch, masked=draft.masked))


def _attempt(caller: Caller, write: StateWrite, key: Key | None, *, now: datetime) -> RememberedWrite:
    owner = str(caller.source_id)
    name = write.idempotency_key
    return RememberedWrite(
        key_mac=keyed_hash(caller.workspace, "state-write", owner, name)[:16] if name else b"",
        body_mac=encryption.body_mac(key, write.raw) if key else b"",
        credential=caller.credential_id.bytes,
        mode=write.mode,
        if_version=writes.expected_version(write) or 0,
        at=now.timestamp(),
    )


def _require_same_person(workspace: WorkspaceRef, row: State | None, scope: Scope, write: StateWrite) -> None:
    """Refuse a write that names another person than its scope or its state does (WM-6)."""
    named = [known_handle(workspace, value) for value in (scope.handle, write.subject) if value]
    people = {handle.profile_id if handle else None for handle in named}
    if row is not None and row.handle is not None and named:
        people.add(row.handle.profile_id)
    if len(people) > 1 or _are_two_unknown(scope, write, people):
        raise SubjectMismatch


def _are_two_unknown(scope: Scope, write: StateWrite, people: set[object]) -> bool:
    both = scope.handle is not None and write.subject is not None
    return both and people == {None} and scope.handle != write.subject


def _new_row(scope: Scope, agent: str) -> State:
    return State(scope_kind=scope.kind, scope_hash=scope.hash, hash_key_id=scope.hash_key_id, agent=agent)


def _new_epoch() -> str:
    return secrets.token_urlsafe(9)
