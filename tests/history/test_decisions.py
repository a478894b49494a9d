"""Begin, append, commit and abort (HI-5, HI-21)."""

from typing import Any

import pytest

from tests import factories
from tests.api import InProcess
from tests.history.talk import PINS, Talk, assistant, items, user
from workspaces.types import WorkspaceRef


def test_a_decision_from_begin_to_commit(talk: Talk) -> None:
    """HI-21: begin reserves, append adds under the reservation, commit adds the rest and frees the session."""
    begun = talk.begin(worker="chat-7")
    assert begun.status == 200
    assert begun.body["head"]["count"] == 0
    token = begun.body["reservation"]
    added = talk.call("append", reservation=token, items=items(user()))
    assert (added.status, added.body["positions"]) == (200, [1])
    kept = talk.call("commit", reservation=token, items=items(assistant()), pins=PINS)
    assert (kept.body["positions"], kept.body["count"]) == ([2], 2)
    read = talk.call("read").body
    assert [item["message"] for item in read["items"]] == [user(), assistant()]
    assert read["items"][1]["parent"] == read["items"][0]["id"] != ""
    assert read["head"]["leaf"] == read["items"][1]["id"]
    assert read["head"]["pins"] == PINS


def test_an_abort_leaves_the_old_record(talk: Talk) -> None:
    """HI-21: what was added under the reservation goes; the record is as it was, to the byte count."""
    talk.decide(user(), assistant())
    before = talk.call("read").body
    token = talk.token()
    assert talk.call("append", reservation=token, items=items(user("again"))).status == 200
    assert talk.call("abort", reservation=token).body == {"aborted": True}
    assert talk.call("read").body == before


def test_an_abort_of_the_first_decision_leaves_nothing(talk: Talk) -> None:
    """HI-21: a session that the begin made is unknown again."""
    token = talk.token()
    talk.call("append", reservation=token, items=items(user()))
    assert talk.call("abort", reservation=token).status == 200
    assert talk.call("read").code == "decision_history_not_found"


def test_a_second_decision_is_refused(talk: Talk) -> None:
    """HI-5: 409, saying since when and by which worker."""
    begun = talk.begin(worker="chat-7")
    busy = talk.begin(worker="chat-8")
    assert (busy.status, busy.code) == (409, "decision_history_busy")
    assert (busy.body["since"], busy.body["worker"]) == (begun.body["since"], "chat-7")
    for answer in (talk.append(user()), talk.call("read")):
        assert (answer.status, answer.code) == (409, "decision_history_busy")
    assert talk.call("commit", reservation=begun.body["reservation"], items=items(user())).status == 200
    assert talk.begin().status == 200


def test_an_unknown_session_is_made_only_when_asked(talk: Talk) -> None:
    """HI-21: without `create` an unknown session is 404."""
    assert (talk.begin(create=False).status, talk.append(user(), create=False).status) == (404, 404)
    assert talk.append(user()).status == 200
    assert talk.begin(create=False).status == 200


@pytest.mark.parametrize("what", ["begin", "append", "window", "read"])
def test_anothers_session_is_an_unknown_one(talk: Talk, home: WorkspaceRef, what: str) -> None:
    """HI-2, HI-21, X11: another source gets the same answer as for a session that nobody ever made."""
    talk.decide(user(), assistant())
    other = Talk(InProcess(factories.make_key(home, "history", source="voice bot")), **talk.session)
    needed: dict[str, dict[str, Any]] = {
        "append": {"items": items(user())},
        "window": {"provider": "openai.chat"},
    }
    members = needed.get(what, {})
    theirs, nobodys = other.call(what, **members), Talk(other.api).call(what, **members)
    assert theirs.status == 404
    assert theirs.body | {"request_id": ""} == nobodys.body | {"request_id": ""}
    assert talk.call("read").status == 200


def test_a_label_narrows_the_source(talk: Talk, api: InProcess) -> None:
    """HI-2: two labels of one source never see each other."""
    talk.decide(user())
    assert Talk(api, **talk.session, namespace="eu").call("read").status == 404


@pytest.mark.parametrize(
    "parts",
    [
        {"run_id": "r", "invocation_id": "i"},
        {"session_id": "s", "agent_ref": "a"},
        {"namespace": "eu"},
    ],
)
def test_a_missing_part_is_an_error(api: InProcess, parts: dict[str, str]) -> None:
    """HI-1: never a default."""
    answer = Talk(api, **parts).begin()
    assert (answer.status, answer.code) == (422, "decision_history_identity_missing")


@pytest.mark.parametrize(
    "other",
    [
        {"provider": "anthropic.messages"},
        {"model": "o3"},
        {"interface": "structured"},
        {"content_mode": "opaque_refs"},
    ],
)
def test_what_the_first_decision_pinned_stays(talk: Talk, other: dict[str, str]) -> None:
    """HI-1: another provider, model, interface or content mode is refused at begin and at commit."""
    talk.decide(user())
    answer = talk.begin(pins=PINS | other)
    assert (answer.status, answer.code) == (409, "decision_history_mismatch")
    token = talk.token(pins=PINS)
    refused = talk.call("commit", reservation=token, pins=PINS | other)
    assert refused.code == "decision_history_mismatch"
    assert talk.call("commit", reservation=token, pins=PINS).status == 200
