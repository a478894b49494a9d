"""The keys of keyed hashes are replaced while requests go on, and go when nothing is named under them (PL-12)."""

from datetime import timedelta
from io import StringIO
from threading import Event
from typing import Any
from uuid import UUID

import msgspec
import pytest
from django.core.management import call_command
from django.db import OperationalError, transaction
from django.utils import timezone

from agentstate import access as states
from agentstate.models import State
from agentstate.serializers import WriteState, state_write
from agentstate.services.states import delete_state, store_state
from history.models import Session
from privacy.models import ErasureRequest
from privacy.selectors.hash_keys import names_under_previous
from privacy.services import holds
from privacy.services.holds import HoldWish
from privacy.types import Target
from tests import factories
from tests.agentstate.round_trips import round_trips
from tests.api import InProcess
from tests.factories import scope, write
from tests.history.talk import items, user
from tests.parallel import at_once
from tests.privacy.erasing import ANA, ANAS_PHONE, BRUNO, House, make_house
from tests.stores import forget_hot_store
from workspaces import access, deployment, encryption, grants, rehashing
from workspaces.errors import Unavailable
from workspaces.models import (
    ApiKey,
    AuditEntry,
    DeploymentKey,
    Handle,
    Hold,
    Tombstone,
    Workspace,
    WrappedKey,
)
from workspaces.rules.credentials import parse_key
from workspaces.rules.handles import canonical
from workspaces.scopes import scope_of
from workspaces.selectors.credentials import caller_of
from workspaces.services import credentials, hash_keys, profiles
from workspaces.types import Origin, WorkspaceRef

A_DAY = timedelta(hours=24)


@pytest.fixture
def house(committed: None, monkeypatch: pytest.MonkeyPatch) -> House:
    """A workspace in which nothing waits for the time that passes between two runs of the command."""
    monkeypatch.setattr(hash_keys, "REMEMBERED_FOR", A_DAY * 0)
    monkeypatch.setattr(hash_keys, "KEPT_FOR", A_DAY * 0)
    return make_house()


def rotate(house: House | None = None) -> str:
    said = StringIO()
    chosen = ["--workspace", house.workspace.slug] if house else []
    call_command("rotate_keys", "hashes", *chosen, stdout=said)
    return said.getvalue()


def now_of(house: House) -> WorkspaceRef:
    """Give the workspace as who is let in now knows it."""
    return Workspace.objects.get(id=house.workspace.id).ref


def keys_of(house: House, model: type[Any]) -> set[UUID]:
    with access.bound(house.workspace.id):
        return set(model.objects.values_list("hash_key_id", flat=True))


def left(house: House) -> dict[str, int]:
    with access.bound(house.workspace.id):
        return names_under_previous(now_of(house))


def hash_keys_of(house: House) -> set[UUID]:
    with access.bound(house.workspace.id):
        return set(WrappedKey.objects.filter(purpose="hash").values_list("id", flat=True))


def test_what_was_named_before_is_found_and_named_anew(house: House) -> None:
    """PL-12: a conversation, an object, a person's own state and a person are found by their names after a rotation."""
    places = [
        house.store({"remark": "a conversation"}, subject=ANA),
        house.store({"remark": "an object"}, place=scope("cart:shop:7", kind="object")),
        house.store({"remark": "a person"}, place=scope("email:bruno@example.com", kind="subject")),
    ]
    ana = house.profile_of(ANA)
    assert "another hash key" in rotate(house)
    assert left(house) == {"states": 3, "handles": 2}
    for forget in (forget_hot_store, rehashing.forget, forget_hot_store):
        forget()
        bodies = [house.agent.read(place).body for place in places]
        assert [body["version"] for body in bodies] == [1, 1, 1]
        assert bodies[0]["body"] == {"remark": "a conversation"}
    assert house.profile_of(ANA) == ana
    assert house.agent.write(write({"step": "done"}, scope=places[0], subject=ANA)).body["version"] == 2
    house.profile_of(BRUNO)
    assert left(house) == {}
    assert keys_of(house, State) == keys_of(house, Handle) == {now_of(house).hash_key_id}
    with access.bound(house.workspace.id):
        assert (State.objects.count(), Handle.objects.count()) == (3, 2)


