"""A workspace is exported whole and closed: nothing is left but its audit and its documents (PL-5b)."""

import hashlib
import json
import secrets
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from agentstate.models import KeptVersion, State
from assembly.models import ContextAssembly, Graph, GraphRecord, Link, LooseBlob, Payload
from history.models import Item, KeptItem, Session
from privacy.models import ErasureRequest, PackageChunk, PackageRun
from privacy.rules.erasures import CLOSING
from privacy.selectors import packages as package_selectors
from privacy.services import closing, erasing
from privacy.services import packages as package_services
from privacy.services.workspaces import close_workspace
from tests import factories
from tests.agentstate import canary
from tests.api import InProcess
from tests.factories import scope, write
from tests.privacy import packages
from tests.privacy.builder import large_files
from tests.privacy.erasing import ANA, ANAS_PHONE, BRUNO, House, make_house
from tests.privacy.test_graph_erasures import assembled
from tests.workspaces.cast import row_id
from workspaces import access, encryption, signing
from workspaces.audit import verify_chain
from workspaces.errors import Tampered, WorkspaceClosed
from workspaces.models import (
    AuditEntry,
    ErasedItem,
    Handle,
    Hold,
    Profile,
    RememberedAnswer,
    Tombstone,
    Workspace,
    WrappedKey,
)
from workspaces.services.credentials import rotate_api_key
from workspaces.services.encryption import destroy_retired_keys

POINTS = [step + when for step in CLOSING for when in ("", ".done", ".ended")]
BATCHES = [f"{step}.batch" for step in CLOSING[:8]]
QUICK = [*BATCHES, "nothing_left.done", "receipt.done"]
KILLS = [*QUICK, *(pytest.param(point, marks=pytest.mark.long) for point in POINTS if point not in QUICK)]


ERASED = {
    "agent_states": 4,
    "assemblies": 1,
    "graph_records": 16,
    "handles": 3,
    "messages": 4,
    "packages": 1,
    "payloads": 2,
    "profiles": 2,
    "sessions": 3,
}


class Ended(BaseException):
    """The process ended here."""


@pytest.fixture
def word() -> str:
    return f"zq{secrets.token_hex(8)}"


@pytest.fixture
def house(committed: None, monkeypatch: pytest.MonkeyPatch) -> House:
    """A workspace whose closing need not wait for requests that nobody makes here."""
    monkeypatch.setattr(closing, "DRAIN", timedelta(0))
    return make_house()


@pytest.fixture
def places(house: House, word: str) -> list[dict[str, str]]:
    """States with a word in them, of people and of nobody, in every kind of life."""
    body = {"remark": word, "anything": {word: [word]}, "note": word}
    people: list[dict[str, Any]] = [{}, {"subject": ANA}, {"subject": ANAS_PHONE}, {"subject": BRUNO}]
    kept = [house.store(body, place=scope(f"{word}-{n}"), **who) for n, who in enumerate(people)]
    house.talk(word, f"again {word}", subject=ANA, conversation_id=word)
    house.talk(word, subject=BRUNO)
    house.story(name=word)
    assembled(house, house.story(BRUNO), "memory")
    running = house.talk(word)
    running.token(worker=word)
    gone = house.store(body, subject=BRUNO)
    house.agent.post("/v1/agent-state/delete", {"scope": gone, "agent": "order-taker"})
    house.office.post("/v1/profiles/link", {"first": {"handle": ANA}, "second": {"handle": ANAS_PHONE}})
    house.agent.post("/v1/batch", {"items": [{}]}, **{"Idempotency-Key": word})
    packages.build(house.workspace, ANA)
    # A key that a write which was rolled back has left.
    under = encryption.workspace_key(house.workspace)
    encryption.make_key(house.workspace, key_id=uuid4(), purpose="data", under=under, now=timezone.now())
    return kept


def close(house: House, *options: str) -> Any:
    """Run the command; give the receipt."""
    said = StringIO()
    call_command("close_workspace", house.workspace.slug, "--yes", *options, stdout=said)
    return json.loads(said.getvalue())


