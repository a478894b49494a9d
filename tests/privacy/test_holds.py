"""Legal holds: what they keep, what waits for them, and what becomes of it when they end (PR-16)."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from agentstate import encryption
from agentstate.models import KeptVersion, State
from agentstate.services import sweep
from privacy import tasks
from privacy.services import holds as services
from tests import factories
from tests.agentstate.round_trips import round_trips
from tests.api import InProcess
from tests.factories import scope, write
from tests.privacy.erasing import ANA, BRUNO, House, make_house
from workspaces import access
from workspaces.encryption import find_wrapped
from workspaces.errors import KeyDestroyed
from workspaces.models import AuditEntry, HeldKey, Hold
from workspaces.services.encryption import destroy_retired_keys
from workspaces.types import WorkspaceRef

NOTE_TYPE = factories.order_type(type="note", agents=["note-taker"], retention={"state": "30d"})


@pytest.fixture
def house(committed: None) -> House:
    """A house in which a second agent writes notes that name nobody."""
    house = make_house()
    factories.publish_types(house.workspace, factories.ORDER_TYPE, NOTE_TYPE)
    return house


@pytest.fixture
def bound(house: House) -> Iterator[WorkspaceRef]:
    with access.bound(house.workspace.id):
        yield house.workspace


@pytest.fixture
def privacy(house: House) -> InProcess:
    """A privacy officer, by a token."""
    return officer(house.workspace)


def officer(workspace: WorkspaceRef) -> InProcess:
    person = factories.make_person(workspace, "privacy", name="Petra")
    return InProcess(factories.make_token(workspace, person, "place_hold", "lift_hold"))


def place(privacy: InProcess, target: str, value: Any, **over: Any) -> UUID:
    """Place a hold for a day; give its id."""
    ends_at = (timezone.now() + timedelta(days=1)).isoformat()
    wish = {"target": target, f"{target}_id": str(value), "reason": "Case 117", "ends_at": ends_at}
    answer = privacy.post("/v1/legal-holds", {**wish, **over})
    assert answer.status == 201, answer.body
    return UUID(answer.body["hold_id"])


def lift(privacy: InProcess, hold: UUID) -> None:
    assert privacy.post(f"/v1/legal-holds/{hold}/lift", {"reason": "Closed"}).status == 200


def opened(workspace: WorkspaceRef, kept: KeptVersion) -> dict[str, Any]:
    """Open a kept version with its keys, as they are in the database of the keys."""
    return encryption.open_kept(workspace, kept)[0]


def kept(workspace: WorkspaceRef, hold: UUID) -> list[tuple[int, dict[str, Any]]]:
    """List what a hold has kept, opened."""
    return [
        (row.version, opened(workspace, row)) for row in KeptVersion.objects.filter(hold=hold).order_by("id")
    ]


def swept(workspace: WorkspaceRef, now: datetime) -> None:
    while sweep.sweep_states(workspace=workspace, now=now).looked_at == sweep.BATCH:
        pass


def test_a_hold_keeps_what_agents_overwrite_and_delete(
    house: House, bound: WorkspaceRef, privacy: InProcess
) -> None:
    """PR-16: every version that is overwritten or deleted under a hold is kept and opens with its keys."""
    theirs = house.store({"remark": "of bruno"}, subject=BRUNO)
    mine = house.store({"step": "cart"}, subject=ANA)
    hold = place(privacy, "profile", house.profile_of(ANA))

    house.store({"step": "delivery"}, place=mine, subject=ANA)
    house.store({"step": "done"}, place=mine, subject=ANA)
    house.store({"remark": "again"}, place=theirs, subject=BRUNO)
    assert house.agent.read(mine).body["body"] == {"step": "done"}
    house.agent.post("/v1/agent-state/delete", {"scope": mine, "agent": "order-taker"})
    assert house.agent.read(mine).body["body"] == {}

    destroy_retired_keys(workspace=bound)
    assert kept(bound, hold) == [
        (1, {"step": "cart"}),
        (2, {"step": "delivery"}),
        (3, {"step": "done"}),
    ]


def test_a_hold_keeps_what_expires(house: House, bound: WorkspaceRef, privacy: InProcess) -> None:
    """PR-16, PR-20: a field and then a state that the sweep removes are kept as they were."""
    mine = house.store({"step": "cart", "phone": "+5511912345678"}, subject=ANA)
    before = house.agent.read(mine).body["body"]
    hold = place(privacy, "profile", house.profile_of(ANA), ends_at=far())

    swept(bound, timezone.now() + timedelta(hours=25))
    assert kept(bound, hold) == [(1, before)]
    swept(bound, timezone.now() + timedelta(days=31))
    destroy_retired_keys(workspace=bound)
    assert State.objects.get().life == "expired"
    assert kept(bound, hold) == [(1, before), (1, {"step": "cart"})]


def far() -> str:
    return (timezone.now() + timedelta(days=365)).isoformat()


def test_a_hold_on_a_person_keeps_their_conversation(
    house: House, bound: WorkspaceRef, privacy: InProcess
) -> None:
    """PR-16: what names nobody in a conversation that names them is kept as an erasure would take it."""
    mine, other = (
        house.store({"step": "cart"}, subject=ANA),
        house.store({"step": "cart"}, agent="note-taker"),
    )
    house.store({"step": "cart"}, place=mine, agent="note-taker")
    hold = place(privacy, "profile", house.profile_of(ANA))
    house.store({"step": "done"}, place=mine, subject=ANA)
    for agent in ("order-taker", "note-taker"):
        house.agent.post("/v1/agent-state/delete", {"scope": mine, "agent": agent})
    house.store({"step": "done"}, place=other, agent="note-taker")
    agents = list(KeptVersion.objects.filter(hold=hold).order_by("id").values_list("agent", flat=True))
    assert agents == ["order-taker", "order-taker", "note-taker"]


@pytest.mark.parametrize("kind", ["conversation", "task"])
def test_a_conversation_is_held(house: House, bound: WorkspaceRef, privacy: InProcess, kind: str) -> None:
    """PR-16: a hold on a conversation or task keeps all of its states, whomever they name, and no other's."""
    held, other = scope(None, kind), scope(None, kind)
    for where in (held, other):
        house.store({"step": "cart"}, place=where, subject=ANA)
        house.store({"step": "cart"}, place=where, agent="note-taker")
    hold = place(privacy, kind, held["id"])
    for where in (held, other):
        house.store({"step": "done"}, place=where, agent="note-taker")
        house.agent.post("/v1/agent-state/delete", {"scope": where, "agent": "order-taker"})
    assert kept(bound, hold) == [(1, {"step": "cart"})] * 2


