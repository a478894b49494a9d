"""Every level of keys rotates while requests go on, survives a crash, and leaves no old secret (PL-12)."""

import base64
from collections.abc import Iterator
from io import StringIO
from threading import Event
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from tests import factories
from tests.agentstate.rows import row_of
from tests.agentstate.threads import apart
from tests.factories import scope
from tests.parallel import at_once
from tests.privacy.erasing import ANA, BRUNO, House, make_house
from tests.stores import forget_hot_store
from workspaces import access, deployment, encryption, rewrapping, signing
from workspaces.errors import Tampered
from workspaces.models import AuditEntry, WrappedKey
from workspaces.selectors.sign_ins import unconfirmed_secret
from workspaces.services import rotation, second_factors
from workspaces.types import Key

LEVELS = ("workspace", "handles", "data")
NEW_MASTER = bytes(range(32))


class Ended(BaseException):
    """The process ended here."""


@pytest.fixture
def house(committed: None, monkeypatch: pytest.MonkeyPatch) -> House:
    """A workspace whose replaced secrets need not wait for a minute."""
    monkeypatch.setattr(rotation, "KEPT_FOR", rotation.KEPT_FOR * 0)
    return make_house()


@pytest.fixture
def places(house: House) -> list[dict[str, str]]:
    """States that name nobody, one person and another one."""
    people: list[dict[str, Any]] = [{}, {"subject": ANA}, {"subject": ANA}, {"subject": BRUNO}]
    return [house.store({"remark": f"number {n}"}, **person) for n, person in enumerate(people)]


def rotate(house: House, level: str, *options: str) -> str:
    """Run the command for one workspace."""
    said = StringIO()
    call_command("rotate_keys", level, "--workspace", house.workspace.slug, *options, stdout=said)
    return said.getvalue()


def require_read(house: House, places: list[dict[str, str]]) -> None:
    """Read every state by this process as it stands, then as another one whose hot store has nothing."""
    for forget in (None, forget_hot_store, encryption.forget_unwrapped_keys):
        if forget is not None:
            forget()
        for number, place in enumerate(places):
            assert house.agent.read(place).body["body"] == {"remark": f"number {number}"}


def rows(house: House) -> list[WrappedKey]:
    with access.bound(house.workspace.id):
        return list(WrappedKey.objects.order_by("id"))


def secrets_of(house: House) -> dict[Any, bytes]:
    """Open the workspace's key and those of handles: what a process may know."""
    with access.bound(house.workspace.id):
        handles = WrappedKey.objects.filter(purpose="handle").values_list("id", flat=True)
        keys = [encryption.open_key(house.workspace, handle) for handle in handles]
        return {key.id: key.secret for key in [*keys, encryption.workspace_key(house.workspace)]}


@pytest.mark.parametrize("level", LEVELS)
def test_what_was_written_before_is_read(house: House, places: list[dict[str, str]], level: str) -> None:
    """PL-12: after each level's rotation, twice, every state is read over both stores, and new ones are written."""
    for _ in range(2):
        assert " 0 new" not in rotate(house, level)
        require_read(house, places)
    at = house.store({"step": "cart"}, subject=ANA)
    assert house.agent.read(at).body["version"] == 1
    with access.bound(house.workspace.id):
        facts = list(AuditEntry.objects.filter(act="keys.rotate").values_list("facts", flat=True))
    assert facts == [{"level": level}] * 2


@pytest.mark.parametrize("level", ["workspace", "handles"])
def test_the_old_secret_opens_nothing(house: House, places: list[dict[str, str]], level: str) -> None:
    """PL-12: nothing that is stored lies under a secret that was replaced, and it is not kept."""
    before = secrets_of(house)
    said = rotate(house, level)
    assert "still kept" not in said
    renewed = {row.id: row.generation for row in rows(house) if row.generation}
    assert set(renewed) == (
        {house.workspace.key_id} if level == "workspace" else set(before) - {house.workspace.key_id}
    )
    assert not [row for row in rows(house) if row.previous]
    for row in rows(house):
        if row.wrapped_by in renewed:
            old = Key(row.wrapped_by, before[row.wrapped_by])
            context = encryption.wrap_context(row.id, house.workspace.id, row.purpose, row.generation)
            with pytest.raises(Tampered):
                encryption.unseal(old, bytes(row.wrapped), context=context)
    after = secrets_of(house)
    assert all(after[key_id] != before[key_id] for key_id in renewed)