def left(house: House) -> dict[str, int]:
    """Count what is left in the workspace."""
    models: Any = (
        State,
        Session,
        Item,
        KeptItem,
        Graph,
        GraphRecord,
        Link,
        Payload,
        LooseBlob,
        ContextAssembly,
        PackageRun,
        PackageChunk,
        KeptVersion,
        Handle,
        Profile,
        Tombstone,
        RememberedAnswer,
        ErasedItem,
        WrappedKey,
    )
    with access.bound(house.workspace.id):
        return {model.__name__: model.objects.count() for model in models if model.objects.exists()}


def test_closed(house: House, places: list[dict[str, str]], word: str) -> None:
    """PL-5b: nothing of it is found in either database or the hot store; one signed receipt; the audit verifies."""
    assert all(word in json.dumps(house.agent.read(place).body) for place in places)
    receipt = close(house, "--reason", "The contract ended")

    assert left(house) == {}
    assert canary.found([word], [*canary.database(), *canary.hot_store()]) == []
    signing.verify(receipt, [key.public_key for key in signing.public_keys()])
    assert receipt["erased"] == ERASED
    assert (receipt["target"], receipt["target_id"]) == ("workspace", str(house.workspace.id))
    with access.bound(house.workspace.id):
        assert verify_chain().first_bad is None
        acts = list(AuditEntry.objects.order_by("seq").values_list("act", flat=True))
        assert acts.index("workspace.close") < acts.index("key.revoke") < acts.index("erasure.complete")
        assert AuditEntry.objects.get(act="workspace.close").reason == "The contract ended"
        assert Workspace.objects.get(id=house.workspace.id).closed_at is not None
    assert close(house) == receipt, "Closing it again changes nothing."
    for level in ("master", "workspace", "handles", "data", "hashes"):
        call_command("rotate_keys", level, "--workspace", house.workspace.slug, stdout=StringIO())
    assert left(house) == {}


def test_nobody_comes_in_again(house: House, places: list[dict[str, str]]) -> None:
    """PL-5b: keys and tokens are dead, in the hot store too, and no new ones are made."""
    person = factories.make_person(house.workspace, "security")
    token = InProcess(factories.make_token(house.workspace, person, "view_audit"))
    assert house.agent.read(places[0]).status == token.get("/v1/config/features").status == 200
    key = factories.make_key(house.workspace)
    close(house)
    assert house.agent.read(places[0]).status == 401
    assert house.agent.write(write()).status == house.office.get("/v1/sources/me").status == 401
    assert token.get("/v1/config/features").status == 401
    with pytest.raises(WorkspaceClosed):
        factories.make_key(house.workspace)
    with pytest.raises(WorkspaceClosed):
        factories.make_token(house.workspace, person, "view_audit")
    with access.bound(house.workspace.id), pytest.raises(WorkspaceClosed):
        rotate_api_key(
            key_id=row_id(key), overlap=timedelta(0), maker=None, actor=factories.SYSTEM, now=timezone.now()
        )


