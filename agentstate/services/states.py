"""Storing and deleting working memory (WM-6 to WM-16b). Each is one transaction, in a turn of its own."""

import secrets
from datetime import datetime
from uuid import uuid4

import msgspec
from django.db import OperationalError, transaction

from agentstate import access, documents, encryption, hotstates
from agentstate.access import Place
from agentstate.documents import Declared
from agentstate.errors import ScopeKindNotDeclared, SubjectMismatch
from agentstate.hotstates import Held, Turn
from agentstate.models import State
from agentstate.rules import resends, writes
from agentstate.selectors.lives import due_at, life_of
from agentstate.services import erasures, usage
from agentstate.services.lives import entomb
from agentstate.types import (
    Draft,
    Life,
    RememberedWrite,
    StateDeletion,
    StateRow,
    StateWrite,
    StoredState,
)
from workspaces import barriers, coherence
from workspaces.documents import Live, hold, require_feature
from workspaces.encryption import destroy_keys, keyed_hash, previous_hash, retire_keys
from workspaces.errors import OutcomeUnknown, Problem, Unavailable
from workspaces.masking import mask_fields
from workspaces.models import Handle
from workspaces.postgresql.calls import NotSent
from workspaces.rules import json
from workspaces.rules.handles import Handle as HandleValue
from workspaces.scopes import Scope, scope_of
from workspaces.selectors.profiles import handle_hash, known_handle
from workspaces.services.profiles import handle_of
from workspaces.types import Caller, Key, WorkspaceRef

EPOCH_BYTES = 9
# Classes of SQLSTATE by which the server says that a statement failed, so that nothing of it was stored.
_REFUSED_BY_THE_SERVER = ("22", "23", "25", "40", "53", "54", "55", "57014")


class _Attempt(msgspec.Struct, frozen=True):
    """One write with everything that decides about it."""

    caller: Caller
    write: StateWrite
    place: Place
    declared: Declared
    row: StateRow | None
    life: Life
    now: datetime

    @property
    def workspace(self) -> WorkspaceRef:
        return self.caller.workspace

    @property
    def scope(self) -> Scope:
        return self.place.scope

    @property
    def is_lost(self) -> bool:
        """Tell whether the row says that it lives, and nothing of it can be served: expired, or without its keys."""
        return self.row is not None and self.row.life == State.Life.LIVE and not self.life.is_live


def store_state(
    *, caller: Caller, write: StateWrite, now: datetime, documents_seen: Live | None = None
) -> StoredState:
    """Store one write of a working memory state (WM-7 to WM-15).

    1. Mark the hot entry of the state, so that no reader is served from it until the write is published (WM-20).
    2. Where nobody else writes it, store the next version over the one that is known, in one round trip.
    3. Where that does not hold, or leads to any other answer than `stored`, decide again under the state's lock.
    4. Publish what is stored now.

    The documents that the request saw may be given: the database refuses a write that older ones decided.
    Raises AgentStateConflict, InvalidFieldValue, SubjectMismatch, ScopeKindNotDeclared, Conflict, InvalidInput,
    HotStoreUnavailable and Unavailable (nothing was stored), OutcomeUnknown (send it again, or read).
    """
    scope = scope_of(caller.workspace, kind=write.scope_kind, id=write.scope_id)
    place = access.place_of(caller.workspace, scope, write.agent)
    with hotstates.turn(place) as turn:
        stored = None
        if documents_seen is not None and turn.is_alone:
            stored = _store_at_once(turn, caller, write, documents_seen, now=now)
        stored = stored or _store_in_order(turn, caller, write, now=now)
    return usage.counted(turn, stored, agent=write.agent, now=now)