def test_data_keys_are_others(house: House, places: list[dict[str, str]]) -> None:
    """PL-12: sealed again, a state has another key and nonce at the same version and times; the old key is gone."""
    before = [row_of(house.workspace, place) for place in places]
    answers = [house.agent.read(place).body for place in places]
    moment = timezone.now().isoformat()
    assert "4 states" in rotate(house, "data", "--before", moment)
    assert "0 states" in rotate(house, "data", "--before", moment)
    alive = {row.id for row in rows(house)}
    for old, place in zip(before, places, strict=True):
        new = row_of(house.workspace, place)
        assert (new.version, new.epoch, new.updated_at) == (old.version, old.epoch, old.updated_at)
        assert new.data_key_id not in (old.data_key_id, None)
        assert new.data_key_id in alive
        assert old.data_key_id not in alive
        assert bytes(new.body or b"") != bytes(old.body or b"")
    assert [house.agent.read(place).body for place in places] == answers


def test_a_write_that_is_sent_again_after_sealing(house: House) -> None:
    """PL-12, WM-15: an Idempotency-Key from before still gets its first answer."""
    body, once = factories.write(), {"Idempotency-Key": "once"}
    first = house.agent.write(body, **once).body
    rotate(house, "data")
    assert house.agent.write(body, **once).body == first