def test_links_stop_at_once(
    house: House, places: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-5b, PR-19: from the closing on, before any worker comes, no link opens one, and a download ends."""
    monkeypatch.setattr(package_services, "CHUNKS_AT_ONCE", 1)
    monkeypatch.setattr(package_selectors, "FILES", large_files(400_000))
    run = packages.build(house.workspace, BRUNO)
    link = packages.link(house.workspace, run)
    assert packages.content(packages.download(link))
    begun = packages.download(link)
    next(begun.streaming_content)
    with access.bound(house.workspace.id):
        close_workspace(workspace=house.workspace, actor=factories.SYSTEM, now=timezone.now())
        assert PackageRun.objects.get(id=run.id).status == PackageRun.Status.READY
    assert packages.download(link).status_code == 404
    with pytest.raises(Tampered):
        list(begun.streaming_content)


@pytest.mark.parametrize("point", KILLS)
def test_killed(
    house: House, places: list[dict[str, str]], word: str, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-5b, PR-13: ended at any point, another worker ends it, with the same counts and one receipt."""

    def end(step: str) -> None:
        if step == point:
            raise Ended

    with monkeypatch.context() as patch:
        patch.setattr(erasing, "reached", end)
        patch.setattr(closing, "reached", end)
        with pytest.raises(Ended):
            close(house)
    with access.bound(house.workspace.id):
        ErasureRequest.objects.update(claimed_until=None)
    receipt = close(house)
    with access.bound(house.workspace.id):
        destroy_retired_keys(workspace=house.workspace)
        assert AuditEntry.objects.filter(act="erasure.complete").count() == 1
        assert AuditEntry.objects.filter(act="workspace.close").count() == 1
    assert receipt["erased"] == ERASED
    assert left(house) == {}


def test_a_worker_ends_it(
    house: House, places: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-5b, PR-13: what a command left behind a worker takes up; it waits until no request can write any more."""
    monkeypatch.setattr(closing, "DRAIN", timedelta(seconds=1.5))
    with monkeypatch.context() as patch:
        patch.setattr(erasing, "run", lambda **_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            close(house)
    assert house.work() == [False]
    assert left(house)["State"] == 5
    assert [True] in [house.work() for _ in range(3)]
    assert left(house) == {}


def test_another_workspace_is_untouched(house: House, places: list[dict[str, str]]) -> None:
    """PL-5b, PL-1: states, people and keys of another workspace stay as they are."""
    other = make_house("Boreal")
    place = other.store({"step": "cart"}, subject=ANA)
    before = left(other)
    close(house)
    assert left(other) == before
    assert other.agent.read(place).body["body"] == {"step": "cart"}
    assert other.profile_of(ANA)


class TestWhatKeepsItOpen:
    """PL-5b: an error says what stands in the way, and nothing is changed."""

    def test_a_hold(self, house: House, places: list[dict[str, str]]) -> None:
        """PL-5b, PR-16: while a legal hold stands it stays open; one that has ended goes with what it kept."""
        now = timezone.now()
        with access.bound(house.workspace.id):
            hold = Hold.objects.create(
                profile_id=house.profile_of(ANA), reason="x", placed_at=now, ends_at=now + timedelta(days=1)
            )
        assert house.agent.write(write({"step": "done"}, scope=places[1], subject=ANA)).body["stored"]
        with pytest.raises(CommandError, match="legal hold"):
            close(house)
        assert house.agent.read(places[0]).status == 200
        with access.bound(house.workspace.id):
            assert KeptVersion.objects.count() == 1
            Hold.objects.filter(id=hold.id).update(lifted_at=timezone.now())
        assert close(house)["erased"]["kept_versions"] == 1
        assert left(house) == {}

    def test_an_erasure(self, house: House, places: list[dict[str, str]]) -> None:
        """PL-5b: a request for erasure that is open is ended first."""
        house.forget("handle", BRUNO)
        with pytest.raises(CommandError, match="erasure is open"):
            close(house)
        house.work()
        assert close(house)["erased"]["handles"] == 2

    def test_a_word(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """PL-5b: without --yes it asks for the slug; an unknown one is refused."""
        monkeypatch.setattr("builtins.input", lambda _: "no")
        with pytest.raises(CommandError, match="Nothing"):
            call_command("close_workspace", house.workspace.slug)
        with pytest.raises(CommandError, match="slug"):
            call_command("close_workspace", "nobody", "--yes")
        assert house.agent.read(scope()).status == 200


def test_the_console_of_a_closed_workspace(house: House) -> None:
    """PL-5b, CO-3: it says that it is closed, shows the audit, and refuses every change."""
    person = factories.make_person(house.workspace, "security", "owner")
    close(house)
    client = Client()
    client.force_login(person)
    slug = house.workspace.slug
    home = client.get("/console/")
    assert "closed" in home.content.decode()
    page = client.get(f"/console/w/{slug}/audit/")
    assert page.status_code == 200
    assert "This workspace is closed" in page.content.decode()
    assert "workspace.close" in page.content.decode()
    changed = client.post(
        f"/console/w/{slug}/keys/new/", {"source": "x", "name": "x", "scopes": ["agent_state"]}
    )
    assert changed.status_code == 409


class TestExport:
    """PL-5b: all of a workspace in a folder."""

    def lines(self, folder: Path, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (folder / name).read_text().splitlines()]

    def test_whole(self, house: House, places: list[dict[str, str]], word: str, tmp_path: Path) -> None:
        """PL-5b: every live state with its content, every person, document and act; the manifest counts and hashes."""
        folder = tmp_path / "out"
        call_command("export_workspace", house.workspace.slug, str(folder), stdout=StringIO())
        states = self.lines(folder, "states.jsonl")
        with access.bound(house.workspace.id):
            live = State.objects.filter(life=State.Life.LIVE).order_by("id")
            assert [state["id"] for state in states] == [str(row.id) for row in live]
            people = {str(profile.id) for profile in Profile.objects.all()}
            acts = list(AuditEntry.objects.order_by("seq").values_list("act", flat=True))
        bodies = [house.agent.read(place).body["body"] for place in places]
        assert len(states) == len(bodies)
        assert all(state["body"] in bodies for state in states)
        assert word in (folder / "states.jsonl").read_text()
        told = [line["record"] for line in self.lines(folder, "history.jsonl")]
        assert (told.count("session"), told.count("message")) == (3, 4)
        assert (folder / "history.jsonl").read_text().count(word) == 4
        assert {profile["id"] for profile in self.lines(folder, "profiles.jsonl")} == people
        assert sum(len(profile["handles"]) for profile in self.lines(folder, "profiles.jsonl")) == 3
        assert {row["kind"] for row in self.lines(folder, "documents.jsonl")} >= {"features", "object-types"}
        assert [row["act"] for row in self.lines(folder, "audit.jsonl")] == acts
        assert acts[-1] == "workspace.export"
        (manifest,) = self.lines(folder, "manifest.json")
        for name, file in manifest["files"].items():
            raw = (folder / name).read_bytes()
            assert (file["sha256"], file["lines"]) == (hashlib.sha256(raw).hexdigest(), raw.count(b"\n"))
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}

    def test_in_batches(
        self, house: House, places: list[dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """PL-5b: with batches of two it is the same, and another workspace's rows are not in it."""
        make_house("Boreal").store({"step": "cart"}, subject=ANA)
        monkeypatch.setattr("agentstate.selectors.whole.BATCH", 2)
        monkeypatch.setattr("privacy.services.workspace_export.BATCH", 2)
        monkeypatch.setattr("history.selectors.export.SESSIONS_AT_ONCE", 2)
        monkeypatch.setattr("history.selectors.export.ITEMS_AT_ONCE", 1)
        folder = tmp_path / "out"
        call_command("export_workspace", house.workspace.slug, str(folder), stdout=StringIO())
        assert len(self.lines(folder, "states.jsonl")) == 4
        assert len(self.lines(folder, "history.jsonl")) == 7
        assert len(self.lines(folder, "profiles.jsonl")) == 2
        numbers = [row["seq"] for row in self.lines(folder, "audit.jsonl")]
        assert numbers == list(range(1, len(numbers) + 1))

    def test_a_folder_that_is_there(self, house: House, tmp_path: Path) -> None:
        """PL-5b: an existing folder is refused before anything is written or said; so is one without a parent."""
        (tmp_path / "kept").write_text("x")
        for folder in (tmp_path, tmp_path / "kept", tmp_path / "no" / "where"):
            with pytest.raises(CommandError, match="folder"):
                call_command("export_workspace", house.workspace.slug, str(folder))
        with pytest.raises(CommandError, match="slug"):
            call_command("export_workspace", "nobody", str(tmp_path / "new"))
        assert (tmp_path / "kept").read_text() == "x"
        with access.bound(house.workspace.id):
            assert not AuditEntry.objects.filter(act="workspace.export").exists()
