"""Two handles that are one person, what that means for erasures and holds, and taking it back (PL-7)."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from agentstate.models import KeptVersion
from privacy.services.holds import settle_holds
from privacy.services.package_builds import build_next
from tests.factories import write
from tests.privacy import packages
from tests.privacy.erasing import ANA, ANAS_PHONE, BRUNO, House, make_house
from workspaces import access
from workspaces.models import AuditEntry, Handle, Hold, Profile, WrappedKey

NOBODY = {"type": "email", "value": "nobody@example.com"}


@pytest.fixture
def house(committed: None) -> House:
    return make_house()


def link(house: House, first: Any, second: Any, **headers: str) -> Any:
    named = [one if "type" not in one else {"handle": one} for one in (first, second)]
    return house.office.post("/v1/profiles/link", {"first": named[0], "second": named[1]}, **headers)


def unlink(house: House, handle: dict[str, str]) -> Any:
    return house.office.post("/v1/profiles/unlink", {"handle": handle})


def hold(house: House, profile: UUID, **ends: Any) -> Hold:
    now = timezone.now()
    with access.bound(house.workspace.id):
        return Hold.objects.create(
            profile_id=profile, reason="A case", placed_at=now, ends_at=now + timedelta(**ends or {"days": 1})
        )


def states(house: House, profile: UUID) -> int:
    return len(house.office.get(f"/v1/profiles/{profile}/agent-state").body["items"])


def test_linked(house: House) -> None:
    """PL-7: the older profile has both handles, the other one is gone, and no key was wrapped again."""
    places = [house.store({"step": "cart"}, subject=ANA), house.store({"step": "done"}, subject=ANAS_PHONE)]
    older, newer = house.profile_of(ANA), house.profile_of(ANAS_PHONE)
    with access.bound(house.workspace.id):
        keys = set(WrappedKey.objects.values_list("id", "wrapped"))

    answer = link(house, ANAS_PHONE, {"profile_id": str(older)})
    assert (answer.status, answer.body["profile_id"], answer.body["changed"]) == (200, str(older), True)
    assert {handle["type"] for handle in answer.body["handles"]} == {"email", "phone_e164"}
    assert house.profile_of(ANAS_PHONE) == house.profile_of(ANA) == older
    assert house.office.get(f"/v1/profiles/{newer}/agent-state").status == 404
    assert states(house, older) == 2
    assert [house.agent.read(place).body["version"] for place in places] == [1, 1]
    with access.bound(house.workspace.id):
        assert set(WrappedKey.objects.values_list("id", "wrapped")) == keys
        assert not Profile.objects.filter(id=newer).exists()


def test_again(house: House) -> None:
    """PL-7, PL-10: who is one person stays so; each call is in the audit, without the handles."""
    for handle in (ANA, ANAS_PHONE):
        house.store({"step": "cart"}, subject=handle)
    first = link(house, ANA, ANAS_PHONE, **{"Idempotency-Key": "once"})
    assert link(house, ANA, ANAS_PHONE, **{"Idempotency-Key": "once"}).body == first.body
    again = link(house, ANAS_PHONE, ANA)
    assert (again.status, again.body["changed"]) == (200, False)
    assert again.body["profile_id"] == first.body["profile_id"]
    with access.bound(house.workspace.id):
        entries = list(AuditEntry.objects.filter(act="profile.link").order_by("seq"))
    assert [entry.facts["changed"] for entry in entries] == [True, False]
    assert {entry.object_id for entry in entries} == {first.body["profile_id"]}
    assert "ana@" not in f"{[vars(entry) for entry in entries]}"


def test_one_person_in_one_state(house: House) -> None:
    """PL-7, WM-6: a state of one handle takes a write that names the other one, once they are linked."""
    place = house.store({"step": "cart"}, subject=ANA)
    house.store({"step": "cart"}, subject=ANAS_PHONE)
    other = write({"step": "done"}, scope=place, subject=ANAS_PHONE)
    assert house.agent.write(other).code == "subject_mismatch"
    link(house, ANA, ANAS_PHONE)
    assert house.agent.write(other).body["stored"]


def test_an_erasure_follows_links(house: House) -> None:
    """PL-7, PR-10: erasing the person by either handle's profile takes the states of both handles."""
    places = [house.store({"step": "cart"}, subject=who) for who in (ANA, ANAS_PHONE, BRUNO)]
    profile = link(house, ANA, ANAS_PHONE).body["profile_id"]
    asked = house.forget("profile", profile).body
    assert [house.agent.read(place).body["version"] for place in places] == [0, 0, 1]
    assert house.work() == [True]
    erased = house.status(asked["request_id"])["erased"]
    assert erased == {"agent_states": 2, "handles": 2, "profiles": 1}
    with access.bound(house.workspace.id):
        assert Handle.objects.count() == Profile.objects.count() == 1


