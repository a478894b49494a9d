"""Payloads through a real server: killed, raced, cut off, and far larger than its memory may grow (CA-4)."""

import hashlib
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import httpx
import pytest
import requests
from django.conf import settings
from django.utils import timezone

from assembly.models import LooseBlob, Payload
from assembly.rules.payloads import INLINE_BYTES, MAX_PAYLOAD_BYTES
from assembly.services import payloads as services
from tests.agentstate.threads import in_parallel
from tests.api import OverHttp
from tests.assembly.artifacts import blobs, declare, path_of
from tests.assembly.graphs import Story, ready_workspace
from tests.assembly.refusals import Claimed
from tests.server import Server
from workspaces import access
from workspaces.types import WorkspaceRef

MIB = 1024 * 1024
LARGE_BYTES = 256 * MIB
BLOCK = os.urandom(MIB)
GROWS_AT_MOST_BYTES = 64 * MIB
SETTLING_SECONDS = 0.3
"""In which a request gets as far as its body."""


@pytest.fixture
def shop(committed: None) -> WorkspaceRef:
    """A workspace in which context assembly is on, as other processes see it."""
    return ready_workspace("Shop")


@pytest.fixture
def agent(shop: WorkspaceRef, over_http: Callable[..., OverHttp]) -> OverHttp:
    """An agent's code with a key of the scope `context`."""
    return over_http(shop, "context")


@pytest.fixture
def told(agent: OverHttp) -> Story:
    """A new conversation."""
    return Story(agent)


def declare_long(story: Story, size: int) -> UUID:
    """Record an artifact whose result is so many bytes of BLOCK."""
    digest = hashlib.sha256()
    for part in parts_of(size):
        digest.update(part)
    result = {"bytes": size, "sha256": digest.hexdigest(), "media_type": "application/octet-stream"}
    return declare(story, b"", result=result)