class TestEnds:
    """PR-16: what a hold kept is gone with its keys after it has ended."""

    @pytest.fixture
    def hold(self, house: House, bound: WorkspaceRef, privacy: InProcess) -> UUID:
        mine = house.store({"step": "cart"}, subject=ANA)
        hold = place(privacy, "profile", house.profile_of(ANA))
        house.agent.post("/v1/agent-state/delete", {"scope": mine, "agent": "order-taker"})
        return hold

    @pytest.fixture
    def keys(self, hold: UUID, bound: WorkspaceRef) -> list[UUID]:
        found = list(HeldKey.objects.filter(hold=hold).values_list("key_id", flat=True))
        assert len(found) == 2
        return found

    @pytest.mark.parametrize("how", ["lifted", "ended"])
    def test_everything_goes(
        self, bound: WorkspaceRef, privacy: InProcess, hold: UUID, keys: list[UUID], how: str
    ) -> None:
        """PR-16: lifted or ended, the versions go, the key that only they needed too, and the audit says so."""
        data_key = KeptVersion.objects.get(hold=hold).data_key_id
        destroy_retired_keys(workspace=bound)
        assert find_wrapped(bound, data_key)
        tasks.settle_holds()
        assert KeptVersion.objects.filter(hold=hold).exists()

        if how == "lifted":
            lift(privacy, hold)
        else:
            Hold.objects.filter(id=hold).update(ends_at=timezone.now())
        tasks.settle_holds()
        destroy_retired_keys(workspace=bound)

        assert not KeptVersion.objects.filter(hold=hold).exists()
        assert not HeldKey.objects.filter(hold=hold).exists()
        assert Hold.objects.get(id=hold).settled_at
        with pytest.raises(KeyDestroyed):
            find_wrapped(bound, data_key)
        handle_key = next(key for key in keys if key != data_key)
        assert find_wrapped(bound, handle_key), "the person's key is still in use"
        acts = AuditEntry.objects.filter(object_id=str(hold)).order_by("seq").values_list("act", flat=True)
        lifting = ["hold.lift"] if how == "lifted" else []
        assert list(acts) == ["hold.place", *lifting, "hold.end"]
        tasks.settle_holds()
        assert AuditEntry.objects.filter(act="hold.end").count() == 1

    def test_two_holds_keep_one_version_each(
        self, house: House, bound: WorkspaceRef, privacy: InProcess, hold: UUID
    ) -> None:
        """PR-16: a key that another hold needs stays until that one has ended too."""
        mine = house.store({"step": "cart"}, subject=ANA)
        second = place(privacy, "conversation", mine["id"])
        house.agent.post("/v1/agent-state/delete", {"scope": mine, "agent": "order-taker"})
        lift(privacy, hold)
        tasks.settle_holds()
        destroy_retired_keys(workspace=bound)
        assert kept(bound, second) == [(1, {"step": "cart"})]

    def test_batches(
        self, bound: WorkspaceRef, privacy: InProcess, hold: UUID, house: House, monkeypatch: Any
    ) -> None:
        """PR-16, PR-20: what a hold kept goes in bounded batches, each of which a killed worker leaves whole."""
        mine = house.store({"step": "cart"}, subject=ANA)
        for _ in range(4):
            house.store({"step": "done"}, place=mine, subject=ANA)
        monkeypatch.setattr("agentstate.services.holds.BATCH", 2)
        lift(privacy, hold)
        assert services.settle_holds(workspace=bound, now=timezone.now()) == 1
        assert not KeptVersion.objects.exists()

    def test_held_keys_stand_in_nobodys_way(
        self, bound: WorkspaceRef, hold: UUID, house: House, monkeypatch: Any
    ) -> None:
        """PR-15, PR-16: retired keys that a hold needs never fill the batches of those that it does not need."""
        from workspaces.models import RetiredKey

        free = uuid4()
        RetiredKey.objects.create(key_id=free)
        monkeypatch.setattr("workspaces.services.encryption.BATCH", 1)
        for _ in range(2):
            destroy_retired_keys(workspace=bound)
        assert not RetiredKey.objects.filter(key_id=free).exists()
        assert RetiredKey.objects.count() == 1