def test_a_key_goes_when_nothing_is_named_under_it(house: House) -> None:
    """PL-12: the key before stays while one row needs it, is destroyed after, and both acts are in the audit."""
    first, kept = house.workspace.hash_key_id, house.store({"step": "cart"})
    rotate(house)
    second = now_of(house).hash_key_id
    assert "needed by states" in rotate(house)
    assert hash_keys_of(house) == {first, second}
    house.agent.read(kept)
    assert "is destroyed" in rotate(house)
    assert hash_keys_of(house) == {second}
    assert now_of(house).previous_hash_key_id is None
    assert house.agent.read(kept).body["version"] == 1
    with access.bound(house.workspace.id):
        acts = list(AuditEntry.objects.order_by("seq").values_list("act", flat=True))
    assert acts[-2:] == ["keys.rotate", "hash_key.retire"]


def test_a_key_stays_for_as_long_as_answers_are_remembered(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-10, PL-12: for a day after the rotation a request that is sent again is known by the key before."""
    monkeypatch.setattr(hash_keys, "REMEMBERED_FOR", A_DAY)
    rotate(house)
    assert "too young" in rotate(house)
    since = timezone.now() - A_DAY
    Workspace.objects.filter(id=house.workspace.id).update(hash_renewed_at=since)
    assert "is destroyed" in rotate(house)


def test_requests_that_are_sent_again(house: House) -> None:
    """PL-10, WM-15: a write and an erasure of before the rotation get their first answers, and another body 409."""
    body, once = write({"step": "cart"}), {"Idempotency-Key": "once"}
    first = house.agent.write(body, **once)
    place = house.store({"step": "cart"})
    asked = house.forget("conversation", place["id"], **once)
    rotate(house)
    assert house.agent.write(body, **once).body == first.body
    assert house.agent.write({**body, "body": {"step": "done"}}, **once).status == 409
    assert house.forget("conversation", place["id"], **once).body == asked.body
    assert house.forget("conversation", "another", **once).status == 409
    with access.bound(house.workspace.id):
        assert ErasureRequest.objects.count() == 1


def test_what_was_erased_stays_erased(house: House) -> None:
    """PR-12, PL-12: tombstones move too: what was made before an erasure is refused after a rotation."""
    before = timezone.now().isoformat()
    place = house.store({"step": "cart"}, subject=ANA)
    house.forget("handle", ANA)
    house.work()
    rotate(house)
    late = house.agent.write(write({"step": "done"}, subject=ANA, written_at=before))
    assert (late.status, late.code) == (410, "subject_erased")
    late = house.agent.write(write({"step": "done"}, scope=place, written_at=before))
    assert (late.status, late.code) == (410, "subject_erased")
    assert keys_of(house, Tombstone) == {now_of(house).hash_key_id}
    assert left(house) == {}


def test_a_hold_and_the_erasure_that_waits_for_it(house: House) -> None:
    """PR-16, PL-12: both name the conversation as its states do, before the rotation and after it."""
    place = house.store({"step": "cart"})
    with access.bound(house.workspace.id):
        wish = HoldWish(
            target=Target(kind="conversation", scope_id=place["id"]),
            reason="A case",
            ends_at=timezone.now() + A_DAY,
        )
        arguments: dict[str, Any] = {"actor": factories.SYSTEM, "now": timezone.now()}
        held = holds.place_hold(workspace=house.workspace, wish=wish, person_id=None, **arguments)
    house.agent.write(write({"step": "delivery"}, scope=place))
    asked = house.forget("conversation", place["id"]).body
    rotate(house)
    assert left(house) == {"states": 1, "open erasures": 1, "holds": 1, "kept versions": 1}
    assert house.agent.read(place).body["version"] == 2
    assert left(house) == {}
    assert house.forget("conversation", place["id"]).body["refusal"] == "duplicate"
    with access.bound(house.workspace.id):
        assert Hold.objects.get().hash_key_id == now_of(house).hash_key_id
        holds.lift_hold(hold_id=held.id, person_id=None, reason="Over", **arguments)
        holds.settle_holds(workspace=house.workspace, now=timezone.now())
    house.work()
    assert house.status(asked["request_id"])["status"] == "completed"
    assert house.agent.read(place).body["version"] == 0


def test_a_session_is_found_under_the_key_it_was_made_under(house: House) -> None:
    """PL-12, HI-1: a session keeps its name until it ends; what comes for it finds it, and no second one is made."""
    talk = house.talk("one", session="s-1", conversation_id="c-77", subject=ANA)
    rotate(house)
    rehashing.forget()
    assert left(house) == {"handles": 1, "sessions": 1}
    assert talk.call("append", items=items(user("two")), create=True).status == 200
    assert [message["content"] for message in talk.call("window").body["messages"]] == ["one", "two"]
    house.talk("three", session="s-2", conversation_id="c-77")
    with access.bound(house.workspace.id):
        assert Session.objects.filter(hash_key_id=now_of(house).hash_key_id).count() == 1
        assert Session.objects.count() == 2
    assert talk.call("delete").body == {"deleted": True}
    assert "sessions" not in left(house)


def test_a_fork_is_of_the_conversation_that_its_origin_named(house: House) -> None:
    """PL-12, HI-22: made after the rotation from one before it, it is found by the conversation and keeps its key."""
    origin = house.talk("one", session="s-1", conversation_id="c-77")
    rotate(house)
    rehashing.forget()
    at = origin.call("read").body["items"][0]["id"]
    assert origin.call("fork", to={"session_id": "s-2"}, at=at).status == 200
    assert origin.call("delete").body == {"deleted": True}
    assert left(house) == {"sessions": 1}
    asked = house.forget("conversation", "c-77").body
    house.work()
    assert house.status(asked["request_id"])["erased"]["sessions"] == 1
    assert left(house) == {}


def test_an_erasure_finds_sessions_under_either_key(house: House) -> None:
    """PL-12, PR-9: a conversation goes with the sessions that named it before and after, and nothing late comes."""
    earlier = house.talk("one", session="s-1", conversation_id="c-77")
    rotate(house)
    rehashing.forget()
    later = house.talk("two", session="s-2", conversation_id="c-77")
    other = house.talk("three", session="s-3", conversation_id="c-78")
    asked = house.forget("conversation", "c-77").body
    house.work()
    assert house.status(asked["request_id"])["erased"]["sessions"] == 2
    assert [talk.call("window").status for talk in (earlier, later, other)] == [404, 404, 200]
    late = items(user("late"), recorded_at="2026-01-01T00:00:00Z")
    assert [talk.call("append", items=late, create=True).status for talk in (earlier, later)] == [410, 410]


def test_an_erasure_that_began_before_a_name_moved(house: House) -> None:
    """PR-13, PL-12: approved under the key before, its name moves, and it still covers what it covered."""
    place = house.store({"step": "cart"})
    with access.bound(house.workspace.id):
        asked = house.forget("conversation", place["id"]).body
    rotate(house)
    assert house.agent.read(place).body["version"] == 0
    house.work()
    assert house.status(asked["request_id"])["status"] == "completed"
    assert house.agent.read(place).body["version"] == 0
    assert left(house) == {}


def test_whoever_was_let_in_before(house: House) -> None:
    """PL-12: a request that knows only the key before makes no second state or person, and calls nothing absent."""
    place = house.store({"step": "cart"}, subject=ANA)
    key = factories.make_key(house.workspace)
    earlier = caller_of(key, origin=Origin(), now=timezone.now())
    rotate(house)
    assert house.agent.read(place).body["version"] == 1
    house.profile_of(ANA)
    forget_hot_store()
    with access.bound(house.workspace.id):
        for wanted in (write(scope=place, if_version=1), write(), write(scope=scope(), subject=ANA)):
            wish = state_write(msgspec.convert(wanted, WriteState), raw=b"", idempotency_key=None)
            with pytest.raises(Unavailable):
                store_state(caller=earlier, write=wish, now=timezone.now())
        named = scope_of(earlier.workspace, **place)
        with pytest.raises(OperationalError):
            states.read_row(states.place_of(earlier.workspace, named, "order-taker"))
        with pytest.raises(Unavailable):
            delete_state(
                caller=earlier, scope=named, agent="order-taker", if_version=None, now=timezone.now()
            )
        phone = canonical(ANAS_PHONE["type"], ANAS_PHONE["value"], "")
        with pytest.raises(OperationalError):
            profiles.handle_of(workspace=earlier.workspace, value=phone, now=timezone.now())
        assert (State.objects.count(), Handle.objects.count()) == (1, 1)
    again = InProcess(key)
    assert again.read(place).body["version"] == 1


def test_a_move_that_is_rolled_back_is_made_again(house: House) -> None:
    """PL-12: what a transaction moved and gave up is moved by the next one, and no second person is made."""
    house.store({"step": "cart"}, subject=ANA)
    rotate(house)
    value = canonical(ANA["type"], ANA["value"], "")
    with access.bound(house.workspace.id), transaction.atomic():
        profiles.handle_of(workspace=now_of(house), value=value, now=timezone.now())
        transaction.set_rollback(True)
    house.store({"step": "cart"}, subject=ANA)
    with access.bound(house.workspace.id):
        assert Handle.objects.count() == 1


def test_it_costs_nothing_without_a_rotation(house: House) -> None:
    """PL-12, WM-19: one hash key costs no statement; during a rotation only the first use of a name does."""
    place = house.store({"step": "cart"})

    def costs() -> int:
        forget_hot_store()
        house.agent.read(place)
        forget_hot_store()
        with round_trips() as sent:
            house.agent.read(place)
        assert "lastro_move_scope" not in "".join(map(str, sent))
        return len(sent)

    alone = costs()
    rotate(house)
    assert costs() == alone


def secrets_of(house: House) -> set[int]:
    with access.bound(house.workspace.id):
        return set(ApiKey.objects.filter(revoked_at=None).values_list("secret_generation", flat=True))


@pytest.fixture
def alone(house: House) -> None:
    """No other test's workspace has a key that is not revoked."""
    for other in access.every_workspace():
        with access.bound(other.id):
            while other.id != house.workspace.id and credentials.revoke_batch(
                reason="For a test", actor=factories.SYSTEM, now=timezone.now()
            ):
                pass


def deployments_key() -> DeploymentKey:
    return DeploymentKey.objects.get(id=deployment.HASH_KEY)


def test_secrets_of_keys_move_when_they_are_used(house: House, alone: None) -> None:
    """PL-3, PL-12: keys and tokens go on under a new secret of the deployment, and are hashed under it when used."""
    person = factories.make_person(house.workspace, "privacy")
    token = InProcess(factories.make_token(house.workspace, person, "find_profiles"))
    place, before = house.store({"step": "cart"}), deployments_key()
    assert "a new secret for the hash key" in rotate()
    now = deployments_key()
    assert (now.generation, bytes(now.previous or b"") != b"") == (before.generation + 1, True)
    assert "needed by credentials of 1 workspaces" in rotate()
    for forget in (encryption.forget_unwrapped_keys, grants.forget, forget_hot_store):
        forget()
        assert house.agent.read(place).status == 200
        assert house.office.post("/v1/profiles/search", {"query": "nobody"}).status == 200
        assert token.post("/v1/profiles/search", {"query": "nobody"}).status == 200
    assert secrets_of(house) == {now.generation}
    assert "the secret before of the hash key is destroyed" in rotate()
    assert deployments_key().previous is None
    assert house.agent.read(place).status == 200


def test_a_key_that_nobody_uses_needs_the_secret_before_until_it_ends(house: House, alone: None) -> None:
    """PL-12: an unused key keeps the secret it was hashed under, and works with it; revoked, it needs it no more."""
    unused = factories.make_key(house.workspace)
    rotate()
    house.agent.read(scope())
    house.office.post("/v1/profiles/search", {"query": "nobody"})
    assert "needed by credentials of 1 workspaces" in rotate()
    parts = parse_key(unused)
    assert parts is not None
    with access.bound(house.workspace.id):
        key = ApiKey.objects.get(key_id=parts.key_id)
        credentials.revoke_api_key(
            key_id=key.id, reason="For a test", actor=factories.SYSTEM, now=timezone.now()
        )
    assert "is destroyed" in rotate()
    assert InProcess(unused).read(scope()).status == 401


def test_a_process_that_knows_only_the_secret_before(house: House) -> None:
    """PL-12: within the minute in which it keeps what it unwrapped, a process lets in whom another one has rehashed."""
    place = house.store({"step": "cart"})
    kept = dict(encryption._unwrapped)
    rotate()
    house.agent.read(place)
    made = InProcess(factories.make_key(house.workspace))
    encryption._unwrapped.clear()
    encryption._unwrapped.update(kept)
    grants.forget()
    assert house.agent.read(place).status == 200
    encryption._unwrapped.update(kept)
    assert made.read(place).status == 200


def test_the_master_key_moves_both_secrets(house: House, settings: Any) -> None:
    """PL-12: a rotation of the master key in the middle of this one leaves neither secret under the key before."""
    place = house.store({"step": "cart"})
    rotate()
    old = settings.LASTRO_MASTER_KEY
    settings.LASTRO_MASTER_KEY, settings.LASTRO_MASTER_KEYS_PREVIOUS = bytes(range(32)), [old]
    call_command("rotate_keys", "master", stdout=StringIO())
    settings.LASTRO_MASTER_KEYS_PREVIOUS = []
    encryption.forget_unwrapped_keys()
    assert house.agent.read(place).status == 200
    settings.LASTRO_MASTER_KEY, settings.LASTRO_MASTER_KEYS_PREVIOUS = old, [bytes(range(32))]
    call_command("rotate_keys", "master", stdout=StringIO())
    encryption.forget_unwrapped_keys()


def test_while_requests_go_on(house: House) -> None:
    """PL-12: written to while the key is replaced, no state is lost, doubled or called absent; 503 is sent again."""
    places = [house.store({"qty": 0}, subject=ANA) for _ in range(3)]
    ended = Event()

    def write_on(number: int) -> int:
        place, version = places[number], 1
        while not ended.is_set() or version < 5:
            read = house.agent.read(place)
            assert read.status == 503 or read.body["version"] == version
            members = {"mode": "cas", "if_version": version, "subject": ANA}
            answer = house.agent.write(write({"qty": version}, scope=place, **members))
            assert answer.status in (200, 503), answer.body
            version += answer.status == 200
            new = house.agent.write(write({"qty": 1}, subject=BRUNO))
            assert new.status in (200, 503), new.body
        return version

    def rotate_and_end(_: int) -> None:
        try:
            rotate(house)
        finally:
            ended.set()

    *versions, rotated = at_once(4, lambda number: (write_on if number < 3 else rotate_and_end)(number))
    assert rotated is None
    assert all(isinstance(version, int) for version in versions), versions
    assert [house.agent.read(place).body["version"] for place in places] == versions
    with access.bound(house.workspace.id):
        assert Handle.objects.count() == 2
        assert State.objects.filter(handle__hint__startswith="a").count() == len(places)
