"""What lets somebody in stands in the hot store for a while, and stops when it should (PL-3, PR-1, PR-4, WM-20)."""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.embedded.parts import Size
from tests import factories
from tests.api import InProcess, OverHttp
from tests.hotstore.store import pass_deadline, raw
from tests.server import Server
from tests.workspaces.cast import with_secret_of
from workspaces import access, coherence, deployment, documents, encryption, grants, hotstore
from workspaces.hotstore import HotStoreDown, Name
from workspaces.http import admission
from workspaces.models import ApiKey
from workspaces.rules.credentials import parse_key
from workspaces.selectors import credentials as selectors
from workspaces.selectors.credentials import key_name
from workspaces.services import credentials
from workspaces.types import WorkspaceRef

SLACK = 10.0
"""One second, asserted at ten times its value (PL-18)."""


@pytest.fixture
def ready(committed: None) -> WorkspaceRef:
    """A workspace whose rows other processes see."""
    return factories.make_ready_workspace("Entrada")


@pytest.fixture(scope="module")
def pair(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, _deployment_key: None
) -> Iterator[Server]:
    """A server with two processes for readers and two for writers."""
    running = Server(tmp_path_factory.mktemp("pair"), size=Size(workers=2)).start()
    yield running
    running.stop()


def name_of_key(key: str) -> Name:
    """Name a key in the hot store by its text."""
    parts = parse_key(key)
    assert parts is not None
    return key_name(parts.key_id)


def row_of_key(workspace: WorkspaceRef, key: str) -> ApiKey:
    """Give the row of a key."""
    parts = parse_key(key)
    assert parts is not None
    with access.bound(workspace.id):
        return ApiKey.objects.get(key_id=parts.key_id)


def revoke(workspace: WorkspaceRef, key: str) -> None:
    """Revoke a key by the service that does."""
    row = row_of_key(workspace, key)
    with access.bound(workspace.id):
        credentials.revoke_api_key(key_id=row.id, reason="", actor=factories.SYSTEM, now=timezone.now())


def rotate(workspace: WorkspaceRef, key: str) -> None:
    """Rotate a key without overlap."""
    row = row_of_key(workspace, key)
    with access.bound(workspace.id):
        credentials.rotate_api_key(
            key_id=row.id, overlap=timedelta(0), maker=None, actor=factories.SYSTEM, now=timezone.now()
        )


def switch_off(workspace: WorkspaceRef, key: str) -> None:
    """Switch the feature off."""
    factories.switch(workspace, "agent_state", on=False)


def read(client: Any) -> Any:
    return client.read(factories.scope("c-1"))


ENDS: list[tuple[Callable[[WorkspaceRef, str], None], int]] = [
    (revoke, 401),
    (rotate, 401),
    (switch_off, 404),
]


@pytest.mark.parametrize(("end", "status"), ENDS)
def test_it_stops_at_once_where_it_was_known(
    ready: WorkspaceRef, end: Callable[[WorkspaceRef, str], None], status: int
) -> None:
    """PL-3, PR-4: a process that has just let a key in does not do so once it was revoked, rotated or switched off."""
    key = factories.make_key(ready)
    client = InProcess(key)
    assert [read(client).status for _ in range(3)] == [200] * 3
    end(ready, key)
    assert [read(client).status for _ in range(3)] == [status] * 3


@pytest.mark.parametrize(("end", "status"), ENDS)
def test_it_stops_on_every_process(
    ready: WorkspaceRef, pair: Server, end: Callable[[WorkspaceRef, str], None], status: int
) -> None:
    """PL-3, PR-4: within one second no process of the server lets in what all of them had let in before."""
    key = factories.make_key(ready)
    clients = [OverHttp(pair.url, key) for _ in range(12)]
    assert {read(client).status for client in clients} == {200}
    assert {client.write(factories.write()).status for client in clients} == {200}
    end(ready, key)
    begin = time.monotonic()
    while {read(client).status for client in clients} != {status}:
        assert time.monotonic() - begin < SLACK
    assert {client.write(factories.write()).status for client in clients} == {status}
    for client in clients:
        client.http.close()


def test_a_feature_comes_on_at_once(ready: WorkspaceRef) -> None:
    """PR-1: off and on again, each at once."""
    client = InProcess(factories.make_key(ready))
    for on, status in ((False, 404), (True, 200), (False, 404), (True, 200)):
        factories.switch(ready, "agent_state", on=on)
        assert [read(client).status for _ in range(2)] == [status] * 2


def test_a_key_expires_at_its_moment(ready: WorkspaceRef) -> None:
    """PL-3: the entry of a key that is warm everywhere does not outlive the key."""
    end = timezone.now() + timedelta(seconds=2)
    client = InProcess(factories.make_key(ready, expires_at=end))
    assert read(client).status == 200
    time.sleep(max((end - timezone.now()).total_seconds(), 0) + 0.01)
    assert read(client).status == 401