def delete_state(
    *, caller: Caller, scope: Scope, agent: str, if_version: int | None, now: datetime
) -> StateDeletion:
    """Remove a whole state; it reads as never written afterwards (WM-16b).

    It may be part of a larger transaction: the marker holds until that has committed (WM-20).
    Raises AgentStateConflict, HotStoreUnavailable and OutcomeUnknown.
    """
    place = access.place_of(caller.workspace, scope, agent)
    with transaction.atomic():
        hold()
        require_feature(documents.FEATURE)
        declared = documents.declared_for(agent)
        row = access.lock_state(place)
        life = life_of(caller.workspace, row, declared, now=now)
        if if_version is not None:
            writes.require_version(life.version, if_version)
        if row is not None and life.is_live:
            coherence.changing_locked(place.name)
            at = max(now, row.updated_at)
            entomb(caller.workspace, row, into=State.Life.DELETED, declared=declared, now=at)
            row.save()
    return StateDeletion(deleted=life.is_live)


def _store_at_once(
    turn: Turn, caller: Caller, write: StateWrite, seen: Live, *, now: datetime
) -> StoredState | None:
    """Store over the version that is known without a lock; none where it must be decided under the lock.

    What is known may be out of date, so only a write that is stored, and thereby proves it, is answered from here.
    """
    try:
        decided = _decided_at_once(turn, caller, write, seen, now=now)
    except OperationalError as error:
        raise Unavailable from error
    try:
        return _store(turn, *decided, seen) if decided is not None else None
    except OperationalError as error:
        raise _failure(error) from error


def _decided_at_once(
    turn: Turn, caller: Caller, write: StateWrite, seen: Live, *, now: datetime
) -> tuple[_Attempt, Draft] | None:
    held = turn.current()
    if not _is_simple(turn.place, write, held.row):
        return None
    try:
        attempt = _attempt(caller, write, turn.place, seen, held, now=now)
        draft = _decide(attempt)
    except Unavailable:
        raise
    except Problem:
        return None
    if attempt.is_lost:
        return None
    return (attempt, draft) if isinstance(draft, Draft) and draft.reason is None else None


def _store_in_order(turn: Turn, caller: Caller, write: StateWrite, *, now: datetime) -> StoredState:
    """Wait for the writers who came before, then decide and store under the lock of the state."""
    is_committing = False
    try:
        with transaction.atomic():
            answer = _store_locked(turn, caller, write, now=now)
            is_committing = turn.has_changed
    except OperationalError as error:
        raise (OutcomeUnknown if is_committing else Unavailable) from error
    return answer


def _store_locked(turn: Turn, caller: Caller, write: StateWrite, *, now: datetime) -> StoredState:
    documents_now, row = access.take_turn(turn.place)
    require_feature(documents.FEATURE, documents_now)
    turn.leaves(row, changed=False)
    attempt = _attempt(caller, write, turn.place, documents_now, Held(row), now=now)
    if attempt.is_lost and erasures.finish(attempt.workspace, row):
        # An erasure covers the row and has not come to it yet: what is written now is a life of its own.
        row = access.read_row(turn.place)
        attempt = _attempt(caller, write, turn.place, documents_now, Held(row), now=now)
    draft = _decide(attempt)
    if not isinstance(draft, Draft):
        return draft
    if draft.reason is not None:
        return StoredState(
            stored=False, version=attempt.life.version, reason=draft.reason, epoch=attempt.life.epoch
        )
    stored = _store(turn, attempt, draft, documents_now)
    if stored is None:
        raise Unavailable
    return stored


def _store(turn: Turn, attempt: _Attempt, draft: Draft, decided_by: Live) -> StoredState | None:
    """Store the next version over the one that the attempt was made from; none where that is another by now."""
    row = _next_row(attempt, draft)
    over = attempt.row.change if attempt.row is not None else 0
    outcome, row.change = access.store_row(
        turn.place, row, over=over, decided_by=decided_by, commit_until=turn.commit_until
    )
    if outcome != "stored":
        if attempt.row is None or row.data_key_id != attempt.row.data_key_id:
            destroy_keys(attempt.workspace, row.data_key_id)
        return None
    turn.leaves(row, changed=True, begun=not attempt.life.is_live)
    return StoredState(stored=True, version=row.version, masked=draft.masked, epoch=row.epoch)


