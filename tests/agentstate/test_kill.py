"""The server killed in the middle of writes (WM-16): what it acknowledged is there, the rest is whole or absent."""

import random
from collections.abc import Iterator
from functools import partial
from threading import Event
from typing import Any

import httpx
import pytest

from console.embedded.parts import Size
from tests import factories
from tests.agentstate.threads import in_parallel
from tests.api import OverHttp
from tests.factories import scope, write
from tests.server import Server
from workspaces.types import WorkspaceRef

WRITERS, WRITES = 20, 10
FRONT_ALONE = 503
"""What the front answers in place of a server that was killed."""
FIELDS = [f"part_{number}" for number in range(WRITERS * WRITES // 2)]
TYPE: dict[str, Any] = {
    "type": "parts",
    "version": "1",
    "ownership": "agent",
    "fields": {name: {"type": "integer"} for name in FIELDS}
    | {"left": {"type": "integer"}, "filler": {"type": "string"}, "right": {"type": "integer"}},
    "agent_state": {"cap_bytes": None},
}


class Acknowledgements:
    """Counts stored writes; `enough` is set at the one at which the server is to die."""

    def __init__(self, kill_at: int) -> None:
        self.count, self.kill_at, self.enough = 0, kill_at, Event()

    def add(self) -> None:
        self.count += 1
        if self.count >= self.kill_at:
            self.enough.set()


class Writer:
    """Merges a field of its own into the state that all share, and replaces a state of its own, in turn."""

    def __init__(self, client: OverHttp, shared: dict[str, str], number: int) -> None:
        self.client, self.own, self.done = client, scope(), 0
        self.fields = FIELDS[number::WRITERS]
        self.plan = [
            part for pair in zip(self._merges(shared), self._replacements(), strict=True) for part in pair
        ]

    def _merges(self, shared: dict[str, str]) -> list[dict[str, Any]]:
        return [write({field: number}, scope=shared) for number, field in enumerate(self.fields)]

    def _replacements(self) -> list[dict[str, Any]]:
        return [
            write(
                {"left": number + 1, "filler": "x " * 500, "right": number + 1},
                scope=self.own,
                mode="cas",
                if_version=number,
            )
            for number in range(len(self.fields))
        ]

    def go_on(self, acknowledged: Acknowledgements) -> None:
        """Send what is left of the plan until the server is gone; the last one without an answer is sent again."""
        while self.done < len(self.plan):
            key = {"Idempotency-Key": f"write-{self.own['id']}-{self.done}"}
            try:
                answer = self.client.write(self.plan[self.done], **key)
            except httpx.TransportError:
                return
            if answer.status == FRONT_ALONE and acknowledged.enough.is_set():
                return
            assert answer.status == 200, answer.body
            assert answer.body["stored"], answer.body
            if self.done % 2:
                assert answer.body["version"] == self.done // 2 + 1
            self.done += 1
            acknowledged.add()

    def require_own_state(self) -> None:
        """Require every acknowledged replacement, perhaps the one on its way, and nothing in between."""
        read = read_of(self.client, self.own)
        assert read["version"] in {self.done // 2, self.done // 2 + 1}
        whole = {"left": read["version"], "filler": "x " * 500, "right": read["version"]}
        assert read["body"] == (whole if read["version"] else {})


@pytest.fixture(scope="module")
def mortal(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, _deployment_key: None
) -> Iterator[Server]:
    """A server of this file's own, since it is killed."""
    running = Server(tmp_path_factory.mktemp("mortal"), size=Size(workers=2)).start()
    yield running
    running.stop()


@pytest.fixture
def workspace(committed: None) -> WorkspaceRef:
    """A workspace with a field for each writer's each write."""
    return factories.make_ready_workspace("Morte", TYPE)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))])
def test_server_killed_among_200_writes(workspace: WorkspaceRef, mortal: Server, seed: int) -> None:
    """WM-16, WM-15: no acknowledged write is lost, no state is torn, and sending again ends with each write once."""
    key, shared = factories.make_key(workspace), scope()
    writers = [Writer(OverHttp(mortal.url, key), shared, number) for number in range(WRITERS)]
    acknowledged = Acknowledgements(kill_at=random.Random(seed).randint(10, 150))  # noqa: S311
    in_parallel(
        [partial(kill, mortal, acknowledged), *(partial(each.go_on, acknowledged) for each in writers)]
    )
    assert acknowledged.kill_at <= acknowledged.count < WRITERS * WRITES

    mortal.start()
    require_shared_state(writers, shared)
    for writer in writers:
        writer.require_own_state()

    in_parallel([partial(writer.go_on, acknowledged) for writer in writers])
    assert [writer.done for writer in writers] == [WRITES] * WRITERS
    assert acknowledged.count == WRITERS * WRITES
    read = read_of(writers[0].client, shared)
    assert (read["body"].keys(), read["version"]) == (set(FIELDS), len(FIELDS))
    for writer in writers:
        writer.require_own_state()
        writer.client.http.close()


def read_of(client: OverHttp, place: dict[str, str]) -> dict[str, Any]:
    """Read a state of a server that is up."""
    answer = client.read(place)
    assert answer.status == 200, answer
    body: dict[str, Any] = answer.body
    return body


def kill(server: Server, acknowledged: Acknowledgements) -> None:
    """Kill every process of the server once enough writes were acknowledged."""
    assert acknowledged.enough.wait(60)
    server.kill()


def require_shared_state(writers: list[Writer], shared: dict[str, str]) -> None:
    """Require each acknowledged field, and one version for each field: every merge adds exactly one."""
    read = read_of(writers[0].client, shared)
    acknowledged = {
        field: number
        for writer in writers
        for number, field in enumerate(writer.fields[: (writer.done + 1) // 2])
    }
    assert acknowledged.items() <= read["body"].items()
    assert read["version"] == len(read["body"])
    assert len(read["body"]) <= len(acknowledged) + len(writers)
