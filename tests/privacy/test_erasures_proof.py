"""That nothing is left of a person, and everything of the others: looked for, not believed (PR-10, PR-15, PR-15b)."""

import json
import secrets
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agentstate.encryption import open_body
from agentstate.models import State
from assembly.encryption import graph_key, open_record
from assembly.models import GraphRecord, Payload
from history.encryption import open_item, session_key
from history.models import Item
from tests.agentstate import canary
from tests.agentstate.rows import row_of
from tests.assembly.artifacts import blobs
from tests.assembly.everything import told
from tests.database import ALIASES, logged_in
from tests.factories import scope
from tests.history.talk import Talk
from tests.privacy.dumps import Restored, restored_dump
from tests.privacy.erasing import House, make_house
from tests.privacy.test_graph_erasures import assembled
from workspaces import access, outside, signing
from workspaces.errors import KeyDestroyed
from workspaces.models import Handle, Profile


@pytest.fixture
def house(committed: None) -> House:
    return make_house()


KEPT = (
    *("agentstate_state", "history_session", "history_item"),
    *("assembly_graph", "assembly_graphperson", "assembly_graphrecord", "assembly_link", "assembly_payload"),
    *("workspaces_handle", "workspaces_profile", "workspaces_wrappedkey"),
)


def person(name: str) -> dict[str, str]:
    return {"type": "email", "value": f"{name}@example.com"}


def fill(house: House, word: str, who: dict[str, str]) -> list[dict[str, str]]:
    """Store a word in every kind of field, in every kind of scope, for one person."""
    body = {
        "remark": word,
        "note": word,
        "phone": word,
        "anything": {word: [word]},
        "cart": [word],
        "delivery": {"to": word},
    }
    places = [scope(word), scope(f"task-{word}", "task"), scope(f"order:{word}:1", "object")]
    named = [house.store(body, place=place, subject=who) for place in places]
    tell(house, word, who, conversation_id=word)
    story = told(house.agent, word, who)
    assembled(house, story, "memory", trace=[{"id": story.id("memory"), "detail": word}], route=word)
    return [*named, house.store(body, place=scope(f"email:{who['value']}", "subject"))]


def tell(house: House, word: str, who: dict[str, str], **named: str) -> Talk:
    """Keep a word in every part of a session of one person, with a decision that is still running."""
    talk = house.talk(word, f"again {word}", session=f"s-{word}", subject=who, **named)
    token = talk.token(worker=f"worker {word}")
    first = talk.window().body["items"][0]
    parts = {"id": f"id-{word}", "key": f"key-{word}"}
    kept = talk.call(
        "commit",
        reservation=token,
        items=[
            {"message": {"role": "user", "content": [{"type": "text", "text": word}], "name": word}, **parts}
        ],
        summary={"text": word, "covers": 1, "digest": word, "through": first},
    )
    assert kept.status == 200, kept.body
    talk.token(worker="still running")
    opaque = house.talk(word, subject=who)
    kept = opaque.call("append", items=[{"message": {"saved": word}, "kind": "opaque", "key": word}])
    assert kept.status == 200, kept.body
    return talk


def everything(house: House) -> Mapping[str, set[str]]:
    """Give every row of the workspace, of every table of both databases, as text."""
    found: dict[str, set[str]] = {}
    for alias in ALIASES:
        with logged_in(alias, owner=True) as owner:
            tables = owner.execute(
                "SELECT table_name FROM information_schema.columns"
                " WHERE table_schema = 'public' AND column_name = 'workspace_id'"
            ).fetchall()
            for (table,) in tables:
                rows = owner.execute(
                    f"SELECT row_to_json(t)::text FROM {table} t WHERE workspace_id = %s",  # noqa: S608
                    [house.workspace.id],
                )
                found[table] = {row for (row,) in rows.fetchall()}
    return found


