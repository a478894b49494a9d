"""The load counts what was answered rightly, and nothing else."""

import itertools
import json
from typing import Any

import pytest

from benchmarks import rounds
from benchmarks.load import Broken, Over
from benchmarks.rounds import Slice, WrongAnswer, play
from benchmarks.scripts import Fleet, Get, Merge, Read, Write, body_of
from tests.benchmarks.servers import answering

SCOPE = {"kind": "conversation", "id": "c-1"}
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKS = [
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
    b'c\r\n{"version":7\r\n4\r\n,"a"\r\n',
    b"5\r\n:{}}\n\r\n",
    b"0\r\n\r\n",
]


def parts(request: bytes) -> tuple[str, dict[str, Any]]:
    head, _, body = request.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    return head.decode(), json.loads(body)


def test_it_counts_what_the_server_answered() -> None:
    """PF: as many as were asked and answered within the time, with as many in flight as there are clients."""
    asked = itertools.count()

    def answer(request: bytes) -> list[bytes]:
        next(asked)
        return [PLAIN]

    with answering(answer) as address:
        done = Over(address, [Get("/") for _ in range(4)]).run(0.3)
    assert done.failed == 0
    assert 0 <= next(asked) - done.count <= 4
    assert 0 < done.median_ms <= done.p99_ms


def test_it_reads_an_answer_in_pieces() -> None:
    """PF: chunks and segments do not matter, and the version is looked for in the whole body."""
    with answering(lambda _: CHUNKS) as address:
        done = Over(address, [Read("key", SCOPE, 7)]).run(0.1)
        wrong = Over(address, [Read("key", SCOPE, 8)]).run(0.1)
    assert (done.count > 0, done.failed) == (True, 0)
    assert (wrong.count, wrong.failed > 0) == (0, True)
    assert "200" in wrong.wrong


def test_wrong_answers_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """PF: a rate of refusals is no rate."""
    monkeypatch.setattr(rounds, "PAUSE_SECONDS", 0)
    refused = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"
    with answering(lambda _: [refused]) as address, pytest.raises(WrongAnswer, match="503"):
        play({"it": Over(address, [Get("/")])}, rounds=1, seconds=0.05)


def test_a_turn_with_a_refusal_is_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """PF: it does not count, and how often that was is told."""
    monkeypatch.setattr(rounds, "PAUSE_SECONDS", 0)
    turns = iter([Slice(9, 1.0), Slice(5, 1.0, failed=1), Slice(7, 1.0)])

    class Shaky:
        def run(self, seconds: float) -> Slice:
            return next(turns)

    assert play({"it": Shaky()}, rounds=1, seconds=1.0) == {"it": [Slice(7, 1.0, repeats=1)]}


def test_what_never_comes_is_not_waited_for_where_nobody_is_patient() -> None:
    """PF-9: a stalled server costs the time of the turn and counts nothing."""
    with answering(lambda _: []) as address:
        done = Over(address, [Get("/")], is_patient=False).run(0.1)
    assert (done.count, done.failed) == (0, 0)


def test_an_answer_without_an_end_is_refused() -> None:
    """PF: neither a length nor chunks: nobody could tell where it ends."""
    with answering(lambda _: [b"HTTP/1.1 200 OK\r\n\r\n"]) as address, pytest.raises(Broken):
        Over(address, [Get("/")]).run(0.1)


def test_a_write_follows_its_version() -> None:
    """PF-2: each write expects the version that the last one gave, in a request whose length never changes."""
    script = Write("key", SCOPE, body_of(1024), mode="cas", subject="+55 11 91234-5678")
    first = script.request()
    assert script.accept(200, b'{"stored":true,"version":1,"reason":null}')
    assert not script.accept(200, b'{"stored":true,"version":1,"reason":null}')
    assert not script.accept(200, b'{"stored":false,"version":2,"reason":"over_cap"}')
    second = script.request()
    assert len(first) == len(second)
    assert [parts(request)[1]["if_version"] for request in (first, second)] == [0, 1]
    assert parts(first)[0] != parts(second)[0], "each has an Idempotency-Key of its own"


def test_a_body_has_its_size() -> None:
    """PF: a value of 2 KB is one of 2 KB, also in the request."""
    for size in (1024, 2048, 16_384):
        body = parts(Write("key", SCOPE, body_of(size), mode="merge_by_key").request())[1]["body"]
        assert len(json.dumps(body, separators=(",", ":"))) == size


def test_a_merge_names_its_field_only() -> None:
    """PF-5: the writers of one state write different fields, and know what was answered as stored."""
    script = Merge("key", SCOPE, "part_03", 64)
    numbers = []
    for _ in range(2):
        body: dict[str, Any] = parts(script.request())[1]["body"]
        assert body.keys() == {"part_03"}
        numbers.append(body["part_03"]["serial"])
        script.accept(200, b'{"stored":true,"version":9,"reason":null}')
    script.request()
    assert not script.accept(503, b"")
    assert numbers[0] < numbers[1] == script.confirmed
    assert script.stored == 2


def test_a_fleet_knows_the_version_of_each_state() -> None:
    """PF-4: new states until there are enough, then any of them at its own version."""
    fleet = Fleet("key", body_of(1024))
    scopes = []
    for _ in range(2):
        scopes.append(parts(fleet.request())[1]["scope"])
        assert fleet.accept(200, b'{"stored":true,"version":1,"reason":null}')
    assert scopes[0] != scopes[1]
    fleet.is_growing = False
    again = parts(fleet.request())[1]
    assert again["scope"] in scopes
    assert again["if_version"] == 1
    assert fleet.accept(200, b'{"stored":true,"version":2,"reason":null}')
    assert sorted(fleet.versions) == [1, 2]