class Crash(Exception):
    """The end of a process between its commit and its publication."""


@pytest.mark.parametrize(("end", "status"), ENDS)
def test_a_crash_after_the_commit_lets_nobody_in_again(
    ready: WorkspaceRef,
    monkeypatch: pytest.MonkeyPatch,
    end: Callable[[WorkspaceRef, str], None],
    status: int,
) -> None:
    """PL-3, PR-4, WM-20: who revokes and dies before the entry went has revoked, before and after a repair."""
    key = factories.make_key(ready)
    client = InProcess(key)
    assert read(client).status == 200

    def crash(_: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(coherence, "end", crash)
        with pytest.raises(Crash):
            end(ready, key)
    assert read(client).status == status
    name = documents.heads_name(ready.id) if end is switch_off else name_of_key(key)
    pass_deadline(name)
    assert [read(client).status for _ in range(3)] == [status] * 3
    assert raw().exists(name.marker) == 0


def granting(workspace: WorkspaceRef, key: str) -> list[Name]:
    """Name every entry that grants something to a key."""
    with access.bound(workspace.id):
        ids = [document.id for document in documents.live().values()]
    heads = documents.heads_name(workspace.id)
    return [name_of_key(key), heads, *(hotstore.name_of("b", id.bytes) for id in ids)]


def forget_all() -> None:
    """Forget what this process has read, as a new one would."""
    grants.forget()
    documents._bodies.clear()
    encryption.forget_unwrapped_keys()


def spoilt(entry: bytes, at: int) -> bytes:
    return entry[:at] + bytes([entry[at] ^ 1]) + entry[at + 1 :]


@pytest.mark.parametrize("at", [16, 47, 48, -1])
def test_a_tampered_entry_grants_nothing_and_is_replaced(ready: WorkspaceRef, at: int) -> None:
    """WM-20: an entry whose MAC or body was changed counts as if it were not there, and a good one takes its place."""
    key = factories.make_key(ready)
    client = InProcess(key)
    forget_all()
    assert read(client).status == 200
    names = granting(ready, key)
    good = [raw().get(name.entry) for name in names]
    assert None not in good
    for name, entry in zip(names, good, strict=True):
        raw().set(name.entry, spoilt(entry, at % len(entry)))
    forget_all()
    assert read(client).status == 200
    assert [raw().get(name.entry) for name in names] == good


def test_an_entry_of_another_shape_is_replaced(ready: WorkspaceRef) -> None:
    """PL-14, WM-20: an entry that another release wrote counts as if it were not there, and answers no 500."""
    key = factories.make_key(ready)
    client = InProcess(key)
    assert read(client).status == 200
    for name in granting(ready, key):
        raw().set(name.entry, b"0" * 16 + grants.dump(name, ["of", "another", "release"]))
    forget_all()
    assert read(client).status == 200


def test_an_entry_under_another_name_grants_nothing(ready: WorkspaceRef) -> None:
    """WM-20: the MAC is bound to the name: the entry of a live key does not revive a revoked one."""
    alive, dead = factories.make_key(ready), factories.make_key(ready)
    assert read(InProcess(alive)).status == read(InProcess(dead)).status == 200
    revoke(ready, dead)
    assert read(InProcess(dead)).status == 401
    entry = raw().get(name_of_key(alive).entry)
    raw().set(name_of_key(dead).entry, entry)
    assert read(InProcess(dead)).status == 401

    other = factories.make_workspace("Outra")
    stranger = InProcess(factories.make_key(other))
    assert read(stranger).code == "feature_off"
    raw().set(documents.heads_name(other.id).entry, raw().get(documents.heads_name(ready.id).entry))
    assert read(stranger).code == "feature_off"


def test_an_entry_of_another_generation_grants_nothing(ready: WorkspaceRef, settings: Any) -> None:
    """WM-20: an entry that is moved into another generation of the hot store does not count there."""
    key = factories.make_key(ready)
    assert read(InProcess(key)).status == 200
    entry = raw().get(name_of_key(key).entry)
    revoke(ready, key)
    assert read(InProcess(key)).status == 401
    settings.HOT_STORE_GENERATION += 1_000
    raw().set(name_of_key(key).entry, entry)
    assert read(InProcess(key)).status == 401


def test_a_warm_key_is_asked_for_its_network(ready: WorkspaceRef) -> None:
    """PL-3: a key that was let in from its own network is refused from another, and goes on in its own."""
    key = factories.make_key(ready, networks=("192.0.2.0/24",))
    inside, outside = InProcess(key), InProcess(key)
    inside._client.defaults["REMOTE_ADDR"] = "192.0.2.7"
    outside._client.defaults["REMOTE_ADDR"] = "198.51.100.7"
    for _ in range(2):
        assert read(inside).status == 200
        assert (read(outside).status, read(outside).code) == (403, "forbidden")
    forget_all()
    assert read(outside).status == 403


def test_a_token_is_never_cached(ready: WorkspaceRef) -> None:
    """PL-3: what a person may do is asked anew each time; nothing of a token stands in the hot store."""
    person = factories.make_person(ready, "security")
    token = factories.make_token(ready, person, "change_features")
    parts = parse_key(token)
    assert parts is not None
    client = InProcess(token)
    assert client.get("/v1/config/features").status == 200
    assert raw().exists(key_name(parts.key_id).entry) == 0
    with access.bound(ready.id):
        made = selectors.tokens_of(person.id).get()
        credentials.revoke_token(token_id=made.id, person=person, actor=factories.SYSTEM, now=timezone.now())
    assert client.get("/v1/config/features").status == 401


def test_no_secret_stands_in_the_hot_store(ready: WorkspaceRef) -> None:
    """PL-3, PL-12: neither the text of a key, nor an unwrapped key, nor content is anywhere in the hot store."""
    key = factories.make_key(ready)
    client, canary = InProcess(key), "canary-of-the-hot-store"
    place = factories.scope("canary-of-a-scope")
    client.write(factories.write({"remark": canary}, scope=place))
    assert client.read(place).body["body"] == {"remark": canary}
    parts = parse_key(key)
    assert parts is not None
    opened = [encryption.workspace_key(ready).secret, deployment._keys()[0].secret]
    secrets = [parts.secret.encode(), canary.encode(), b"canary-of-a-scope", *opened]
    kept = [
        (found, raw().get(found) or b"")
        for found in raw().scan_iter(count=1_000)
        if raw().type(found) == b"string"
    ]
    assert len(kept) > 4
    assert not [name for name, value in kept for secret in secrets if secret in name or secret in value]


def calls_of(monkeypatch: pytest.MonkeyPatch, deed: Callable[[], Any]) -> dict[str, int]:
    """Count what a deed asks: looks at the hot store, hashes of secrets, look-ups in the database."""
    counts = {"looks": 0, "hashes": 0, "lookups": 0}

    def counted(name: str, original: Any) -> Any:
        def count(*arguments: Any, **members: Any) -> Any:
            counts[name] += 1
            return original(*arguments, **members)

        return count

    with monkeypatch.context() as patch:
        patch.setattr(hotstore, "look", counted("looks", hotstore.look))
        patch.setattr(selectors, "secret_hash", counted("hashes", selectors.secret_hash))
        patch.setattr(admission, "key_facts", counted("lookups", selectors.key_facts))
        deed()
    return counts


@pytest.mark.parametrize("is_warm", [False, True])
def test_a_wrong_key_costs_no_more_than_a_right_one(
    ready: WorkspaceRef, monkeypatch: pytest.MonkeyPatch, *, is_warm: bool
) -> None:
    """PL-3: a key with a wrong secret asks the stores no more often than the right one does."""
    right, other = factories.make_key(ready), factories.make_key(ready)
    wrong = with_secret_of(right, other)
    if is_warm:
        read(InProcess(right))
    costs = {}
    for text, status in ((wrong, 401), (right, 200)):
        if not is_warm:
            raw().delete(name_of_key(right).entry)
            forget_all()
        costs[status] = calls_of(monkeypatch, lambda text=text: read(InProcess(text)))  # type: ignore[misc]
    assert costs[401]["lookups"] <= costs[200]["lookups"]
    assert costs[401]["looks"] <= costs[200]["looks"]
    assert costs[401]["hashes"] <= costs[200]["hashes"] + 1


def test_keys_work_without_the_hot_store(ready: WorkspaceRef, monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-3, WM-20: without the hot store the database says who may come in, and who no longer."""
    key = factories.make_key(ready)
    assert read(InProcess(key)).status == 200

    def away(*_: Any, **__: Any) -> None:
        raise HotStoreDown

    with monkeypatch.context() as patch:
        patch.setattr(hotstore, "look", away)
        assert read(InProcess(key)).status == 200
    revoke(ready, key)
    with monkeypatch.context() as patch:
        patch.setattr(hotstore, "look", away)
        assert read(InProcess(key)).status == 401


def test_a_key_is_not_revoked_where_no_reader_can_be_told(
    ready: WorkspaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-3, WM-20: a revocation that cannot mark the entry is refused whole, and the key goes on until it can."""
    key = factories.make_key(ready)
    assert read(InProcess(key)).status == 200

    def away(*_: Any, **__: Any) -> None:
        raise HotStoreDown

    with monkeypatch.context() as patch:
        patch.setattr(hotstore, "mark", away)
        with pytest.raises(Exception, match="hot_store_unavailable"):
            revoke(ready, key)
    assert row_of_key(ready, key).revoked_at is None
    assert read(InProcess(key)).status == 200
