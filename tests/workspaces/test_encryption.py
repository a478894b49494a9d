"""Content at rest: sealed to its place, under keys that can be destroyed (PL-12)."""

import hashlib
import hmac
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from agentstate.encryption import open_body
from agentstate.models import State
from tests import factories
from tests.api import InProcess
from tests.stores import forget_hot_store
from workspaces import access, deployment, encryption
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.models import WrappedKey
from workspaces.types import Key, WorkspaceRef

KEY = Key(id=UUID(int=1), secret=bytes(range(32)))
OTHER = Key(id=UUID(int=2), secret=bytes(range(1, 33)))
CANARY = "canary-of-encryption"

contents = st.binary(max_size=300)


@given(contents, contents)
def test_what_is_sealed_opens_with_its_key_and_place(plain: bytes, context: bytes) -> None:
    """PL-12: sealing and unsealing under one key and one context give the content back."""
    assert encryption.unseal(KEY, encryption.seal(KEY, plain, context=context), context=context) == plain


@given(contents, contents, st.data())
def test_any_changed_byte_is_refused(plain: bytes, context: bytes, data: st.DataObject) -> None:
    """PL-12: a ciphertext with one bit turned, cut short or prolonged does not open, nor does another context."""
    sealed = encryption.seal(KEY, plain, context=context)
    place = data.draw(st.integers(0, len(sealed) * 8 - 1))
    turned = bytearray(sealed)
    turned[place // 8] ^= 1 << place % 8
    for bad in (bytes(turned), sealed[: data.draw(st.integers(0, len(sealed) - 1))], sealed + b"\0", b""):
        with pytest.raises(Tampered):
            encryption.unseal(KEY, bad, context=context)
    for key, other in ((OTHER, context), (KEY, context + b"\0")):
        with pytest.raises(Tampered):
            encryption.unseal(key, sealed, context=other)


def test_the_same_content_never_looks_the_same() -> None:
    """PL-12: nonces are random: of 2,000 seals of one content no two share a nonce or a ciphertext."""
    sealed = [encryption.seal(KEY, b"same", context=b"same") for _ in range(2000)]
    assert len(set(sealed)) == 2000
    assert len({text[: encryption.NONCE_BYTES] for text in sealed}) == 2000
    assert encryption.NONCE_BYTES == 12


@given(st.lists(st.text(max_size=8), max_size=4), st.lists(st.text(max_size=8), max_size=4))
def test_two_places_never_have_the_same_name(one: list[str], other: list[str]) -> None:
    """PL-12: the associated data of two different places differ, whatever their parts hold."""
    assert (encryption.context_of(*one) == encryption.context_of(*other)) == (one == other)


def test_a_key_does_not_show_its_secret() -> None:
    """PL-12, WM-24: an unwrapped key that is printed or logged tells its id only."""
    shown = f"{KEY} {KEY!r} {[KEY]} {(KEY, 1.0)}"
    assert str(KEY.id) in shown
    assert not [form for form in (repr(KEY.secret), KEY.secret.hex()) if form in shown]


def test_a_mac_is_made_under_a_key_of_its_own() -> None:
    """PL-12: hashes do not use the key that seals, and purposes do not mix."""
    made = encryption.mac(KEY, "one", b"message")
    assert made != hmac.new(KEY.secret, b"message", hashlib.sha256).digest()
    assert made != encryption.mac(KEY, "two", b"message")
    assert made != encryption.mac(OTHER, "one", b"message")
    assert made == encryption.mac(KEY, "one", b"message")


# Keys of a workspace


def test_a_workspace_has_its_own_keys(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-12: keyed hashes use a key apart from encryption, one for each workspace and purpose."""
    assert encryption.workspace_key(aurora).secret != encryption.workspace_key(boreal).secret
    hashes = {
        encryption.keyed_hash(aurora, "handle", "phone:1"),
        encryption.keyed_hash(boreal, "handle", "phone:1"),
        encryption.keyed_hash(aurora, "scope", "phone:1"),
        encryption.keyed_hash(aurora, "handle", "phone:", "1"),
        encryption.subkey(aurora, "masking"),
        deployment.hashed("handle", "phone:1"),
        hmac.new(encryption.workspace_key(aurora).secret, b"phone:1", hashlib.sha256).digest(),
    }
    assert len(hashes) == 7


def test_keys_are_stored_wrapped(aurora: WorkspaceRef) -> None:
    """PL-12: no key stands in the table in clear: data under handle or workspace keys, those under the master key."""
    with access.bound(aurora.id):
        kept = encryption.workspace_key(aurora)
        rows = {row.id: row for row in WrappedKey.objects.all()}
    row = rows[aurora.key_id]
    assert (row.wrapped_by, row.purpose) == (None, "workspace")
    assert len(row.wrapped) == encryption.NONCE_BYTES + 32 + 16
    assert not [found for found in rows.values() if kept.secret in bytes(found.wrapped)]


def test_another_master_key_opens_nothing(aurora: WorkspaceRef, settings: Settings) -> None:
    """PL-12: with the wrong master key no key is unwrapped and no state is read; with the right one all is there."""
    api, scope = InProcess(factories.make_key(aurora)), factories.scope()
    api.write(factories.write({"remark": CANARY}, scope=scope))
    right = settings.LASTRO_MASTER_KEY
    settings.LASTRO_MASTER_KEY = bytes(32)
    encryption.forget_unwrapped_keys()
    with pytest.raises(Tampered):
        encryption.workspace_key(aurora)
    answer = api.read(scope)
    assert (answer.status, answer.code) == (500, "stored_data_damaged")
    settings.LASTRO_MASTER_KEY = right
    encryption.forget_unwrapped_keys()
    assert api.read(scope).body["body"] == {"remark": CANARY}


def forget() -> None:
    """Let this process and the hot store forget the keys that they have."""
    encryption.forget_unwrapped_keys()
    forget_hot_store()


def test_a_wrapped_key_is_bound_to_its_place(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-12: a wrapped key that is put under another id, purpose or workspace does not open."""
    with access.bound(aurora.id):
        row = WrappedKey.objects.get(id=aurora.key_id)
        WrappedKey.objects.filter(id=row.id).update(purpose="hash")
        forget()
        with pytest.raises(Tampered):
            encryption.workspace_key(aurora)
        WrappedKey.objects.filter(id=row.id).update(purpose=row.purpose)
        WrappedKey.objects.filter(id=aurora.hash_key_id).update(wrapped=bytes(row.wrapped))
    forget()
    with pytest.raises(Tampered):
        encryption.keyed_hash(aurora, "handle", "x")
    with access.bound(boreal.id):
        WrappedKey.objects.filter(id=boreal.key_id).update(wrapped=bytes(row.wrapped))
    forget()
    with pytest.raises(Tampered):
        encryption.workspace_key(boreal)
    assert encryption.workspace_key(aurora).id == aurora.key_id


def test_a_workspace_key_is_unwrapped_once_a_minute(
    aurora: WorkspaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-12, WM-20: a process keeps workspace keys unwrapped for 60 seconds and no longer."""
    clock = [1000.0]
    monkeypatch.setattr("workspaces.encryption.time.monotonic", lambda: clock[0])
    looks = []
    for seconds in (0.0, 59.9, 60.0, 119.9, 120.0):
        clock[0] = 1000.0 + seconds
        forget_hot_store()
        with CaptureQueriesContext(connections["keys"]) as queries:
            encryption.workspace_key(aurora)
        looks.append(len(queries))
    assert looks == [1, 0, 1, 0, 1]


def test_data_and_handle_keys_live_for_one_request(aurora: WorkspaceRef) -> None:
    """WM-20: after a write and a read only keys of the workspace and the deployment stay unwrapped."""
    api, scope = InProcess(factories.make_key(aurora)), factories.scope()
    api.write(factories.write(scope=scope, subject={"type": "email", "value": "ana@example.com"}))
    api.read(scope)
    with access.bound(aurora.id):
        assert WrappedKey.objects.filter(purpose__in=["data", "handle"]).count() == 2
    assert encryption._unwrapped.keys() <= {aurora.key_id, aurora.hash_key_id, deployment.HASH_KEY}


# The body of a state


class Sealed:
    """Two states of one workspace whose rows can be tampered with."""

    def __init__(self, workspace: WorkspaceRef) -> None:
        self.workspace = workspace
        self.api = InProcess(factories.make_key(workspace))
        self.scopes = [factories.scope(), factories.scope()]
        for scope in self.scopes:
            for _ in range(2):
                assert self.api.write(factories.write({"remark": CANARY}, scope=scope)).status == 200

    def rows(self) -> list[State]:
        with access.bound(self.workspace.id):
            return list(State.objects.order_by("created_at"))

    def change(self, row: State, **columns: Any) -> None:
        with access.bound(self.workspace.id):
            State.objects.filter(id=row.id).update(**columns)
        forget_hot_store()

    def open(self, number: int = 0) -> Any:
        with access.bound(self.workspace.id):
            return open_body(self.workspace, self.rows()[number])[0]


@pytest.fixture
def sealed(aurora: WorkspaceRef) -> Sealed:
    return Sealed(aurora)


def moved_body(sealed: Sealed) -> None:
    mine, other = sealed.rows()
    sealed.change(mine, body=bytes(other.body or b""))


def moved_body_and_key(sealed: Sealed) -> None:
    mine, other = sealed.rows()
    sealed.change(mine, body=bytes(other.body or b""), data_key_id=other.data_key_id)


def moved_with_all_but_its_name(sealed: Sealed) -> None:
    mine, other = sealed.rows()
    sealed.change(
        mine,
        body=bytes(other.body or b""),
        data_key_id=other.data_key_id,
        epoch=other.epoch,
        version=other.version,
    )


def older_body(sealed: Sealed) -> None:
    row = sealed.rows()[0]
    old = bytes(row.body or b"")
    sealed.api.write(factories.write({"remark": "newer"}, scope=sealed.scopes[0]))
    sealed.change(row, body=old)


def another_number(sealed: Sealed) -> None:
    sealed.change(sealed.rows()[0], version=7)


def another_life(sealed: Sealed) -> None:
    sealed.change(sealed.rows()[0], epoch="another-life")


def cut_body(sealed: Sealed) -> None:
    sealed.change(sealed.rows()[0], body=b"short")


TAMPERING = [
    moved_body,
    moved_body_and_key,
    moved_with_all_but_its_name,
    older_body,
    another_number,
    another_life,
    cut_body,
]


@pytest.mark.parametrize("tamper", TAMPERING, ids=lambda tamper: tamper.__name__)
def test_a_body_opens_in_its_own_place_only(sealed: Sealed, tamper: Callable[[Sealed], None]) -> None:
    """PL-12: a body moved to another row, key, version or epoch, put back, or cut, does not open."""
    assert sealed.open() == {"remark": CANARY}
    tamper(sealed)
    with pytest.raises(Tampered):
        sealed.open()
    answer = sealed.api.read(sealed.scopes[0])
    assert (answer.status, answer.code) == (500, "stored_data_damaged")
    assert CANARY not in f"{answer.body}"
    assert sealed.api.read(sealed.scopes[1]).body["body"] == {"remark": CANARY}


def test_a_body_of_another_workspace_does_not_open(sealed: Sealed, boreal: WorkspaceRef) -> None:
    """PL-12: a row with its keys under another workspace's name does not open."""
    row = sealed.rows()[0]
    with access.bound(boreal.id), pytest.raises(KeyDestroyed):
        open_body(boreal, row)


def test_no_body_stands_in_the_table(sealed: Sealed) -> None:
    """PL-12: bodies are ciphertext, each under a data key of its own, with a new nonce at each write."""
    with access.bound(sealed.workspace.id), connection.cursor() as cursor:
        cursor.execute("SELECT t::text FROM agentstate_state t")
        text = "".join(row[0] for row in cursor.fetchall())
    assert "order" in text
    assert CANARY not in text
    assert CANARY.encode().hex() not in text
    first, second = sealed.rows()
    assert first.data_key_id != second.data_key_id
    nonces = {bytes(first.body or b"")[:12], bytes(second.body or b"")[:12]}
    sealed.api.write(factories.write({"remark": CANARY}, scope=sealed.scopes[0]))
    assert len(nonces | {bytes(sealed.rows()[0].body or b"")[:12]}) == 3


def test_a_destroyed_key_reads_as_never_written(sealed: Sealed) -> None:
    """PL-12, PR-15: without its data key a state is empty at version 0, at once, and the numbering goes on."""
    row = sealed.rows()[0]
    encryption.destroy_keys(sealed.workspace, row.data_key_id)
    empty = sealed.api.read(factories.scope()).body
    assert sealed.api.read(sealed.scopes[0]).body == empty
    assert empty["version"] == 0
    with access.bound(sealed.workspace.id), pytest.raises(KeyDestroyed):
        open_body(sealed.workspace, row)
    written = sealed.api.write(factories.write({"remark": "again"}, scope=sealed.scopes[0]))
    assert (written.status, written.body["version"]) == (200, row.version + 1)
    assert written.body["epoch"] != row.epoch
    assert sealed.api.read(sealed.scopes[1]).body["body"] == {"remark": CANARY}


def test_destroying_a_handles_key_ends_what_came_by_it(sealed: Sealed) -> None:
    """PR-15: the states that name a handle are unreadable with its key; others are untouched."""
    scope = factories.scope()
    sealed.api.write(factories.write(scope=scope, subject={"type": "email", "value": "ana@example.com"}))
    handle = sealed.rows()[-1].handle_id
    encryption.destroy_keys(sealed.workspace, handle)
    assert sealed.api.read(scope).body["version"] == 0
    assert sealed.api.read(sealed.scopes[0]).body["body"] == {"remark": CANARY}


def test_keys_of_another_workspace_are_not_destroyed(sealed: Sealed, boreal: WorkspaceRef) -> None:
    """PL-1: destroying keys reaches those of the named workspace alone."""
    encryption.destroy_keys(
        boreal, *(row.data_key_id for row in sealed.rows()), sealed.workspace.key_id, None
    )
    assert sealed.open() == {"remark": CANARY}


def test_a_chain_of_keys_opens_in_its_order_only(sealed: Sealed) -> None:
    """PL-12: a key opens below the one that wrapped it, and below no other."""
    workspace, row = sealed.workspace, sealed.rows()[0]
    assert encryption.open_key(workspace, None, row.data_key_id).id == row.data_key_id
    assert encryption.open_key(workspace).id == workspace.key_id
    with pytest.raises(KeyDestroyed):
        encryption.open_key(workspace, row.data_key_id, sealed.rows()[1].data_key_id)
    with pytest.raises(KeyDestroyed):
        encryption.open_key(workspace, uuid4())
    made = encryption.make_key(
        workspace,
        key_id=uuid4(),
        purpose="data",
        under=encryption.workspace_key(workspace),
        now=timezone.now(),
    )
    assert encryption.open_key(workspace, made.id) == made