def test_unlinked(house: House) -> None:
    """PL-7: a handle that is taken out has a profile of its own, with what named it and nothing else."""
    for handle in (ANA, ANA, ANAS_PHONE):
        house.store({"step": "cart"}, subject=handle)
    joined = UUID(link(house, ANA, ANAS_PHONE).body["profile_id"])
    answer = unlink(house, ANAS_PHONE)
    own = UUID(answer.body["profile_id"])
    assert answer.body["changed"]
    assert own not in {joined, house.profile_of(ANA)}
    assert house.profile_of(ANAS_PHONE) == own
    assert (states(house, joined), states(house, own)) == (2, 1)
    again = unlink(house, ANAS_PHONE)
    assert (again.status, again.body["changed"], again.body["profile_id"]) == (200, False, str(own))
    house.forget("profile", str(own))
    house.work()
    assert states(house, joined) == 2


class TestErasures:
    """PL-7: while a request is open, nobody changes whom it is about."""

    def test_under_way(self, house: House) -> None:
        """PL-7: what is being erased is nobody any more; who has another handle left is refused until the end."""
        house.store({"step": "cart"}, subject=ANA)
        house.store({"step": "cart"}, subject=ANAS_PHONE)
        house.store({"step": "cart"}, subject=BRUNO)
        link(house, ANA, ANAS_PHONE)
        house.forget("handle", ANA)
        for pair in ((ANAS_PHONE, BRUNO), (BRUNO, ANAS_PHONE)):
            refused = link(house, *pair)
            assert (refused.status, refused.code) == (409, "not_possible_now")
        assert link(house, ANA, BRUNO).status == 404
        house.work()
        assert link(house, ANAS_PHONE, BRUNO).body["changed"]

    def test_waiting(self, house: House) -> None:
        """PL-7, PR-16: so it is while a hold keeps an approved request; both calls say so, and change nothing."""
        for handle in (ANA, ANAS_PHONE, BRUNO):
            house.store({"step": "cart"}, subject=handle)
        profile = link(house, ANA, ANAS_PHONE).body["profile_id"]
        kept = hold(house, UUID(profile))
        house.forget("profile", profile)
        assert link(house, BRUNO, ANA).code == "not_possible_now"
        assert unlink(house, ANA).code == "not_possible_now"
        with access.bound(house.workspace.id):
            Hold.objects.filter(id=kept.id).update(lifted_at=timezone.now())
            settle_holds(workspace=house.workspace, now=timezone.now())
        assert house.work() == [True]
        with access.bound(house.workspace.id):
            assert Handle.objects.count() == 1