@pytest.mark.parametrize("level", ["workspace", "handles"])
def test_killed_in_the_middle(
    house: House, places: list[dict[str, str]], level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-12: ended after any step, everything is read, and the same command brings it to its end."""
    for name in ("renew", "rewrap", "drop_previous"):
        with monkeypatch.context() as patch:
            step, done = getattr(rewrapping, name), list[bool]()

            def end(*arguments: Any, step: Any = step, done: Any = done, **more: Any) -> Any:
                done.append(step(*arguments, **more))
                raise Ended

            patch.setattr(rewrapping, name, end)
            with pytest.raises(Ended):
                rotate(house, level)
            assert done == [True]
        require_read(house, places)
        at = house.store({"remark": f"number {len(places)}"}, subject=ANA)
        places.append(at)
    rotate(house, level)
    assert not [row for row in rows(house) if row.previous]
    parents = {row.id: row.generation for row in rows(house)}
    assert all(row.under == parents[row.wrapped_by] for row in rows(house) if row.wrapped_by)
    require_read(house, places)


def test_killed_between_seals(
    house: House, places: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-12: ended while states are sealed again, no state is without its key, and the rest follows."""
    from agentstate import encryption as bodies

    moment = timezone.now().isoformat()
    with monkeypatch.context() as patch:
        left = [2]

        def end(*arguments: Any) -> None:
            left[0] -= 1
            if not left[0]:
                raise Ended
            seal(*arguments)

        seal = bodies.seal_body
        patch.setattr(bodies, "seal_body", end)
        with pytest.raises(Ended):
            rotate(house, "data", "--before", moment)
    require_read(house, places)
    assert "3 states" in rotate(house, "data", "--before", moment)
    require_read(house, places)


@pytest.mark.parametrize("level", ["workspace", "handles"])
@pytest.mark.parametrize("when", ["meanwhile", "afterwards"])
def test_a_process_that_knows_the_old_secret(
    house: House,
    places: list[dict[str, str]],
    level: str,
    when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PL-12: with the workspace's key kept from before, during and after a rotation it reads, and writes new keys."""
    secrets_of(house)
    kept = dict(encryption._unwrapped)
    with access.bound(house.workspace.id):
        stale = encryption.workspace_key(house.workspace)
    if when == "meanwhile":
        monkeypatch.setattr(rotation, "move_wrapped", lambda **_: 0)
        monkeypatch.setattr(rotation, "drop_replaced", lambda **_: (0, 0))
    rotate(house, level)
    for place, subject in zip(places, (None, ANA, ANA, BRUNO), strict=True):
        encryption._unwrapped.update(kept)
        assert house.agent.read(place).body["version"] == 1
        encryption._unwrapped.update(kept)
        at = house.store({"step": "cart"}, **({"subject": subject} if subject else {}))
        assert house.agent.read(at).body["version"] == 1
    encryption._unwrapped.update(kept)
    house.store({"step": "cart"}, subject={"type": "anon_id", "value": "new here"})
    made = encryption.make_key(
        house.workspace, key_id=new_id(), purpose="data", under=stale, now=timezone.now()
    )
    assert encryption.open_key(house.workspace, made.id) == made


def new_id() -> Any:
    from uuid import uuid4

    return uuid4()


def test_writers_and_readers_meanwhile(house: House, places: list[dict[str, str]]) -> None:
    """PL-12: while every level rotates, no read misses what was written and no write fails."""
    over = Event()

    def turn() -> int:
        number, place = 0, scope()
        while not over.is_set() or number < 3:
            number += 1
            house.store({"qty": number}, place=place, subject=ANA)
            fresh = house.store({"qty": number}, subject={"type": "anon_id", "value": f"visitor {number}"})
            assert house.agent.read(place).body["body"] == {"qty": number}
            assert house.agent.read(fresh).body["body"] == {"qty": number}
        return number

    def rotations() -> int:
        try:
            for level in (*LEVELS, *LEVELS):
                assert "again" not in rotate(house, level).replace("sealed again", "")
        finally:
            over.set()
        return 1

    done = at_once(2, lambda number: apart(turn if number else rotations))
    assert all(isinstance(count, int) and count > 0 for count in done), done
    require_read(house, places)


def test_a_warm_read_asks_no_database_after_a_rotation(house: House, places: list[dict[str, str]]) -> None:
    """PL-12, WM-19: a rotation that is over costs a warm read nothing."""
    for level in LEVELS:
        rotate(house, level)
    house.agent.read(places[1])
    house.agent.read(places[1])
    with (
        CaptureQueriesContext(connections["keys"]) as keys,
        CaptureQueriesContext(connections["default"]) as content,
    ):
        assert house.agent.read(places[1]).body["version"] == 1
    assert (len(keys), len(content)) == (0, 0)


class TestMasterKey:
    """PL-12: the deployment's master key, beside the ones before it."""

    @pytest.fixture
    def right(self, house: House, settings: Settings) -> Iterator[bytes]:
        """The master key of the other tests, under which everything is again afterwards."""
        right = settings.LASTRO_MASTER_KEY
        yield right
        settings.LASTRO_MASTER_KEY, settings.LASTRO_MASTER_KEYS_PREVIOUS = right, (NEW_MASTER,)
        encryption.forget_unwrapped_keys()
        self.move(house)
        settings.LASTRO_MASTER_KEYS_PREVIOUS = ()

    def move(self, house: House) -> str:
        rotation.rewrap_deployment(actor=factories.SYSTEM, now=timezone.now())
        return rotate(house, "master")

    def test_from_one_to_the_next(
        self, house: House, places: list[dict[str, str]], right: bytes, settings: Settings
    ) -> None:
        """PL-12: with both nothing fails; once all has moved the old one opens nothing, and is not needed."""
        signed = signing.sign({"kind": "test"})
        settings.LASTRO_MASTER_KEY, settings.LASTRO_MASTER_KEYS_PREVIOUS = NEW_MASTER, (right,)
        encryption.forget_unwrapped_keys()
        require_read(house, places)
        assert "2 keys moved" in self.move(house)
        assert "0 keys moved" in self.move(house)
        settings.LASTRO_MASTER_KEYS_PREVIOUS = ()
        encryption.forget_unwrapped_keys()
        require_read(house, places)
        assert signing.sign({"kind": "test"})["key_id"] == signed["key_id"]
        settings.LASTRO_MASTER_KEY = right
        encryption.forget_unwrapped_keys()
        forget_hot_store()
        with access.bound(house.workspace.id), pytest.raises(Tampered):
            encryption.workspace_key(house.workspace)
        with pytest.raises(Tampered):
            deployment.hashed("tests", "x")
        with pytest.raises(Tampered):
            signing.sign({"kind": "test"})

    def test_second_factors_move_too(self, house: House, right: bytes, settings: Settings) -> None:
        """PL-4, PL-12: what seals the secrets of apps is the master key of now; the codes stay the same."""
        person = factories.make_person(house.workspace, "support")
        second_factors.begin_setup(person=person, now=timezone.now())
        secret = unconfirmed_secret(person.id)
        settings.LASTRO_MASTER_KEY, settings.LASTRO_MASTER_KEYS_PREVIOUS = NEW_MASTER, (right,)
        self.move(house)
        settings.LASTRO_MASTER_KEYS_PREVIOUS = ()
        encryption.forget_unwrapped_keys()
        assert unconfirmed_secret(person.id) == secret

    def test_in_the_middle_of_another_rotation(
        self,
        house: House,
        places: list[dict[str, str]],
        right: bytes,
        settings: Settings,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """PL-12: a secret that is kept beside its successor moves with it."""
        with monkeypatch.context() as patch:
            patch.setattr(rotation, "move_wrapped", lambda **_: 0)
            rotate(house, "workspace", "--no-wait")
        assert [row for row in rows(house) if row.previous]
        settings.LASTRO_MASTER_KEY, settings.LASTRO_MASTER_KEYS_PREVIOUS = NEW_MASTER, (right,)
        self.move(house)
        settings.LASTRO_MASTER_KEYS_PREVIOUS = ()
        encryption.forget_unwrapped_keys()
        require_read(house, places)
        rotate(house, "workspace")
        require_read(house, places)


def test_another_workspace_is_left_alone(house: House) -> None:
    """PL-1: the rotation of one workspace changes no key of another one."""
    other = make_house("Boreal")
    place = other.store({"step": "cart"}, subject=ANA)
    before = [(row.id, bytes(row.wrapped)) for row in rows(other)]
    for level in LEVELS:
        rotate(house, level)
    assert [(row.id, bytes(row.wrapped)) for row in rows(other)] == before
    assert other.agent.read(place).body["version"] == 1


def test_a_key_that_is_damaged_stops_no_other(house: House, places: list[dict[str, str]]) -> None:
    """PL-12: a key that does not verify keeps the secret it lies under, and all others move."""
    with access.bound(house.workspace.id):
        broken = WrappedKey.objects.filter(purpose="handle").order_by("id").first()
        assert broken is not None
        WrappedKey.objects.filter(id=broken.id).update(wrapped=bytes(60))
    assert "1 still kept" in rotate(house, "workspace", "--no-wait")
    assert [row.id for row in rows(house) if row.wrapped_by == house.workspace.key_id and row.under == 0] == [
        broken.id
    ]


@pytest.mark.parametrize("options", [["--before", "yesterday"], ["--before", "2026-11-30T12:00:00"]])
def test_options_are_refused(house: House, options: list[str]) -> None:
    """PL-12: a moment without a zone, or none, is refused before anything is done; so is an unknown workspace."""
    with pytest.raises(CommandError, match="--before"):
        rotate(house, "data", *options)
    with pytest.raises(CommandError, match="slug"):
        call_command("rotate_keys", "workspace", "--workspace", "nobody")


def test_the_previous_master_keys_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-12: LASTRO_MASTER_KEY_PREVIOUS lists keys in base64; a bad one stops the start."""
    from django.core.exceptions import ImproperlyConfigured

    from console import env

    keys = [bytes([number]) * 32 for number in (1, 2)]
    name = "LASTRO_MASTER_KEY_PREVIOUS"
    monkeypatch.setenv(name, ", ".join(base64.b64encode(key).decode() for key in keys))
    assert env.previous_master_keys() == tuple(keys)
    for bad in ("x", base64.b64encode(bytes(31)).decode()):
        monkeypatch.setenv(name, bad)
        with pytest.raises(ImproperlyConfigured, match=name):
            env.previous_master_keys()