def _is_simple(place: Place, write: StateWrite, row: StateRow | None) -> bool:
    """Tell whether a write leaves the state with the person and the life that it has."""
    return row is None or (
        row.life == State.Life.LIVE and _names_the_same(place.workspace, _people_named(write, place), row)
    )


def _attempt(
    caller: Caller, write: StateWrite, place: Place, live: Live, held: Held, *, now: datetime
) -> _Attempt:
    declared = documents.declared_for(write.agent, live)
    row = held.row
    now = max(now, row.updated_at) if row is not None else now
    life = life_of(caller.workspace, row, declared, now=now, keys=held.keys)
    return _Attempt(caller, write, place, declared, row, life, now)


def _decide(attempt: _Attempt) -> Draft | StoredState:
    """Give the answer to a write that was sent again, else what the write leads to, in the order of WM-13."""
    earlier = _sent_before(attempt)
    if earlier is not None:
        return StoredState(stored=True, version=earlier.version, masked=earlier.masked, epoch=earlier.epoch)
    _require_new(attempt)
    _require_same_person(attempt)
    kind = attempt.declared.type
    if kind is not None and attempt.scope.kind not in kind.scopes:
        raise ScopeKindNotDeclared
    return _draft(attempt)


def _draft(attempt: _Attempt) -> Draft:
    """Check a write in the order of WM-13, mask it, and build the next body."""
    write, life, kind = attempt.write, attempt.life, attempt.declared.type
    writes.require_version(life.version, writes.expected_version(write))
    if writes.has_undeclared(write, life, kind):
        return Draft(reason="not_declared_field")
    writes.require_values(write, kind)
    rules = writes.field_rules(kind)
    masked = mask_fields(
        writes.values_of(write),
        declared=rules,
        policy=documents.policy_of(attempt.workspace, attempt.declared),
    )
    body = writes.next_body(write, life, masked.fields)
    plain = json.compact(body)
    if writes.is_over_cap(len(plain), kind):
        return Draft(reason="over_cap")
    return Draft(body=body, plain=plain, masked=masked.counts)


def _next_row(attempt: _Attempt, draft: Draft) -> StateRow:
    """Make the row of the next version."""
    life, row = attempt.life, _row_to_be(attempt)
    row.version = life.numbering + 1
    row.life, row.updated_at, row.source_id = State.Life.LIVE.value, attempt.now, attempt.caller.source_id
    if not life.is_live:
        row.epoch, row.created_at = secrets.token_urlsafe(EPOCH_BYTES), attempt.now
    key = _data_key(attempt, row)
    encryption.seal_body(attempt.workspace, row, draft.plain, key)
    _describe(attempt, row, draft)
    row.recent_writes = resends.dump(_memory(attempt, row, key, draft))
    return row


def _row_to_be(attempt: _Attempt) -> StateRow:
    if attempt.row is not None:
        return msgspec.structs.replace(attempt.row)
    scope, now = attempt.scope, attempt.now
    return StateRow(
        id=uuid4(),
        scope_kind=scope.kind,
        hash_key_id=scope.hash_key_id,
        created_at=now,
        updated_at=now,
        due_at=now,
    )


def _data_key(attempt: _Attempt, row: StateRow) -> Key:
    """Give the key of this life: a new one at its beginning, and when it names a person for the first time (WM-6)."""
    life, value = attempt.life, attempt.scope.handle or attempt.write.subject
    is_named_now = value is not None and (not life.is_live or row.handle_id is None)
    if life.is_live and life.key is not None and not is_named_now:
        return life.key
    if row.data_key_id is not None:
        retire_keys(attempt.workspace, row.data_key_id)
    handle = handle_of(workspace=attempt.workspace, value=value, now=attempt.now) if value else None
    row.handle_id, row.handle_hash = (handle.id, bytes(handle.hash)) if handle else (None, None)
    return encryption.make_data_key(attempt.workspace, row.handle_id, now=attempt.now)