class TestErasure:
    """PR-16: an erasure that was asked for during a hold waits for its end."""

    @pytest.mark.parametrize("target", ["profile", "handle", "conversation"])
    def test_it_waits_and_goes_on(
        self, house: House, bound: WorkspaceRef, privacy: InProcess, target: str
    ) -> None:
        """PR-11, PR-16: it is approved and blocked by the hold, reads stay as they are, and the end lets it go on."""
        mine = house.store({"step": "cart"}, subject=ANA)
        profile = house.profile_of(ANA)
        hold = place(privacy, "profile", profile)
        wanted = {"profile": str(profile), "handle": ANA, "conversation": mine["id"]}[target]
        asked = house.forget(target, wanted).body
        assert (asked["status"], asked["blocked_by"]) == ("pending", "hold")

        assert house.work() == [False]
        assert house.agent.read(mine).body["body"] == {"step": "cart"}
        house.store({"step": "done"}, place=mine, subject=ANA)
        assert kept(bound, hold) == [(1, {"step": "cart"})]

        lift(privacy, hold)
        assert house.work() == [False], "a copy of it is left"
        tasks.settle_holds()
        assert house.status(asked["request_id"])["blocked_by"] is None
        tasks.run_erasures()
        assert house.status(asked["request_id"])["status"] == "completed"
        assert house.agent.read(mine).body["body"] == {}

    def test_it_waits_for_what_was_kept_of_nothing_live(
        self, house: House, bound: WorkspaceRef, privacy: InProcess
    ) -> None:
        """PR-16: a hold on a conversation whose states are gone still keeps the erasure of whom they named."""
        mine = house.store({"step": "cart"}, subject=ANA)
        hold = place(privacy, "conversation", mine["id"])
        house.agent.post("/v1/agent-state/delete", {"scope": mine, "agent": "order-taker"})
        asked = house.forget("handle", ANA).body
        assert asked["blocked_by"] == "hold"
        house.work()
        assert kept(bound, hold) == [(1, {"step": "cart"})]

    def test_no_hold_on_what_is_being_erased(
        self, house: House, bound: WorkspaceRef, privacy: InProcess
    ) -> None:
        """PR-11, PR-16: once an erasure has begun the person is absent, and a hold on their conversation is refused."""
        mine = house.store({"step": "cart"}, subject=ANA)
        profile = house.profile_of(ANA)
        house.forget("handle", ANA)
        wish = {"reason": "Case 117", "ends_at": far()}
        gone = privacy.post("/v1/legal-holds", {"target": "profile", "profile_id": str(profile), **wish})
        begun = privacy.post(
            "/v1/legal-holds", {"target": "conversation", "conversation_id": mine["id"], **wish}
        )
        assert (gone.status, begun.code) == (404, "not_possible_now")
        assert not Hold.objects.exists()
        assert not AuditEntry.objects.filter(act="hold.place").exists()


