"""One base URL before a reader and a writer: who answers what, whose address counts, and what the front says itself."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from console.embedded.front import Ports, front_config
from console.embedded.parts import Size
from tests import factories
from tests.api import OverHttp
from tests.server import Server

MIB = 1024 * 1024
SOON_SECONDS = 3


@pytest.fixture(scope="module")
def own(
    tmp_path_factory: pytest.TempPathFactory,
    django_db_setup: None,
    django_db_blocker: Any,
    _deployment_key: None,
) -> Iterator[Server]:
    """A server of this file's own, since its parts are held and killed."""
    folder = tmp_path_factory.mktemp("front")
    (folder / "counts").mkdir()
    with django_db_blocker.unblock():
        running = Server(
            folder,
            size=Size(workers=2),
            PROMETHEUS_MULTIPROC_DIR=str(folder / "counts"),
            LASTRO_METRICS_TOKEN="a-token-for-the-metrics",
        ).start()
    yield running
    running.stop()


@pytest.fixture
def agent(committed: None, own: Server) -> OverHttp:
    """An agent's code, with a state stored."""
    return OverHttp(own.url, factories.make_key(factories.make_ready_workspace("Fronteira")))


def answer_from(address: str, server: Server, key: str, **headers: str) -> httpx.Response:
    """Ask who a key is, as a caller whose own address is this one."""
    transport = httpx.HTTPTransport(local_address=address)
    with httpx.Client(transport=transport, base_url=server.url, trust_env=False, timeout=30) as caller:
        return caller.get("/v1/sources/me", headers={"Authorization": f"Bearer {key}", **headers})


def is_answered(ask: Any) -> bool:
    """Tell whether an answer comes soon."""
    try:
        ask()
    except httpx.ReadTimeout:
        return False
    return True


def test_reads_and_writes_do_not_share_a_process(agent: OverHttp, own: Server) -> None:
    """WM-19: with the reader held writes are answered, with the writer held reads are; nothing else is the reader's."""
    scope = factories.scope()
    agent.write(factories.write(scope=scope))
    assert agent.read(scope).status == 200
    agent.http.timeout = httpx.Timeout(SOON_SECONDS)
    with own.held("reader"):
        assert agent.write(factories.write(scope=scope)).status == 200
        assert agent.get("/v1/sources/me").status == 200
        assert not is_answered(lambda: agent.read(scope))
    agent.http.timeout = httpx.Timeout(30)
    assert agent.read(scope).status == 200
    agent.http.timeout = httpx.Timeout(SOON_SECONDS)
    with own.held("writer"):
        assert agent.read(scope).body["version"] == 2
        assert not is_answered(lambda: agent.get("/v1/sources/me"))
    agent.http.timeout = httpx.Timeout(30)
    assert agent.get("/v1/sources/me").status == 200


@pytest.mark.parametrize("sent", ["abc-7", None, "two words"])
def test_the_front_says_that_a_server_is_away(agent: OverHttp, own: Server, sent: str | None) -> None:
    """WM-19, PL-8, PL-10: without its server a request is answered 503 as a problem, under its id; the others go on."""
    scope = factories.scope()
    agent.write(factories.write(scope=scope))
    own.kill("reader")
    try:
        headers = {} if sent is None else {"X-Request-Id": sent}
        answer = agent.post("/v1/agent-state/read", {"scope": scope, "agent": "order-taker"}, **headers)
        assert (answer.status, answer.code) == (503, "unavailable")
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["retry-after"] == "1"
        assert answer.body["request_id"] == answer.headers["x-request-id"]
        assert (answer.body["request_id"] == sent) == (sent == "abc-7")
        assert answer.body["type"].startswith(f"{own.url}/v1/docs#")
        assert agent.write(factories.write(scope=scope)).status == 200
    finally:
        own.start()
    assert agent.read(scope).body["version"] == 2
    assert scope["id"] not in own.log.read_text()