def _describe(attempt: _Attempt, row: StateRow, draft: Draft) -> None:
    """Set what stands beside the body in clear."""
    declared, kind = attempt.declared, attempt.declared.type
    assert kind is not None  # noqa: S101  (a write without a type is refused as not declared)
    held = writes.next_held(attempt.write, attempt.life, draft.body, kind, now=attempt.now)
    row.body_bytes, row.held = len(draft.plain), msgspec.to_builtins(held)
    row.type, row.type_version, row.types_document = kind.type, kind.version, declared.document
    row.retention_seconds = kind.state_retention_seconds
    due = due_at(row, held, declared)
    # The sweep may look too early, never too late: a moment that stays leaves its index alone.
    row.due_at = row.due_at if attempt.life.is_live and attempt.now < row.due_at < due else due


def _sent_before(attempt: _Attempt) -> RememberedWrite | None:
    caller, life = attempt.caller, attempt.life
    if not attempt.write.idempotency_key and not caller.resend:
        return None
    mark = _mark(attempt, life.key)
    by_key = resends.same_key(life.memory, key_macs=_key_macs(attempt, mark), body_mac=mark.body_mac)
    if by_key is not None or not caller.resend:
        return by_key
    return resends.same_cas(life.memory, mark, version=life.version)


def _memory(attempt: _Attempt, state: StateRow, key: Key, draft: Draft) -> tuple[RememberedWrite, ...]:
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


def _key_macs(attempt: _Attempt, mark: RememberedWrite) -> tuple[bytes, ...]:
    """Give by what an Idempotency-Key is known: under the hash key of now, and under the one before (PL-12)."""
    name = "state-write", str(attempt.caller.source_id), attempt.write.idempotency_key or ""
    before = previous_hash(attempt.workspace, *name) if mark.key_mac else None
    return tuple(found[:16] for found in (mark.key_mac, before) if found)


def _require_new(attempt: _Attempt) -> None:
    """Refuse what was made before an erasure, and what may have been (PR-12)."""
    write, row, values = attempt.write, attempt.row, _people_named(attempt.write, attempt.place)
    # A life began after any erasure, and so did what was made in it.
    began_at = row.created_at if row is not None and attempt.life.is_live else None
    is_same = row is not None and _names_the_same(attempt.workspace, values, row)
    if began_at is not None and is_same and (write.written_at is None or write.written_at >= began_at):
        return
    people = [handle_hash(attempt.workspace, value) for value in values]
    barriers.require_not_erased([attempt.scope.hash, *people], written_at=write.written_at)
    if row is not None and row.life == State.Life.ERASED:
        erasures.require_new(row, attempt.caller, written_at=write.written_at, now=attempt.now)


def _require_same_person(attempt: _Attempt) -> None:
    """Refuse a write that names another person than its scope or state does (WM-6)."""
    values = _people_named(attempt.write, attempt.place)
    row = attempt.row if attempt.life.is_live else None
    if row is not None and _names_the_same(attempt.workspace, values, row):
        return
    people = {_person(attempt.workspace, value) for value in values}
    if row is not None and row.handle_id is not None and values:
        people.add(Handle.objects.get(id=row.handle_id).profile_id)
    if len(people) > 1:
        raise SubjectMismatch


def _people_named(write: StateWrite, place: Place) -> set[HandleValue]:
    return {value for value in (place.scope.handle, write.subject) if value is not None}


def _names_the_same(workspace: WorkspaceRef, values: set[HandleValue], row: StateRow) -> bool:
    """Tell, without asking the database, that a write names nobody but whom its state names already."""
    return all(handle_hash(workspace, value) == row.handle_hash for value in values)


def _person(workspace: WorkspaceRef, value: HandleValue) -> object:
    known = known_handle(workspace, value)
    return known.profile_id if known else value


def _failure(error: OperationalError) -> Problem:
    """Tell a write that was not sent, or that the server refused, from one whose end nobody knows."""
    state = getattr(error.__cause__, "sqlstate", None) or ""
    is_certain = isinstance(error, NotSent) or state.startswith(_REFUSED_BY_THE_SERVER)
    return Unavailable() if is_certain else OutcomeUnknown()