class TestHolds:
    """PL-7, PR-16: a hold goes on covering what it covered."""

    @pytest.mark.parametrize("held", [ANA, ANAS_PHONE], ids=["the older", "the newer"])
    def test_on_either(self, house: House, held: dict[str, str]) -> None:
        """PL-7, PR-16: a hold on either person keeps versions and stops erasures of both handles afterwards."""
        places = {who["type"]: house.store({"step": "cart"}, subject=who) for who in (ANA, ANAS_PHONE)}
        hold(house, house.profile_of(held))
        profile = link(house, ANA, ANAS_PHONE).body["profile_id"]
        for who in (ANA, ANAS_PHONE):
            house.agent.write(write({"step": "done"}, scope=places[who["type"]], subject=who))
        with access.bound(house.workspace.id):
            assert KeptVersion.objects.count() == 2
            assert Hold.objects.get().profile_id == UUID(profile)
        assert house.forget("handle", held).body["blocked_by"] == "hold"
        assert house.agent.read(places[held["type"]]).body["version"] == 2

    def test_unlinking(self, house: House) -> None:
        """PL-7, PR-16: no handle leaves a person who is held, since it would be held no longer; later it may."""
        for who in (ANA, ANAS_PHONE):
            house.store({"step": "cart"}, subject=who)
        profile = UUID(link(house, ANA, ANAS_PHONE).body["profile_id"])
        kept = hold(house, profile)
        refused = unlink(house, ANA)
        assert (refused.status, refused.code) == (409, "legal_hold")
        assert house.profile_of(ANA) == profile
        with access.bound(house.workspace.id):
            Hold.objects.filter(id=kept.id).update(ends_at=timezone.now())
        assert unlink(house, ANA).body["changed"]


class TestPackages:
    """PL-7, PR-18: a package holds what it held when it was built, and nobody else's."""

    def test_linked(self, house: House) -> None:
        """PL-7: packages of both stay, as the person's; an erasure takes them. While one is built nobody is linked."""
        for who in (ANA, ANAS_PHONE):
            house.store({"step": "cart"}, subject=who)
        waiting = packages.request(house.workspace, ANAS_PHONE)
        assert link(house, ANA, ANAS_PHONE).code == "not_possible_now"
        with access.bound(house.workspace.id):
            assert build_next(workspace=house.workspace, now=timezone.now())
        address = packages.link(house.workspace, waiting)
        profile = link(house, ANA, ANAS_PHONE).body["profile_id"]
        assert packages.download(address).status_code == 200
        asked = house.forget("profile", profile).body
        house.work()
        assert house.status(asked["request_id"])["erased"]["packages"] == 1
        assert packages.download(address).status_code == 404

    def test_unlinked(self, house: House) -> None:
        """PL-7, PR-19: a package that holds another person's data is revoked when that is found out."""
        for who in (ANA, ANAS_PHONE):
            house.store({"step": "cart"}, subject=who)
        link(house, ANA, ANAS_PHONE)
        address = packages.link(house.workspace, packages.build(house.workspace, ANA))
        assert packages.download(address).status_code == 200
        assert unlink(house, ANAS_PHONE).body["changed"]
        assert packages.download(address).status_code == 404


def test_whom_nobody_knows(house: House) -> None:
    """PL-7, PL-1: unknown handles and profiles, and those of another workspace, are not found."""
    house.store({"step": "cart"}, subject=ANA)
    other = make_house("Boreal")
    other.store({"step": "cart"}, subject=BRUNO)
    theirs = {"profile_id": str(other.profile_of(BRUNO))}
    for unknown in (NOBODY, BRUNO, theirs, {"profile_id": str(uuid4())}):
        assert link(house, ANA, unknown).status == link(house, unknown, ANA).status == 404
    assert unlink(house, BRUNO).status == 404
    assert other.profile_of(BRUNO)


def test_form(house: House) -> None:
    """PL-7, PL-8: each of the two is named once; what is wrong is pointed at, without its value."""
    for named in (
        {},
        {"profile_id": str(uuid4()), "handle": ANA},
        {"handle": {"type": "email", "value": "x"}},
    ):
        answer = house.office.post("/v1/profiles/link", {"first": {"handle": ANA}, "second": named})
        assert answer.status == 422
        assert answer.body["errors"][0]["pointer"].startswith("/second")
    assert house.office.post("/v1/profiles/unlink", {"handle": {"type": "email"}}).status == 422
    assert house.agent.post("/v1/profiles/unlink", {"handle": ANA}).code == "scope_missing"
