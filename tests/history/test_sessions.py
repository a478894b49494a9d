"""Whole sessions: read, forked, freed, deleted (HI-5, HI-6, HI-21, HI-25)."""

from datetime import datetime

from tests import factories
from tests.api import InProcess
from tests.history.clock import Clocked
from tests.history.talk import PINS, Talk, assistant, items, session, turns, user
from workspaces import access
from workspaces.models import AuditEntry
from workspaces.types import WorkspaceRef


def test_reading_does_not_renew_the_idle_time(clock: Clocked) -> None:
    """HI-6: a detached copy; the session ends when it would have."""
    clock.append(user())
    before = clock.read().head
    assert clock.wait(hours=12).read().head == before
    assert clock.served() == [user()]
    clock.append(assistant())
    assert clock.read().head.valid_until > before.valid_until


def test_a_fork_goes_on_by_itself(talk: Talk) -> None:
    """HI-21: the messages up to a point, what is pinned, and nothing that either does afterwards."""
    talk.decide(*turns(3))
    at = talk.call("read").body["items"][3]["id"]
    fork = Talk(talk.api)
    head = talk.call("fork", to=fork.session, at=at)
    assert head.status == 200
    assert (head.body["count"], head.body["pins"], head.body["leaf"]) == (4, PINS, at)
    assert fork.messages() == turns(2)
    fork.append(user("there"))
    talk.append(user("here"))
    assert fork.messages() == [*turns(2), user("there")]
    assert talk.messages() == [*turns(3), user("here")]
    assert talk.call("delete").body == {"deleted": True}
    assert fork.window().body["messages"] == [*turns(2), user("there")]


def test_a_fork_of_a_branch_has_its_path_alone(talk: Talk) -> None:
    """HI-21, X12: what hangs on another branch is not shared."""
    first = items(user("a"), assistant("b"))
    first[1]["id"] = "answer"
    talk.call("append", items=first, create=True)
    talk.append(user("trunk"), id="trunk")
    talk.append(user("branch"), id="branch", parent="answer")
    for at, last in (("trunk", "trunk"), ("branch", "branch")):
        fork = Talk(talk.api)
        assert talk.call("fork", to=fork.session, at=at).status == 200
        assert fork.messages() == [user("a"), assistant("b"), user(last)]


def test_a_fork_is_refused(talk: Talk) -> None:
    """HI-21: onto a session that is there, from an item that is not, and while a decision runs."""
    talk.append(user(), id="m1")
    there = Talk(talk.api)
    there.append(user())
    assert talk.call("fork", to=there.session, at="m1").code == "decision_history_conflict"
    assert talk.call("fork", to=session(), at="nothing").code == "decision_history_not_found"
    token = talk.token()
    assert talk.call("fork", to=session(), at="m1").code == "decision_history_busy"
    talk.call("abort", reservation=token)
    assert talk.call("fork", to=session(), at="m1").status == 200


def test_deleting_twice_is_no_error(talk: Talk) -> None:
    """HI-6: an idle session goes; a second time finds nothing; busy refuses."""
    token = talk.token()
    assert talk.call("delete").code == "decision_history_busy"
    talk.call("commit", reservation=token, items=items(user()))
    assert talk.call("delete").body == {"deleted": True}
    assert talk.call("delete").body == {"deleted": False}
    assert talk.call("read").status == 404
    assert talk.append(user("anew")).body["count"] == 1


