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
from workspaces.documents import hold, require_feature
from workspaces.encryption import keyed_hash, retire_keys
from workspaces.masking import mask_fields
from workspaces.models import Handle
from workspaces.rules import json
from workspaces.scopes import Scope, scope_of
from workspaces.selectors.profiles import known_handle
from workspaces.services.profiles import handle_of, note_seen
from workspaces.types import Caller, Key, WorkspaceRef

EPOCH_BYTES = 9


class _Attempt(msgspec.Struct, frozen=True):
    """One write with everything that decides about it."""

    caller: Caller
    write: StateWrite
    scope: Scope
    declared: Declared
    life: Life
    now: datetime

    @property
    def workspace(self) -> WorkspaceRef:
        return self.caller.workspace


@transaction.atomic
def store_state(*, caller: Caller, write: StateWrite, now: datetime) -> StoredState:
    """Store one write of a working memory state (WM-7 to WM-15).

    1. Hold the documents as they are, and lock the state.
    2. Answer a write that was sent again as the first time.
    3. Refuse another person's subject (409), a scope kind that is not declared (422), another version (412).
    4. Draft the next body: a field that is not declared and a body over the cap are answers, not errors.
    5. Seal the body and keep the row at the next version.

    Raises AgentStateConflict, InvalidFieldValue, SubjectMismatch, ScopeKindNotDeclared, Conflict, InvalidInput.
    """
    scope = scope_of(caller.workspace, kind=write.scope_kind, id=write.scope_id)
    declared = _held_declared(caller.workspace, write.agent)
    row = access.lock_state(scope, write.agent)
    now = max(now, row.updated_at) if row else now
    life = life_of(caller.workspace, row, declared, now=now)
    attempt = _Attempt(caller, write, scope, declared, life, now)
    earlier = _sent_before(attempt)
    if earlier is not None:
        return StoredState(stored=True, version=earlier.version, masked=earlier.masked, epoch=earlier.epoch)
    known = _require_same_person(attempt, row if life.is_live else None)
    if declared.type is not None and scope.kind not in declared.type.scopes:
        raise ScopeKindNotDeclared
    draft = _draft(attempt)
    if draft.reason is not None:
        return StoredState(stored=False, version=life.version, reason=draft.reason, epoch=life.epoch)
    stored = _keep(attempt, row, draft)
    if known is not None:
        note_seen(known.profile, now=now)
    return stored


@transaction.atomic
def delete_state(
    *, caller: Caller, scope: Scope, agent: str, if_version: int | None, now: datetime
) -> StateDeletion:
    """Remove a whole state; it reads as never written afterwards (WM-16b). Raises AgentStateConflict."""
    declared = _held_declared(caller.workspace, agent)
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
    retire_keys(workspace, state.data_key_id)
    state.life = into
    state.body = state.data_key_id = state.handle = None
    state.body_bytes, state.held, state.type, state.type_version = 0, {}, "", ""
    state.recent_writes = resends.dump(resends.without_bodies(resends.load(bytes(state.recent_writes))))
    state.types_document = declared.document
    state.due_at = now + timedelta(seconds=declared.tombstone_seconds)


def _held_declared(workspace: WorkspaceRef, agent: str) -> Declared:
    """Read what holds for an agent so that no publication comes between the reading and the commit (PR-3, PR-4)."""
    hold()
    require_feature(documents.FEATURE)
    return documents.declared_for(workspace, agent)


def _draft(attempt: _Attempt) -> Draft:
    """Check a write in the order of WM-13, mask it, and build the next body."""
    write, life, kind = attempt.write, attempt.life, attempt.declared.type
    writes.require_version(life.version, writes.expected_version(write))
    if writes.has_undeclared(write, life, kind):
        return Draft(reason="not_declared_field")
    writes.require_values(write, kind)
    rules = writes.field_rules(kind)
    masked = mask_fields(writes.values_of(write), declared=rules, policy=attempt.declared.policy)
    body = writes.next_body(write, life, masked.fields)
    size = len(json.compact(body))
    if writes.is_over_cap(size, kind):
        return Draft(reason="over_cap")
    return Draft(body=body, size=size, masked=masked.counts)