class TestApi:
    """PR-16: who places and lifts holds, and what is refused."""

    def test_only_people(self, house: House) -> None:
        """PR-16: a hold takes a person with the right; no key of a source places, lifts or sees one."""
        for answer in (
            house.office.post("/v1/legal-holds", {}),
            house.office.get("/v1/legal-holds"),
            house.office.post(f"/v1/legal-holds/{uuid4()}/lift", {"reason": "x"}),
        ):
            assert (answer.status, answer.code) == (403, "forbidden")

    @pytest.mark.parametrize(
        ("change", "at"),
        [
            ({"reason": ""}, "/reason"),
            ({"reason": "  "}, "/reason"),
            ({"reason": "x" * 501}, "/reason"),
            ({"reason": "a\x00b"}, "/reason"),
            ({"ends_at": "2020-01-01T00:00:00Z"}, "/ends_at"),
            ({"ends_at": "9999-12-31T23:59:59-12:00"}, "/ends_at"),
            ({"ends_at": "2999-01-01"}, "/ends_at"),
            ({"ends_at": "2099-01-01T00:00:00"}, "/ends_at"),
            ({"ends_at": None}, "/ends_at"),
            ({"target": "object"}, "/target"),
            ({"target": "conversation"}, "/conversation_id"),
            ({"task_id": "t"}, "/profile_id"),
            ({"profile_id": "p"}, "/profile_id"),
        ],
    )
    def test_bad_input(self, house: House, privacy: InProcess, change: dict[str, Any], at: str) -> None:
        """PR-16, PL-8: what is wrong with a hold is said at its place."""
        good = {"target": "profile", "profile_id": str(uuid4()), "reason": "Case 117", "ends_at": far()}
        answer = privacy.post("/v1/legal-holds", good | change)
        assert answer.status == 422, answer.body
        assert [problem["pointer"] for problem in answer.body["errors"]] == [at]

    def test_life(self, house: House, bound: WorkspaceRef, privacy: InProcess) -> None:
        """PR-16: a hold is listed with who placed it, is lifted once with a reason, and says how it stands."""
        house.store({"step": "cart"}, subject=ANA)
        profile = house.profile_of(ANA)
        hold = place(privacy, "profile", profile, reason="Call +55 11 91234-5678")
        (listed,) = privacy.get("/v1/legal-holds").body["items"]
        assert (listed["hold_id"], listed["status"], listed["target"]) == (str(hold), "standing", "profile")
        assert listed["target_id"] == str(profile)
        assert listed["placed_by"].startswith("petra-")
        assert "91234" not in json.dumps(listed)
        assert privacy.post(f"/v1/legal-holds/{hold}/lift", {"reason": " "}).status == 422
        lift(privacy, hold)
        assert privacy.post(f"/v1/legal-holds/{hold}/lift", {"reason": "x"}).code == "not_possible_now"
        assert privacy.post(f"/v1/legal-holds/{uuid4()}/lift", {"reason": "x"}).status == 404
        (listed,) = privacy.get("/v1/legal-holds").body["items"]
        assert (listed["status"], listed["lift_reason"]) == ("lifted", "Closed")

    def test_nothing_leaks(self, house: House, bound: WorkspaceRef, privacy: InProcess) -> None:
        """PL-1, PR-16: another workspace sees no hold, lifts none, and keeps nothing by it."""
        house.store({"step": "cart"}, subject=ANA)
        hold = place(privacy, "profile", house.profile_of(ANA))
        other = make_house("Boreal")
        stranger = officer(other.workspace)
        assert stranger.get("/v1/legal-holds").body["items"] == []
        assert stranger.post(f"/v1/legal-holds/{hold}/lift", {"reason": "x"}).status == 404
        wish = {
            "target": "profile",
            "profile_id": str(house.profile_of(ANA)),
            "reason": "x",
            "ends_at": far(),
        }
        assert stranger.post("/v1/legal-holds", wish).status == 404
        theirs = other.store({"step": "cart"}, subject=ANA)
        other.store({"step": "done"}, place=theirs, subject=ANA)
        with access.bound(other.workspace.id):
            assert not KeptVersion.objects.exists()
        assert not KeptVersion.objects.exists()