def test_a_reservation_is_freed_with_the_word_only(talk: Talk, home: WorkspaceRef) -> None:
    """HI-5: without `worker_stopped` it is refused; with it the record is as it was, and the token worth nothing."""
    talk.decide(*turns(1))
    token = talk.token(worker="chat-7")
    talk.call("append", reservation=token, items=items(user("staged")))
    refused = talk.call("recover", worker_stopped=False)
    assert (refused.status, refused.code) == (409, "decision_history_recovery_refused")
    assert talk.begin().code == "decision_history_busy"
    assert talk.call("recover", worker_stopped=True).body == {"recovered": True}
    assert talk.messages() == turns(1)
    late = talk.call("commit", reservation=token, items=items(user("late")))
    assert (late.status, late.code) == (409, "decision_history_reservation_lost")
    assert talk.messages() == turns(1)
    assert talk.call("recover", worker_stopped=True).body == {"recovered": False}
    with access.bound(home.id):
        (entry,) = AuditEntry.objects.filter(act="history.recover")
        assert (entry.actor_kind, entry.object_kind) == ("key", "history_session")
        assert datetime.fromisoformat(entry.facts["since"]).tzinfo is not None


def test_a_late_commit_takes_no_others_reservation(talk: Talk) -> None:
    """HI-5: after a recovery another worker holds the session; the first one's token neither adds nor frees."""
    first = talk.token(worker="first")
    talk.call("recover", worker_stopped=True)
    second = talk.token(worker="second")
    for what in ("commit", "abort"):
        assert talk.call(what, reservation=first).code == "decision_history_reservation_lost"
    assert talk.call("commit", reservation=second, items=items(user())).status == 200


def test_a_person_frees_what_the_console_lists(talk: Talk, home: WorkspaceRef, clock: Clocked) -> None:
    """HI-5: a person with `recover_history` names the row; one without it is refused."""
    clock.begin(worker="chat-7")
    engineer = factories.make_person(home, "engineer")
    token = factories.make_token(home, engineer, "recover_history")
    body = {"id": str(clock.row().id), "worker_stopped": True}
    other = factories.make_token(home, factories.make_person(home, "auditor"), "view_audit")
    assert InProcess(other).post("/v1/history/recover", body).code == "permission_missing"
    assert InProcess(token).post("/v1/history/recover", {"worker_stopped": True}).code == "invalid_input"
    freed = InProcess(token).post("/v1/history/recover", body)
    assert (freed.status, freed.body) == (200, {"recovered": True})
    with access.bound(home.id):
        assert AuditEntry.objects.get(act="history.recover").actor_kind == "token"


def test_records_of_another_framework(talk: Talk) -> None:
    """HI-25: opaque items are kept beside the messages, listed newest first, and gone once a removal says so."""
    talk.decide(*turns(1))
    for number in range(5):
        assert talk.append({"checkpoint": number}, kind="opaque", id=f"c{number}").status == 200
    page = talk.call("items", limit=2).body
    assert [item["message"] for item in page["items"]] == [{"checkpoint": 4}, {"checkpoint": 3}]
    rest = talk.call("items", cursor=page["next_cursor"], limit=100).body
    assert ([item["id"] for item in rest["items"]], rest["next_cursor"]) == (["c2", "c1", "c0"], None)
    assert talk.call("items/remove", ids=["c4", "c1"]).status == 200
    assert [item["id"] for item in talk.call("items").body["items"]] == ["c3", "c2", "c0"]
    assert talk.window().body["messages"] == turns(1)
    assert talk.call("items/remove").status == 200
    assert talk.call("items").body == {"items": [], "next_cursor": None, "head": None}
    talk.append({"checkpoint": 5}, kind="opaque", id="c5")
    assert [item["id"] for item in talk.call("items").body["items"]] == ["c5"]
    assert [item["kind"] for item in talk.call("read").body["items"]] == ["message"] * 2 + ["removal"] * 2 + [
        "opaque"
    ]


def test_removing_twice_by_a_key_is_one_record(talk: Talk) -> None:
    """HI-25, HI-21: the record of a removal has a key of the caller's like any other item."""
    talk.append({"checkpoint": 1}, kind="opaque", id="c1")
    first, again = (talk.call("items/remove", ids=["c1"], key="pop-1") for _ in range(2))
    assert (first.body["stored"], again.body["stored"]) == (1, 0)