def _keep(attempt: _Attempt, row: State | None, draft: Draft) -> StoredState:
    """Write the next version into the row of the state, or a new one."""
    life, state = attempt.life, row or _new_row(attempt)
    state.version = life.numbering + 1
    state.life, state.updated_at, state.source_id = State.Life.LIVE, attempt.now, attempt.caller.source_id
    if not life.is_live:
        state.epoch, state.created_at = secrets.token_urlsafe(EPOCH_BYTES), attempt.now
    key = _data_key(attempt, state)
    encryption.seal_body(attempt.workspace, state, json.compact(draft.body), key)
    _describe(attempt, state, draft)
    state.recent_writes = resends.dump(_memory(attempt, state, key, draft))
    state.save(force_insert=row is None)
    return StoredState(stored=True, version=state.version, masked=draft.masked, epoch=state.epoch)


def _data_key(attempt: _Attempt, state: State) -> Key:
    """Give the key of this life: a new one at its beginning, and when it names a person for the first time (WM-6)."""
    life, value = attempt.life, attempt.scope.handle or attempt.write.subject
    is_named_now = value is not None and (not life.is_live or state.handle_id is None)
    if life.is_live and life.key is not None and not is_named_now:
        return life.key
    retire_keys(attempt.workspace, state.data_key_id)
    state.handle = handle_of(workspace=attempt.workspace, value=value, now=attempt.now) if value else None
    return encryption.make_data_key(attempt.workspace, state, now=attempt.now)


def _describe(attempt: _Attempt, state: State, draft: Draft) -> None:
    """Set what stands beside the body in clear."""
    declared, kind = attempt.declared, attempt.declared.type
    assert kind is not None  # noqa: S101  (a write without a type is refused as not declared)
    held = writes.next_held(attempt.write, attempt.life, draft.body, kind, now=attempt.now)
    state.body_bytes, state.held = draft.size, msgspec.to_builtins(held)
    state.type, state.type_version, state.types_document = kind.type, kind.version, declared.document
    state.retention_seconds = kind.state_retention_seconds
    state.due_at = due_at(state, held, declared)


def _sent_before(attempt: _Attempt) -> RememberedWrite | None:
    caller, life = attempt.caller, attempt.life
    if not attempt.write.idempotency_key and not caller.resend:
        return None
    mark = _mark(attempt, life.key)
    by_key = resends.same_key(life.memory, key_mac=mark.key_mac, body_mac=mark.body_mac)
    if by_key is not None or not caller.resend:
        return by_key
    return resends.same_cas(life.memory, mark, version=life.version)


def _memory(attempt: _Attempt, state: State, key: Key, draft: Draft) -> tuple[RememberedWrite, ...]:
    """Give what the row remembers after this write: only writes that can be recognized when they come again."""
    life = attempt.life
    is_same_key = life.key is not None and life.key.id == key.id
    kept = life.memory if is_same_key else resends.without_bodies(life.memory)
    if not attempt.write.idempotency_key and not attempt.caller.resend:
        return kept
    mark = _mark(attempt, key)
    latest = resends.stored(mark, version=state.version, epoch=state.epoch, masked=draft.masked)
    return resends.remember(kept, latest)


def _mark(attempt: _Attempt, key: Key | None) -> RememberedWrite:
    """Give what a write is recognized by, its body hashed under the state's data key."""
    caller, write = attempt.caller, attempt.write
    name = write.idempotency_key
    owner = str(caller.source_id)
    return RememberedWrite(
        key_mac=keyed_hash(attempt.workspace, "state-write", owner, name)[:16] if name else b"",
        body_mac=encryption.body_mac(key, write.raw) if key else b"",
        credential=caller.credential_id.bytes,
        mode=write.mode,
        if_version=writes.expected_version(write) or 0,
        at=attempt.now.timestamp(),
    )


def _require_same_person(attempt: _Attempt, row: State | None) -> Handle | None:
    """Refuse a write that names another person than its scope or state does (WM-6); give whom it names, if known."""
    values = {value for value in (attempt.scope.handle, attempt.write.subject) if value is not None}
    handles = [known_handle(attempt.workspace, value) for value in values]
    people = {handle.profile_id if handle else value for handle, value in zip(handles, values, strict=True)}
    if row is not None and row.handle is not None and values:
        people.add(row.handle.profile_id)
    if len(people) > 1:
        raise SubjectMismatch
    return next((handle for handle in handles if handle is not None), None)


def _new_row(attempt: _Attempt) -> State:
    scope = attempt.scope
    return State(
        scope_kind=scope.kind,
        scope_hash=scope.hash,
        hash_key_id=scope.hash_key_id,
        agent=attempt.write.agent,
    )