def test_a_hold_costs_a_write_no_round_trip(house: House, bound: WorkspaceRef, privacy: InProcess) -> None:
    """PR-16, WM-19: keeping a version is the database's own work: a write waits for it as often as without a hold."""
    mine = house.store({"step": "cart"}, subject=ANA)

    def spent() -> int:
        with round_trips() as waits:
            house.agent.write(write({"step": "done"}, scope=mine, subject=ANA))
        return len(waits)

    spent()
    before = spent()
    hold = place(privacy, "profile", house.profile_of(ANA))
    spent()
    assert spent() == before
    assert len(kept(bound, hold)) == 2


class TestExport:
    """PR-16: what a hold kept is read by who runs the server, and the audit says so."""

    def test_lines(self, house: House, bound: WorkspaceRef, privacy: InProcess, tmp_path: Path) -> None:
        """PR-16: the file has what was kept and what is live, decrypted, for its owner alone."""
        mine = house.store({"step": "cart"}, subject=ANA)
        house.store({"step": "cart"}, subject=BRUNO)
        hold = place(privacy, "profile", house.profile_of(ANA))
        house.store({"step": "done"}, place=mine, subject=ANA)
        file = tmp_path / "hold.jsonl"
        call_command("export_hold", str(hold), str(file))
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [(line["version"], line["body"]) for line in lines] == [
            (1, {"step": "cart"}),
            (2, {"step": "done"}),
        ]
        assert [line["kept_at"] is None for line in lines] == [False, True]
        assert file.stat().st_mode & 0o777 == 0o600
        entry = AuditEntry.objects.get(act="hold.export")
        assert (entry.object_id, entry.facts) == (str(hold), {"records": 0, "messages": 0, "versions": 2})

        with pytest.raises(CommandError, match="exists already"):
            call_command("export_hold", str(hold), str(file))
        assert AuditEntry.objects.filter(act="hold.export").count() == 1

    def test_refusals(self, house: House, tmp_path: Path) -> None:
        """PR-16: no hold, no file."""
        with pytest.raises(CommandError, match="no hold"):
            call_command("export_hold", str(uuid4()), str(tmp_path / "x"))
        assert list(tmp_path.iterdir()) == []
