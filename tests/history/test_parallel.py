"""Many workers at one session, through the server's own processes (HI-5, HI-21)."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.agentstate.threads import in_parallel
from tests.api import Answer, OverHttp
from tests.history.bounds import keep, used
from tests.history.talk import Talk, assistant, items, ready_workspace, user
from workspaces.types import WorkspaceRef

WORKERS = 8


@pytest.fixture
def workspace(committed: None) -> WorkspaceRef:
    """A workspace that other processes see."""
    return ready_workspace("Paralelo")


@pytest.fixture
def clients(over_http: Callable[..., OverHttp], workspace: WorkspaceRef) -> Iterator[list[OverHttp]]:
    """A client for each worker, all of one source."""
    made = [over_http(workspace, "history", name=f"worker {number}") for number in range(WORKERS)]
    yield made
    for client in made:
        client.http.close()


def talks(clients: list[OverHttp]) -> list[Talk]:
    """Let every worker speak of the same new session."""
    first = Talk(clients[0])
    return [first, *(Talk(client, **first.session) for client in clients[1:])]


def statuses(answers: list[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


def test_one_of_many_begins_wins(clients: list[OverHttp]) -> None:
    """HI-5: of a session that is new, and of one that is there: one reserves it, the others are told who did."""
    team = talks(clients)
    for _ in range(5):
        answers = in_parallel([partial(talk.begin, worker=f"w{at}") for at, talk in enumerate(team)])
        assert statuses(answers) == {200: 1, 409: WORKERS - 1}
        (winner,) = [at for at, answer in enumerate(answers) if answer.status == 200]
        busy = [answer for answer in answers if answer.status == 409]
        assert {answer.code for answer in busy} == {"decision_history_busy"}
        assert {answer.body["worker"] for answer in busy} == {f"w{winner}"}
        token = answers[winner].body["reservation"]
        assert team[0].call("commit", reservation=token, items=items(user())).status == 200
    assert len(team[0].messages()) == 5


def test_appends_during_a_decision_are_refused(clients: list[OverHttp]) -> None:
    """HI-5, HI-21: not one gets in while a decision runs, whenever it comes."""
    team = talks(clients)
    team[0].append(user("before"))

    def decide(talk: Talk) -> list[Answer]:
        answers = []
        for number in range(8):
            begun = talk.begin()
            answers.append(begun)
            if begun.status == 200:
                token = begun.body["reservation"]
                own = items(user(f"q{number}"), assistant(f"a{number}"))
                answers.append(talk.call("commit", reservation=token, items=own))
        return answers

    def append(talk: Talk) -> list[Answer]:
        return [talk.append(user("outside")) for _ in range(16)]

    jobs = [partial(decide, team[0]), *(partial(append, talk) for talk in team[1:4])]
    results = in_parallel(jobs)
    assert {answer.status for answers in results for answer in answers} <= {200, 409}
    kept = team[0].messages()
    stored = sum(
        answer.body["stored"] for answers in results for answer in answers if "stored" in answer.body
    )
    assert len(kept) == 1 + stored
    for at, message in enumerate(kept):
        if message["role"] == "assistant":
            assert kept[at - 1] == user(message["content"].replace("a", "q"))


def test_one_key_at_once_is_one_message(clients: list[OverHttp]) -> None:
    """HI-21: appends with one key that overtake each other store once."""
    team = talks(clients)
    for number in range(4):
        job: dict[str, Any] = {"items": items(user(f"m{number}"), key=f"k{number}"), "create": True}
        answers = in_parallel([partial(talk.call, "append", **job) for talk in team])
        assert statuses(answers) == {200: WORKERS}
        assert sum(answer.body["stored"] for answer in answers) == 1
        assert len({tuple(answer.body["positions"]) for answer in answers}) == 1
    assert len(team[0].messages()) == 4


def test_a_commit_and_a_recovery_at_once(clients: list[OverHttp]) -> None:
    """HI-5: either the commit is stored and nothing was left to free, or it was freed and nothing is stored."""
    team = talks(clients)
    kept = 0
    for number in range(8):
        token = team[0].token()
        commit, recovery = in_parallel(
            [
                partial(team[0].call, "commit", reservation=token, items=items(user(f"m{number}"))),
                partial(team[1].call, "recover", worker_stopped=True),
            ]
        )
        if commit.status == 200:
            kept += 1
            assert recovery.body == {"recovered": False}
        else:
            assert commit.code in {"decision_history_reservation_lost", "decision_history_not_found"}
            assert recovery.body == {"recovered": True}
        read = team[0].call("read")
        assert len(read.body["items"]) == kept if kept else read.status == 404


def test_a_full_workspace_is_never_over_its_bound(clients: list[OverHttp], workspace: WorkspaceRef) -> None:
    """HI-4: new sessions that race for the last places: exactly as many as there are."""
    keep(workspace, max_sessions=5)
    answers = in_parallel([partial(Talk(client).append, user()) for client in clients])
    assert statuses(answers) == {200: 5, 422: WORKERS - 5}
    assert used(workspace)[0] == 5


def test_forks_onto_one_session(clients: list[OverHttp]) -> None:
    """HI-21: two forks that race for one place: one is made, whole."""
    team = talks(clients)
    team[0].append(user(), id="m1")
    target = Talk(clients[0])
    answers = in_parallel([partial(talk.call, "fork", to=target.session, at="m1") for talk in team])
    assert statuses(answers) == {200: 1, 409: WORKERS - 1}
    assert target.messages() == [user()]