@pytest.mark.parametrize("others", [30, pytest.param(999, marks=pytest.mark.long)])
def test_one_of_many(house: House, others: int) -> None:
    """PR-10: one of many is erased; a word of theirs is nowhere, and every row of the others is as it was."""
    word = f"zq{secrets.token_hex(8)}"
    for number in range(others):
        house.store({"remark": f"of {number}"}, subject=person(f"p{number}"))
    for number in range(0, others, max(1, others // 30)):
        house.talk(f"of {number}", subject=person(f"p{number}"), conversation_id=f"c-{number}")
        house.story(person(f"p{number}"), name=f"g-{number}")
    before, files = everything(house), blobs()
    places = fill(house, word, person(word))
    for place in places:
        assert word in json.dumps(house.agent.read(place).body)
    assert word in json.dumps(Talk(house.agent, session_id=f"s-{word}").window().body)
    assert canary.found([word], canary.hot_store()) == [], "Content lay open in the hot store."
    with access.bound(house.workspace.id):
        recorded = GraphRecord.objects.filter(graph__name=f"talk-{word}").count()
        payloads = Payload.objects.filter(graph__name=f"talk-{word}").count()
    assert len(blobs()) == len(files) + 2, "A result and a call's arguments stand in blobs."

    asked = house.forget("handle", person(word)).body
    assert house.work() == [True]

    assert house.status(asked["request_id"])["erased"] == {
        "agent_states": 4,
        "assemblies": 1,
        "graph_records": recorded,
        "handles": 1,
        "messages": 5,
        "payloads": payloads,
        "profiles": 1,
        "sessions": 2,
    }
    after = everything(house)
    for table in KEPT:
        assert before[table] <= after[table], table
    assert len(after["workspaces_wrappedkey"]) == len(before["workspaces_wrappedkey"])
    assert len(after["workspaces_handle"]) == others
    assert canary.found([word], [*canary.database(), *canary.hot_store()]) == []
    assert blobs() == files


def test_a_dump_from_before(house: House, tmp_path: Path, settings: Any) -> None:
    """PR-15, PR-15b: a dump decrypts with the live keys before the erasure and no longer after.

    Restored it is told of the erasure, and then holds nothing of the person.
    """
    word = f"zq{secrets.token_hex(8)}"
    settings.CHECKPOINTS_URL = f"file://{tmp_path}"
    place, *_ = fill(house, word, person(word))
    theirs = house.store({"remark": "stays"}, subject=person("bruno"))
    state, said = row_of(house.workspace, place), first_said(house)
    recorded = first_recorded(house)
    with restored_dump() as dump:
        with access.bound(house.workspace.id):
            body, _ = open_body(house.workspace, dump.state(state.id))
            assert opened(house, dump, said) == {"role": "user", "content": word}
            assert word in opened_record(house, dump, recorded)
        assert body["remark"] == word

        request = house.forget("handle", person(word)).body
        house.work()
        outside.deliver_waiting()

        with access.bound(house.workspace.id), pytest.raises(KeyDestroyed):
            open_body(house.workspace, dump.state(state.id))
        with access.bound(house.workspace.id), pytest.raises(KeyDestroyed):
            opened(house, dump, said)
        with access.bound(house.workspace.id), pytest.raises(KeyDestroyed):
            opened_record(house, dump, recorded)
        assert dump.rows("SELECT life FROM agentstate_state WHERE id = %s", state.id) == [("live",)]

        assert ": 1 run again" in reapplied(dump, tmp_path)
        assert dump.rows("SELECT life FROM agentstate_state WHERE id = %s", state.id) == [("erased",)]
        bodies = "SELECT body IS NULL FROM agentstate_state WHERE life = 'erased' AND workspace_id = %s"
        handles = "SELECT count(*) FROM workspaces_handle WHERE workspace_id = %s"
        assert dump.rows(bodies, house.workspace.id) == [(True,)] * 4
        assert dump.rows(handles, house.workspace.id) == [(1,)]
        left = "SELECT count(*) FROM history_item i JOIN history_session s ON s.id = i.session_id WHERE s.id = %s"
        assert dump.rows(left, said.session_id) == [(0,)]
        life = "SELECT life, conversation_hash, handle_id FROM history_session WHERE id = %s"
        assert dump.rows(life, said.session_id) == [("erased", None, None)]
        life = "SELECT life, name, data_key_id, handle_id FROM assembly_graph WHERE id = %s"
        assert dump.rows(life, recorded.graph_id) == [("erased", "", None, None)]
        left = "SELECT count(*) FROM assembly_graphrecord WHERE graph_id = %s"
        assert dump.rows(left, recorded.graph_id) == [(0,)]
        status = "SELECT status FROM privacy_erasurerequest WHERE id = %s"
        assert dump.rows(status, request["request_id"]) == [("completed",)]

        assert ": 0 run again" in reapplied(dump, tmp_path)
    assert house.agent.read(theirs).body["body"] == {"remark": "stays"}


def first_said(house: House) -> Item:
    """Give the row of the first message that the house keeps."""
    with access.bound(house.workspace.id):
        found = Item.objects.select_related("session").order_by("recorded_at", "position").first()
        assert found is not None
        return found


def opened(house: House, dump: Restored, said: Item) -> Any:
    """Open a message as a restored dump has it, with the live keys."""
    ((body,),) = dump.rows("SELECT body FROM history_item WHERE id = %s", said.id)
    key = session_key(house.workspace, said.session)
    row = Item(id=said.id, session_id=said.session_id, position=said.position, body=body)
    return json.loads(bytes(open_item(house.workspace, row, key).message))


def first_recorded(house: House) -> GraphRecord:
    """Give the row of the first record of the graph that the house keeps, which names its person."""
    with access.bound(house.workspace.id):
        return GraphRecord.objects.select_related("graph__handle").get(position=1)


def opened_record(house: House, dump: Restored, recorded: GraphRecord) -> str:
    """Open a record of a graph as a restored dump has it, with the live keys."""
    ((body,),) = dump.rows("SELECT body FROM assembly_graphrecord WHERE id = %s", recorded.id)
    key = graph_key(house.workspace, recorded.graph)
    row = GraphRecord(
        graph_id=recorded.graph_id, kind=recorded.kind, name=recorded.name, position=1, body=body
    )
    return bytes(open_record(house.workspace, row, key).record).decode()


class TestReceipts:
    """PR-14, PR-14b: what a receipt says, and that no byte of it can be another."""

    @pytest.fixture
    def receipt(self, house: House) -> dict[str, Any]:
        house.store({"step": "cart"}, subject=person("ana"))
        asked = house.forget("handle", person("ana")).body
        house.work()
        found: dict[str, Any] = house.status(asked["request_id"])["receipt"]
        return found

    @pytest.fixture
    def key(self, receipt: dict[str, Any]) -> str:
        return signing.public_keys()[-1].public_key

    def verify(self, receipt: Any, key: str, folder: Path) -> None:
        file = folder / "receipt.json"
        file.write_bytes(receipt if isinstance(receipt, bytes) else json.dumps(receipt).encode())
        call_command("verify_receipt", str(file), public_key=[key])

    def test_it_verifies(self, receipt: dict[str, Any], key: str, tmp_path: Path, capsys: Any) -> None:
        """PR-14: offline, by the public key alone; it says what it does not prove."""
        self.verify(receipt, key, tmp_path)
        assert receipt["reference"] in capsys.readouterr().out
        assert len(receipt["does_not_prove"]) == 3
        assert set(receipt["digests"]) == set(receipt["erased"])
        assert "example.com" not in json.dumps(receipt)

    def test_every_member_counts(self, receipt: dict[str, Any], key: str, tmp_path: Path) -> None:
        """PR-14: each member altered, added or taken away, and each character of the text, is found."""
        for name in receipt:
            for altered in (receipt | {name: "other"}, {k: v for k, v in receipt.items() if k != name}):
                with pytest.raises(CommandError):
                    self.verify(altered, key, tmp_path)
        with pytest.raises(CommandError):
            self.verify(receipt | {"more": 1}, key, tmp_path)
        text = bytearray(json.dumps(receipt).encode())
        for at in range(0, len(text), 7):
            bad = bytes(text[:at]) + bytes([text[at] ^ 1]) + bytes(text[at + 1 :])
            if _same(bad, receipt):
                continue
            with pytest.raises(CommandError):
                self.verify(bad, key, tmp_path)

    def test_another_key(self, receipt: dict[str, Any], tmp_path: Path) -> None:
        """PR-20b: another deployment's key does not verify it, and what is no key is named."""
        for key in ("A" * 43 + "=", "no key"):
            with pytest.raises(CommandError):
                self.verify(receipt, key, tmp_path)

    def test_what_is_no_receipt(self, key: str, tmp_path: Path) -> None:
        """PR-14: another file is refused with a sentence."""
        for bad in (b"", b"[]", b"{}", json.dumps(signing.sign({"kind": "checkpoint"})).encode()):
            with pytest.raises(CommandError):
                self.verify(bad, key, tmp_path)
        with pytest.raises(CommandError):
            call_command("verify_receipt", str(tmp_path / "none.json"), public_key=[key])


def test_people_are_gone_with_their_names(house: House) -> None:
    """PR-10: neither a hint nor a pseudonym of an erased person is left in a table."""
    who = person("quixote-of-la-mancha")
    house.store({"step": "cart"}, subject=who)
    with access.bound(house.workspace.id):
        pseudonym, hint = Profile.objects.get().pseudonym, Handle.objects.get().hint
    assert [row for row in everything(house)["workspaces_handle"] if hint in row]
    house.forget("handle", who)
    house.work()
    with access.bound(house.workspace.id):
        assert not State.objects.filter(life="live").exists()
    rows = [row for rows in everything(house).values() for row in rows]
    assert not [row for row in rows if pseudonym in row or hint in row]


def reapplied(dump: Restored, folder: Path) -> str:
    """Run the command on a restored database; give what it says."""
    command = [sys.executable, "manage.py", "reapply_erasures", str(folder)]
    done = subprocess.run(
        command, env=dict(dump.environment), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _same(bad: bytes, receipt: dict[str, Any]) -> bool:
    try:
        return bool(json.loads(bad) == receipt)
    except ValueError:
        return False
