"""Many workers at one graph, through the server's own processes (CA-1, CA-3)."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.agentstate.threads import in_parallel
from tests.api import OverHttp
from tests.assembly.graphs import PHONE, Story, ready_workspace
from tests.assembly.rows import every_row, graph_of
from workspaces.types import WorkspaceRef

WORKERS = 6
JOAO = {"type": "phone_e164", "value": "+55 11 98765-4321"}


@pytest.fixture
def workspace(committed: None) -> WorkspaceRef:
    """A workspace that other processes see."""
    return ready_workspace("Paralelo")


@pytest.fixture
def clients(over_http: Callable[..., OverHttp], workspace: WorkspaceRef) -> Iterator[list[OverHttp]]:
    """A client for each worker, each of a source of its own."""
    made = [over_http(workspace, "context", source=f"worker {number}") for number in range(WORKERS)]
    yield made
    for client in made:
        client.http.close()


def test_a_graph_that_all_begin_and_write_to(clients: list[OverHttp], workspace: WorkspaceRef) -> None:
    """CA-3: the same first batch is stored once; after it no position is lost or taken twice."""
    for _ in range(3):
        first = Story(clients[0])
        team = [first, *(Story(client, first.chat) for client in clients[1:])]
        answers = in_parallel(
            [
                partial(story.send, *story.opening(PHONE), story.message(f"mine-{at}"))
                for at, story in enumerate(team)
            ]
        )
        assert {answer.status for answer in answers} == {200}
        outcomes = Counter(answer.body["records"][0]["outcome"] for answer in answers)
        assert outcomes == {"stored": 1, "unchanged": WORKERS - 1}
        taken = [answer.body["records"][5]["position"] for answer in answers]
        assert sorted(taken) == list(range(6, 6 + WORKERS))
        rows = every_row(workspace, first)
        assert [row.position for row in rows] == list(range(1, 6 + WORKERS))
        assert graph_of(workspace, first).position == 5 + WORKERS


def test_batches_over_the_same_conversations_in_other_orders(clients: list[OverHttp]) -> None:
    """CA-3: some begin them, some go on, everybody in another order; all wait and none fails."""
    for turn in range(3):
        names = [f"shared-{turn}-{letter}" for letter in "abcd"]
        jobs = []
        for at, client in enumerate(clients):
            stories = [Story(client, name) for name in (names if at % 2 else names[::-1])[at // 3 :]]
            batch = [record for story in stories for record in story.opening(PHONE, JOAO)]
            batch += [story.message(f"mine-{at}") for story in stories]
            jobs.append(partial(stories[0].send, *batch))
        assert {answer.status for answer in in_parallel(jobs)} == {200}


def test_one_name_taken_in_two_conversations(clients: list[OverHttp], workspace: WorkspaceRef) -> None:
    """CA-1, CA-3: ids are unique in the workspace: one of them wins, the others are told, and keep nothing."""
    for turn in range(3):
        team = [Story(client) for client in clients]
        for story in team:
            story.stored(*story.opening())
        jobs = [
            partial(story.send, story.message("own"), {**story.participant(), "id": f"same-{turn}"})
            for story in team
        ]
        answers = in_parallel(jobs)
        assert Counter(answer.status for answer in answers) == {200: 1, 409: WORKERS - 1}
        refused = [answer for answer in answers if answer.status == 409]
        assert {answer.body["errors"][0]["pointer"] for answer in refused} == {"/records/1/id"}
        counts = Counter(len(every_row(workspace, story)) for story in team)
        assert counts == {7: 1, 5: WORKERS - 1}


def test_people_who_come_while_others_write(clients: list[OverHttp], workspace: WorkspaceRef) -> None:
    """PR-15: the graph is sealed again under another key in between, and every record is known afterwards."""
    first = Story(clients[0])
    first.stored(*first.whole(PHONE))
    team = [Story(client, first.chat) for client in clients]
    jobs = [
        partial(
            story.send,
            story.participant(f"person-{at}", subject={"type": "app_user_id", "value": f"user-{at}"}),
            story.message(f"mine-{at}"),
        )
        for at, story in enumerate(team)
    ]
    assert {answer.status for answer in in_parallel(jobs)} == {200}
    again = [answer for job in jobs for answer in job().body["records"]]
    assert {item["outcome"] for item in again} == {"unchanged"}
    assert graph_of(workspace, first).handle_id is None
