"""What a subject package and the export of a workspace hold of history (PR-18, PL-5b, HI-22)."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from history.models import Item, Session
from tests.factories import scope
from tests.history.talk import PINS, user
from tests.privacy.erasing import ANA, BRUNO, House, make_house
from tests.privacy.packages import Package, package
from workspaces import access

CARD = "4111 1111 1111 1111"


@pytest.fixture
def house(committed: None) -> House:
    return make_house()


def said(found: Package) -> list[Any]:
    """List what the messages of a package say."""
    return [line["message"] for line in found.lines("history.jsonl") if line["record"] == "message"]


def test_a_line_for_each_session_and_message(house: House) -> None:
    """PR-18, HI-22: sessions that name the person, with their messages as they were received, and nobody else's."""
    odd = {"role": "user", "content": [{"type": "text", "text": f"My card: {CARD}"}], "z": 1, "a": None}
    house.talk("of Bruno", subject=BRUNO)
    talk = house.talk("one", subject=ANA)
    assert talk.decide(odd).status == 200
    found = package(house.workspace, ANA)

    session, first, second = found.lines("history.jsonl")
    assert (session["record"], session["source"], session["items"]) == ("session", "chat backend", 2)
    assert {name: session[name] for name in PINS} == PINS
    assert (session["is_readable"], session["summary"]) == (True, None)
    assert first["session"] == second["session"] == session["session"]
    assert [line["position"] for line in (first, second)] == [1, 2]
    assert said(found) == [user("one"), odd]
    assert list(second["message"]) == list(odd), "Not even the order of its members is another."
    assert found.manifest["counts"]["history.jsonl"] == 3
    assert found.manifest["history"]["sources"] == ["chat backend"]
    assert found.manifest["history"]["retention"] == {"idle": "24h", "max_age": "30d"}
    assert "Conversation history (3)" in found.page
    assert CARD in found.page
    assert "of Bruno" not in found.page


def test_a_conversation_that_names_them_alone(house: House) -> None:
    """HI-22: a session is found by its conversation too, where that names the person and nobody else."""
    alone, shared = scope(), scope()
    house.store({"step": "cart"}, place=alone, subject=ANA)
    house.talk("of nobody", conversation_id=alone["id"])
    house.talk("shared", conversation_id=shared["id"], subject=ANA)
    house.talk("of nobody, shared", conversation_id=shared["id"])
    house.talk("of Bruno", conversation_id=shared["id"], subject=BRUNO)
    assert sorted(line["content"] for line in said(package(house.workspace, ANA))) == ["of nobody", "shared"]


def test_what_has_expired_or_was_removed_is_absent(house: House) -> None:
    """PR-18, HI-23, HI-25: neither an expired session, message or summary, nor a record that was removed."""
    talk = house.talk("one", subject=ANA)
    soon = (timezone.now() + timedelta(hours=1)).isoformat()
    opaque = [{"message": {"saved": number}, "kind": "opaque", "id": f"o{number}"} for number in range(2)]
    added = [{"message": user("short-lived"), "expires_at": soon}, *opaque]
    assert talk.call("append", items=added).status == 200
    removal = {"message": {"removes": ["o0"]}, "kind": "removal"}
    assert talk.call("append", items=[removal]).status == 200
    over = house.talk("over", subject=ANA)
    with access.bound(house.workspace.id):
        past = timezone.now() - timedelta(seconds=1)
        Item.objects.filter(expires_at__isnull=False).update(expires_at=past)
        Session.objects.filter(id=Session.objects.order_by("-created_at")[0].id).update(due_at=past)
    assert over.call("read").status == 404
    assert said(package(house.workspace, ANA)) == [user("one"), {"saved": 1}]


def test_a_damaged_message_keeps_nobody_from_the_rest(house: House) -> None:
    """PR-18: what does not verify is named as such, and the rest is there."""
    house.talk("one", "two", subject=ANA)
    with access.bound(house.workspace.id):
        row = Item.objects.get(position=1)
        Item.objects.filter(id=row.id).update(body=bytes(row.body)[:-1] + b"x")
    found = package(house.workspace, ANA)
    assert said(found) == [None, user("two")]
    assert [line["is_readable"] for line in found.lines("history.jsonl")] == [True, False, True]
    assert "cannot be read" in found.page


def test_a_workspace_is_exported_with_its_history(house: House, tmp_path: Path) -> None:
    """PL-5b: every live session with its messages, and whom and what it names by ids."""
    place = scope()
    house.talk("one", "two", subject=ANA, conversation_id=place["id"])
    house.talk("three")
    call_command("export_workspace", house.workspace.slug, str(tmp_path / "out"), stdout=StringIO())
    lines = [json.loads(line) for line in (tmp_path / "out" / "history.jsonl").read_text().splitlines()]
    sessions = {line["session"]: line for line in lines if line["record"] == "session"}
    by_text = {line["message"]["content"]: line for line in lines if line["record"] == "message"}
    assert set(by_text) == {"one", "two", "three"}
    named, other = sessions[by_text["one"]["session"]], sessions[by_text["three"]["session"]]
    assert named["profile_id"] == str(house.profile_of(ANA))
    assert (len(named["conversation_hash"]), other["conversation_hash"], other["handle_id"]) == (64, "", None)
