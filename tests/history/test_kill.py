"""A server that is killed in the middle of a decision leaves the reservation and the old record (HI-5, HI-21)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import factories
from tests.api import OverHttp
from tests.history.talk import Talk, items, ready_workspace, turns, user
from tests.server import Server


@pytest.fixture
def mortal(tmp_path: Path, committed: None) -> Iterator[Server]:
    """A server of this test's own."""
    running = Server(tmp_path).start()
    yield running
    running.stop()


def test_a_reservation_outlives_the_server(mortal: Server, tmp_path: Path) -> None:
    """HI-5: after kill -9 the session is busy as before, the record whole, and only the word frees it."""
    key = factories.make_key(ready_workspace("Mortal"), "history")
    talk = Talk(OverHttp(mortal.url, key))
    talk.decide(*turns(2))
    token = talk.token(worker="chat-7")
    assert talk.call("append", reservation=token, items=items(user("staged"))).status == 200
    mortal.kill()
    mortal.stop()
    again = Server(tmp_path).start()
    try:
        later = Talk(OverHttp(again.url, key), **talk.session)
        busy = later.begin()
        assert (busy.code, busy.body["worker"]) == ("decision_history_busy", "chat-7")
        assert later.window().body["messages"] == turns(2)
        assert later.call("recover", worker_stopped=True).body == {"recovered": True}
        assert later.messages() == turns(2)
        assert later.call("commit", reservation=token).code == "decision_history_reservation_lost"
    finally:
        again.stop()
