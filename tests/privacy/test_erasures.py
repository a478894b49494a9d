"""Erasing: what goes, what stays, from when on, and what may come after (PR-9 to PR-14)."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from privacy.errors import NotPossibleNow
from privacy.services import erasures
from privacy.services.erasures import Asker
from privacy.types import Target
from tests import factories
from tests.factories import scope, write
from tests.privacy.erasing import ANA, ANAS_PHONE, BRUNO, House, make_house
from tests.privacy.packages import build, link
from workspaces import access
from workspaces.models import Handle

NOTHING = {"body": {}, "version": 0, "updated_at": None, "valid_until": None, "epoch": "none", "expires": {}}


@pytest.fixture
def house(committed: None) -> House:
    return make_house()


def test_a_person_is_erased(house: House) -> None:
    """PR-9, PR-10: what names the person goes, with handles and profile; what names another person stays."""
    mine = [house.store({"step": "cart"}, subject=ANA) for _ in range(3)]
    theirs = house.store({"step": "cart"}, subject=BRUNO)
    profile = house.profile_of(ANA)

    asked = house.forget("profile", str(profile))
    assert asked.status == 202, asked.body
    assert asked.body["target_kind"] == "profile"
    assert house.work() == [True]

    status = house.status(asked.body["request_id"])
    assert status["status"] == "completed"
    assert status["erased"] == {"agent_states": 3, "handles": 1, "profiles": 1}
    assert status["receipt"]["target_id"] == str(profile)
    assert len(status["receipt_hash"]) == 64
    for place in mine:
        assert house.agent.read(place).body == NOTHING
    assert house.agent.read(theirs).body["body"] == {"step": "cart"}
    assert house.office.post("/v1/profiles/search", {"query": ANA["value"]}).body["items"] == []
    assert house.office.get(f"/v1/profiles/{profile}/agent-state").status == 404


@pytest.mark.parametrize("reads", [0, 2])
def test_nothing_is_read_from_the_approval_on(house: House, reads: int) -> None:
    """PR-11: the answer to the request comes when reads answer as if nothing had been there, before any work."""
    place = house.store({"step": "cart"}, subject=ANA)
    for _ in range(reads):
        assert house.agent.read(place).body["version"] == 1
    profile = house.profile_of(ANA)

    house.forget("profile", str(profile))

    assert house.agent.read(place).body == NOTHING
    assert house.office.get(f"/v1/profiles/{profile}/agent-state").status == 404
    assert house.office.post("/v1/profiles/search", {"query": ANA["value"]}).body["items"] == []


@pytest.mark.parametrize("target", ["profile", "handle", "conversation"])
def test_no_package_is_opened_from_the_approval_on(house: House, target: str) -> None:
    """PR-11: a link to a package that holds any of it opens nothing at once, and no new one is asked for."""
    place = house.store({"step": "cart"}, subject=ANA)
    profile = str(house.profile_of(ANA))
    url = link(house.workspace, build(house.workspace, ANA))
    assert Client().get(url).status_code == 200

    house.forget(target, {"profile": profile, "handle": ANA, "conversation": place["id"]}[target])

    assert Client().get(url).status_code == 404
    asked = house.office.post("/v1/export", {"profile_id": profile})
    assert asked.status == (202 if target == "conversation" else 404)
    assert house.work() == [True]


def test_a_conversation_of_one_person_goes_whole(house: House) -> None:
    """PR-10: of a conversation that names them and nobody else, states without a subject go too."""
    factories.publish_types(
        house.workspace,
        factories.ORDER_TYPE,
        factories.order_type(type="note", agents=["note-taker"]),
    )
    alone, shared = scope(), scope()
    house.store({"step": "cart"}, place=alone, subject=ANA)
    house.store({"step": "cart"}, place=alone, agent="note-taker")
    house.store({"step": "cart"}, place=shared, subject=ANA)
    house.store({"step": "cart"}, place=shared, agent="note-taker", subject=BRUNO)

    asked = house.forget("handle", ANA)
    assert house.agent.read(alone, agent="note-taker").body == NOTHING
    house.work()

    assert house.status(asked.body["request_id"])["erased"] == {
        "agent_states": 3,
        "handles": 1,
        "profiles": 1,
    }
    assert house.agent.read(alone, agent="note-taker").body == NOTHING
    assert house.agent.read(shared).body == NOTHING
    assert house.agent.read(shared, agent="note-taker").body["version"] == 1


@pytest.mark.parametrize("kind", ["conversation", "task", "object"])
def test_a_scope_is_erased(house: House, kind: str) -> None:
    """PR-10: a conversation, a task or an object loses its states; the person whom they name stays."""
    place = scope("store:br:1" if kind == "object" else None, kind)
    other = scope("store:br:2" if kind == "object" else None, kind)
    house.store({"step": "cart"}, place=place, subject=ANA)
    house.store({"step": "cart"}, place=other, subject=ANA)

    asked = house.forget(kind, place["id"])
    assert house.agent.read(place).body == NOTHING
    house.work()

    assert house.status(asked.body["request_id"])["erased"] == {"agent_states": 1}
    assert house.agent.read(other).body["version"] == 1
    assert house.profile_of(ANA)


def test_one_handle_of_two_leaves_the_person(house: House) -> None:
    """PR-10: erasing a handle takes what came by it; the last handle takes the profile with it."""
    by_mail = house.store({"step": "cart"}, subject=ANA)
    by_phone = house.store({"step": "done"}, subject=ANAS_PHONE)
    with access.bound(house.workspace.id):
        mail, phone = house.profile_of(ANA), house.profile_of(ANAS_PHONE)
        Handle.objects.filter(profile_id=phone).update(profile_id=mail)

    first = house.forget("handle", ANA)
    house.work()
    assert house.status(first.body["request_id"])["erased"] == {"agent_states": 1, "handles": 1}
    assert house.agent.read(by_mail).body == NOTHING
    assert house.agent.read(by_phone).body["version"] == 1

    last = house.forget("handle", ANAS_PHONE)
    house.work()
    assert house.status(last.body["request_id"])["erased"] == {"agent_states": 1, "handles": 1, "profiles": 1}


class TestLateWrites:
    """PR-12: what was made before an erasure and arrives after it brings nothing back."""

    @pytest.fixture(params=["before the work", "after it"])
    def erased(self, request: Any, house: House) -> dict[str, str]:
        place = house.store({"step": "cart"}, subject=ANA)
        house.forget("handle", ANA)
        if request.param == "after it":
            house.work()
        return place

    def write(self, house: House, place: dict[str, str], **members: Any) -> Any:
        return house.agent.write(write({"step": "done"}, scope=place, subject=ANA, **members))

    def test_made_before(self, house: House, erased: dict[str, str]) -> None:
        """PR-12: `written_at` before the erasure is refused, whatever was read since, and also elsewhere."""
        before = (timezone.now() - timedelta(hours=1)).isoformat()
        house.agent.read(erased)
        for place in (erased, scope()):
            answer = self.write(house, place, written_at=before)
            assert (answer.status, answer.code) == (410, "subject_erased")
        assert house.agent.read(erased).body == NOTHING

    def test_without_a_time(self, house: House, erased: dict[str, str]) -> None:
        """PR-12: without `written_at` it is refused until its source has seen that nothing is there."""
        assert self.write(house, erased).code == "subject_erased"
        house.agent.read(erased)
        answer = self.write(house, erased)
        assert answer.body["stored"], answer.body
        assert answer.body["version"] == 2

    def test_made_after(self, house: House, erased: dict[str, str]) -> None:
        """PR-12: a new interaction is taken, in a life of its own, and no stale version matches."""
        now = timezone.now().isoformat()
        assert (
            self.write(house, erased, mode="cas", if_version=1, written_at=now).code == "agent_state_conflict"
        )
        answer = self.write(house, erased, mode="cas", if_version=0, written_at=now)
        assert answer.body["stored"], answer.body
        assert house.agent.read(erased).body["body"] == {"step": "done"}
        house.work()
        assert house.agent.read(erased).body["body"] == {"step": "done"}
        assert house.profile_of(ANA)

    def test_counts_are_the_same(self, house: House) -> None:
        """PR-13: a state that a writer takes over before the worker comes is counted once all the same."""
        places = [house.store({"step": "cart"}, subject=ANA) for _ in range(3)]
        asked = house.forget("handle", ANA)
        self.write(house, places[0], written_at=timezone.now().isoformat())
        house.work()
        assert house.status(asked.body["request_id"])["erased"]["agent_states"] == 3


class TestRequests:
    """PR-9, PR-17: what is asked, refused, repeated."""

    def test_nobody(self, house: House) -> None:
        """PR-17: a target that names nobody is refused by a word that a machine can read."""
        for target, value in (("profile", str(uuid4())), ("handle", ANA)):
            answer = house.forget(target, value)
            assert answer.status == 202
            assert (answer.body["status"], answer.body["refusal"]) == ("failed", "no_match")

    def test_twice(self, house: House) -> None:
        """PR-17: a target that is being erased already is a duplicate, and names the first request."""
        place = house.store({"step": "cart"})
        first = house.forget("conversation", place["id"]).body
        second = house.forget("conversation", place["id"]).body
        assert (second["refusal"], second["duplicate_of"]) == ("duplicate", first["request_id"])

    def test_repeated(self, house: House) -> None:
        """PR-9: the same Idempotency-Key is the same request."""
        house.store({"step": "cart"}, subject=ANA)
        answers = [house.forget("handle", ANA, **{"Idempotency-Key": "once"}) for _ in range(2)]
        assert answers[0].body["request_id"] == answers[1].body["request_id"]
        assert house.agent.read(house.store({"step": "cart"})).body["version"] == 1

    def test_of_somebody_unknown(self, house: House) -> None:
        """PR-17: nothing is approved before it is known who asks."""
        place = house.store({"step": "cart"})
        now, workspace = timezone.now(), house.workspace
        target = Target(kind="conversation", scope_id=place["id"])
        with access.bound(workspace.id):
            asker = Asker(factories.SYSTEM, is_verified=False)
            asked = erasures.request_erasure(workspace=workspace, target=target, asker=asker, now=now)
            decision: dict[str, Any] = {
                "request_id": asked.id,
                "actor": factories.SYSTEM,
                "reason": "For a test",
                "now": now,
            }
            with pytest.raises(NotPossibleNow):
                erasures.approve(workspace=workspace, **decision)
            assert house.agent.read(place).body["version"] == 1
            erasures.verify_identity(**decision)
            erasures.approve(workspace=workspace, **decision)
        assert house.agent.read(place).body == NOTHING

    def test_form(self, house: House) -> None:
        """PR-9: exactly the member that the target names is given."""
        for body in (
            {"target": "profile"},
            {"target": "profile", "profile_id": str(uuid4()), "handle": ANA},
            {"target": "handle", "profile_id": str(uuid4())},
            {"target": "everybody"},
            {"target": "object", "object_id": "no-colons"},
        ):
            assert house.office.post("/v1/forget", body).status == 422
        assert house.agent.post("/v1/forget", {"target": "handle", "handle": ANA}).code == "scope_missing"
        assert house.office.get(f"/v1/forget/{uuid4()}").status == 404