def test_a_killed_worker_is_started_again(agent: OverHttp, own: Server) -> None:
    """PL-13: of two workers one that is killed is replaced, and the part goes on."""
    before = own.workers("writer")
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    deadline = time.monotonic() + 60
    while len(set(own.workers("writer")) - {before[0]}) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert agent.get("/v1/sources/me").status == 200


# (why, the caller's real address, what it claims, whether a key for 127.0.0.2 alone is accepted)
ADDRESSES: list[tuple[str, str, dict[str, str], int]] = [
    ("from within", "127.0.0.2", {}, 200),
    ("from without", "127.0.0.3", {}, 403),
    ("from without, claiming to be within", "127.0.0.3", {"X-Forwarded-For": "127.0.0.2"}, 403),
    ("from within, claiming to be without", "127.0.0.2", {"X-Forwarded-For": "192.0.2.9"}, 200),
    ("another header", "127.0.0.3", {"Forwarded": "for=127.0.0.2"}, 403),
    ("yet another", "127.0.0.3", {"X-Real-IP": "127.0.0.2"}, 403),
    ("from the front's own address", "127.0.0.1", {"X-Forwarded-For": "127.0.0.2"}, 403),
]


@pytest.mark.parametrize(("why", "address", "claim", "status"), ADDRESSES, ids=[row[0] for row in ADDRESSES])
def test_only_the_real_address_counts(
    committed: None, own: Server, why: str, address: str, claim: dict[str, str], status: int
) -> None:
    """WM-19, PL-3: the front tells the server who called, and drops what the caller says of it."""
    key = factories.make_key(factories.make_ready_workspace(), networks=("127.0.0.2/32",))
    assert answer_from(address, own, key, **claim).status_code == status


def test_a_body_is_held_to_the_servers_own_limits(agent: OverHttp) -> None:
    """WM-25, PL-10: a body over a route's limit is refused, by the front where it is far beyond every limit."""
    for size in (5 * MIB, 15 * MIB, 100 * MIB):
        refused = agent.write(factories.write({"remark": "x" * size}), **{"X-Request-Id": f"large-{size}"})
        assert (refused.status, refused.code) == (413, "payload_too_large"), size
        assert refused.body["request_id"] == f"large-{size}"
    assert agent.get("/v1/sources/me").status == 200


def test_ids_and_host_come_through(agent: OverHttp, own: Server) -> None:
    """PL-10: the id of a request is echoed from behind the front, in the log line too; the host stays the caller's."""
    mark = f"front-{uuid4().hex}"
    assert agent.get("/v1/sources/me", **{"X-Request-Id": mark}).headers["x-request-id"] == mark
    lines = [json.loads(line) for line in own.log.read_text().splitlines() if mark in line]
    assert [line["event"] for line in lines] == ["request.answered"]
    page = httpx.get(f"{own.url}/console/sign-in/", headers={"Host": "evil.example.org"}, trust_env=False)
    assert page.status_code == 400


def test_both_servers_count_together(agent: OverHttp, own: Server) -> None:
    """PL-11: the metrics that the front passes from the writer are those of the reader's processes, too."""
    for _ in range(8):
        agent.read(factories.scope())
    token = {"Authorization": "Bearer a-token-for-the-metrics"}
    text = httpx.get(f"{own.url}/metrics", headers=token, trust_env=False).text
    assert 'lastro_requests_total{method="POST",route="agent-state-read"' in text
    assert httpx.get(f"{own.url}/metrics", trust_env=False).status_code == 404


def test_the_front_keeps_to_itself(tmp_path: Path) -> None:
    """PL-13: no administration port, no certificates, no configuration kept, no line on a request, the loopback."""
    config = front_config(Ports(front=1, reader=2, writer=3), folder=tmp_path)
    assert config["admin"] == {"disabled": True, "config": {"persist": False}}
    assert config["storage"]["root"].startswith(str(tmp_path))
    assert config["logging"]["logs"]["default"]["exclude"] == ["http"]
    server = config["apps"]["http"]["servers"]["front"]
    assert server["listen"] == ["127.0.0.1:1"]
    assert server["automatic_https"] == {"disable": True}
    assert "logs" not in server