def parts_of(size: int) -> Iterator[bytes]:
    for _ in range(size // MIB):
        yield BLOCK
    yield BLOCK[: size % MIB]


def test_a_payload_is_larger_than_the_memory_it_takes(agent: OverHttp, told: Story, server: Server) -> None:
    """CA-4: 256 MiB go in and out, through the front, while no process of the server grows by 64 MiB."""
    payload_id = declare_long(told, LARGE_BYTES)
    pids = server.workers("writer")
    before = [most_memory_bytes(pid) for pid in pids]
    length = {"Content-Length": str(LARGE_BYTES)}
    put = agent.http.put(path_of(payload_id), content=parts_of(LARGE_BYTES), headers=length)
    assert (put.status_code, put.json()["bytes"]) == (200, LARGE_BYTES)
    digest, taken = hashlib.sha256(), 0
    with agent.http.stream("GET", path_of(payload_id)) as answer:
        assert answer.headers["content-length"] == str(LARGE_BYTES)
        for part in answer.iter_raw():
            digest.update(part)
            taken += len(part)
    assert (taken, digest.hexdigest()) == (LARGE_BYTES, put.json()["sha256"])
    after = [most_memory_bytes(pid) for pid in pids]
    assert max(then - now for now, then in zip(before, after, strict=True)) < GROWS_AT_MOST_BYTES


def test_a_server_killed_in_the_middle_of_a_put(
    shop: WorkspaceRef, agent: OverHttp, told: Story, server: Server
) -> None:
    """CA-4, PR-20: the payload is awaited, the name of what was written is known, and goes within a day."""
    content = os.urandom(20 * MIB)
    payload_id, before, killed = declare(told, content), set(blobs()), Event()

    def halting() -> Iterator[bytes]:
        yield content[: 12 * MIB]
        assert killed.wait(60)

    def kill() -> None:
        until(lambda: any(blobs()[name] for name in set(blobs()) - before))
        server.kill("writer")
        killed.set()

    def send() -> None:
        headers = {"Content-Length": str(len(content)), "Authorization": agent.http.headers["Authorization"]}
        address = server.url_of("writer") + path_of(payload_id)
        with pytest.raises(httpx.TransportError):
            httpx.put(address, content=halting(), headers=headers, trust_env=False, timeout=60)

    in_parallel([send, kill])
    server.start()
    (left,) = set(blobs()) - before
    with access.bound(shop.id):
        assert [loose.name for loose in LooseBlob.objects.all()] == [left]
    assert agent.get(path_of(payload_id)).code == "payload_awaited"
    assert agent.put(path_of(payload_id), content).body["outcome"] == "stored"
    assert agent.http.get(path_of(payload_id)).content == content
    with access.bound(shop.id):
        assert services.sweep_blobs(now=timezone.now() + timedelta(days=1)) == 1
        assert set(blobs()) - before == {Payload.objects.get().blob}


def test_puts_of_one_payload_race(shop: WorkspaceRef, agent: OverHttp, told: Story) -> None:
    """CA-4: each is answered 200, one has stored, and one blob is left; so it is with two payloads of one content."""
    content, before = os.urandom(INLINE_BYTES + 1), set(blobs())
    ids = [declare(told, content) for _ in range(2)]
    clients = [OverHttp(str(agent.http.base_url), None) for _ in range(6)]
    for client in clients:
        client.http.headers["Authorization"] = agent.http.headers["Authorization"]
    jobs = [partial(client.put, path_of(ids[at % 2]), content) for at, client in enumerate(clients)]
    answers = in_parallel(jobs)
    assert [answer.status for answer in answers] == [200] * len(jobs)
    outcomes = [answer.body["outcome"] for answer in answers]
    assert (outcomes[::2].count("stored"), outcomes[1::2].count("stored")) == (1, 1)
    assert all(agent.http.get(path_of(payload_id)).content == content for payload_id in ids)
    with access.bound(shop.id):
        assert set(blobs()) - before == {payload.blob for payload in Payload.objects.all()}
        assert not LooseBlob.objects.exists()


@pytest.mark.parametrize("size", [0, 1, INLINE_BYTES, 5 * MIB + 1])
def test_bytes_of_unsaid_length(agent: OverHttp, told: Story, server: Server, size: int) -> None:
    """CA-4: a body in chunks, to the front and past it, and HEAD and GET over HTTP."""
    content = os.urandom(size)
    for base in (server.url, server.url_of("writer")):
        payload_id = declare(told, content)
        agent.http.base_url = httpx.URL(base)
        sent = agent.http.put(path_of(payload_id), content=iter([content[: size // 2], content[size // 2 :]]))
        assert (sent.status_code, sent.json().get("outcome")) == (200, "stored")
        head = agent.http.head(path_of(payload_id))
        assert (head.status_code, head.headers["content-length"]) == (200, str(size))
        assert agent.http.get(path_of(payload_id)).content == content
        agent.http.base_url = httpx.URL(server.url)


def test_a_length_over_the_limit_is_refused_at_the_front(
    agent: OverHttp, told: Story, server: Server
) -> None:
    """PL-10: no byte is waited for where the length alone is too much; other routes keep their smaller bound."""
    payload_id = declare(told, b"x")
    headers = {"Authorization": agent.http.headers["Authorization"]}
    for path, length in ((path_of(payload_id), MAX_PAYLOAD_BYTES + 1), ("/v1/graph", 10_000_000)):
        with requests.Session() as session:
            session.trust_env = False
            body: Any = Claimed(length)
            answer = session.put(f"{server.url}{path}", data=body, headers=headers, timeout=30)
        assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")
    over = agent.http.put(path_of(payload_id), content=parts_of(20 * MIB))
    assert (over.status_code, over.json()["code"]) == (422, "payload_mismatch")


def test_slow_senders_hold_few_threads(
    shop: WorkspaceRef, agent: OverHttp, told: Story, over_http: Callable[..., OverHttp], server: Server
) -> None:
    """PL-5, CA-4: of long bodies one key sends one at a time, all keys two; the rest is answered meanwhile."""
    path = path_of(declare(told, b"x"))
    second, third = over_http(shop, "context"), over_http(shop, "context")
    with ExitStack() as stack:
        for client in (agent, second):
            stack.enter_context(dripping(client, path, server))
        for client in (agent, second, third):
            with dripping(client, path, server) as sender:
                assert b"429" in sender.makefile("rb").readline()
        assert told.send(*told.opening()).status == 200
        assert agent.put(path, b"x").status == 200
    content = os.urandom(12 * MIB)
    long = path_of(declare(told, content))
    until(lambda: agent.put(long, content).status == 200)


def test_slow_readers_hold_few_threads(
    shop: WorkspaceRef, agent: OverHttp, told: Story, server: Server
) -> None:
    """PL-5, CA-4: whoever reads nothing of many long answers keeps nobody waiting, and gives a lane back by leaving."""
    content = os.urandom(12 * MIB)
    path = path_of(declare(told, content))
    assert agent.put(path, content).status == 200
    with ExitStack() as stack:
        readers = [stack.enter_context(reading(agent, path, server)) for _ in range(6)]
        heads = [reader.makefile("rb").readline() for reader in readers]
        assert [b"200" in head for head in heads] == [True] + [False] * 5
        assert all(b"429" in head for head in heads[1:])
        assert told.send(*told.opening()).status == 200
    until(lambda: agent.http.get(path).content == content)


@contextmanager
def reading(client: OverHttp, path: str, server: Server) -> Iterator[socket.socket]:
    """Begin a GET of which no more than its beginning is read."""
    url = httpx.URL(server.url_of("writer"))
    head = [f"GET {path} HTTP/1.1", f"Host: {url.host}"]
    head += [f"Authorization: {client.http.headers['Authorization']}", "", ""]
    with socket.socket() as reader:
        # Else the system of the reader would take all of it.
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, INLINE_BYTES)
        reader.settimeout(30)
        reader.connect((url.host, url.port or 80))
        reader.sendall("\r\n".join(head).encode())
        time.sleep(SETTLING_SECONDS)
        yield reader


@contextmanager
def dripping(client: OverHttp, path: str, server: Server) -> Iterator[socket.socket]:
    """Begin a PUT of a long body and send one byte of it."""
    url = httpx.URL(server.url_of("writer"))
    head = [f"PUT {path} HTTP/1.1", f"Host: {url.host}", f"Content-Length: {64 * MIB}"]
    head += [f"Authorization: {client.http.headers['Authorization']}", "", "x"]
    with socket.create_connection((url.host, url.port or 80), timeout=30) as sender:
        sender.sendall("\r\n".join(head).encode())
        time.sleep(SETTLING_SECONDS)
        yield sender


def test_a_harmed_blob_cuts_the_connection(shop: WorkspaceRef, agent: OverHttp, told: Story) -> None:
    """CA-4, PL-12: a client never takes a part for the whole."""
    content = os.urandom(5 * MIB)
    payload_id = declare(told, content)
    assert agent.put(path_of(payload_id), content).status == 200
    with access.bound(shop.id):
        file = Path(settings.STORAGES["payloads"]["OPTIONS"]["location"]) / Payload.objects.get().blob
    sealed = bytearray(file.read_bytes())
    sealed[-1] ^= 1
    file.write_bytes(sealed)
    with pytest.raises(httpx.RemoteProtocolError):
        agent.http.get(path_of(payload_id))
    assert agent.get("/v1/sources/me").status == 200


def most_memory_bytes(pid: int) -> int:
    """Give the most memory that a process has had since the last look."""
    status = Path(f"/proc/{pid}/status").read_text()
    (found,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return int(found) * 1024


def until(is_so: Callable[[], Any]) -> None:
    """Wait for something to be so."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)
