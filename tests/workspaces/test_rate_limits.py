"""Rate limits per key and per address (PL-5), and their place among the checks (WM-13)."""

import time
from itertools import count
from uuid import uuid4

import pytest
from pytest_django import Settings

from tests import factories
from tests.api import Answer, InProcess
from tests.hotstore.store import raw
from workspaces import hotstore
from workspaces.hotstore import Bucket, HotStoreDown, bucket_of
from workspaces.http import admission
from workspaces.rules.credentials import _checksum, key_text, parse_key
from workspaces.types import WorkspaceRef

SLOW, PLENTY = 0.05, (1_000.0, 2_000)
_numbers = count(1)


def limits(
    settings: Settings, *, key: tuple[float, int] = PLENTY, address: tuple[float, int] = PLENTY
) -> None:
    """Give both kinds of buckets so many requests a second and so many at once."""
    settings.RATE_LIMITS = {"key": key, "address": address}


def caller(key: str | None, address: str = "") -> InProcess:
    """Call from an address, without one from one of its own."""
    client = InProcess(key)
    client._client.defaults["REMOTE_ADDR"] = address or _address()
    return client


def _address() -> str:
    return f"2001:db8::{uuid4().hex[:4]}:{next(_numbers):x}"


def limit_of(answer: Answer) -> tuple[int, int, int]:
    """Give limit, remaining and reset of an answer."""
    names = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")
    first, second, third = (int(answer.headers[name]) for name in names)
    return first, second, third


def read(client: InProcess) -> Answer:
    return client.read(factories.scope("c-1"))


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("tight", ["key", "address"])
def test_an_empty_bucket_refuses(
    aurora: WorkspaceRef, settings: Settings, tight: str, *, is_known: bool
) -> None:
    """PL-5: after the burst the answer is 429 `rate_limited` as a problem, whichever bucket is empty."""
    client = caller(factories.make_key(aurora))
    if is_known:
        limits(settings)
        assert read(client).status == 200
    limits(settings, **{tight: (SLOW, 3)})
    statuses = [read(client).status for _ in range(4)]
    assert statuses.count(200) in {2, 3}
    answer = read(client)
    assert (answer.status, answer.code) == (429, "rate_limited")
    assert answer.headers["content-type"] == "application/problem+json"
    assert 1 <= int(answer.headers["retry-after"]) <= 1 / SLOW


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(("tight", "loose"), [("key", "address"), ("address", "key")])
def test_the_numbers_speak_of_the_bucket_nearest_to_empty(
    aurora: WorkspaceRef, settings: Settings, tight: str, loose: str, *, is_known: bool
) -> None:
    """PL-5: limit, remaining and reset are those of one bucket, the one that will refuse first."""
    client = caller(factories.make_key(aurora))
    limits(settings, **{tight: (SLOW, 5), loose: (SLOW, 50)})
    if is_known:
        read(client)
    spent = 2 if is_known else 1
    limit, remaining, reset = limit_of(read(client))
    assert (limit, remaining) == (5, 5 - spent)
    assert reset == pytest.approx(spent / SLOW, abs=1)


def test_the_numbers_of_a_refusal(aurora: WorkspaceRef, settings: Settings) -> None:
    """PL-5: a refusal says the same bucket's numbers: nothing left, a next try, and later than that a full bucket."""
    client = caller(factories.make_key(aurora))
    limits(settings, key=(SLOW, 3), address=(SLOW * 10, 50))
    while (answer := read(client)).status == 200:
        pass
    limit, remaining, reset = limit_of(answer)
    assert (limit, remaining) == (3, 0)
    assert int(answer.headers["retry-after"]) == pytest.approx(1 / SLOW, abs=2)
    assert reset == pytest.approx(3 / SLOW, abs=2)


def test_a_wait_of_which_a_part_of_a_second_is_left_is_a_second(
    aurora: WorkspaceRef, settings: Settings
) -> None:
    """PL-5, WM-26: Retry-After is a whole number of seconds, never 0, after which the next try is let through."""
    client = caller(factories.make_key(aurora))
    limits(settings, key=(1.5, 1))
    while (answer := read(client)).status == 200:
        pass
    assert answer.headers["retry-after"] == "1"
    time.sleep(1)
    assert read(client).status == 200


def test_a_refusal_takes_nothing(aurora: WorkspaceRef, settings: Settings) -> None:
    """PL-5: who is refused and tries again does not wait longer for it, and takes nothing from the other bucket."""
    key = factories.make_key(aurora)
    client = caller(key)
    limits(settings, key=(SLOW, 2), address=(SLOW, 30))
    read(client)
    read(client)
    waits = [int(read(client).headers["retry-after"]) for _ in range(10)]
    assert max(waits) <= waits[0]
    other = InProcess(factories.make_key(aurora))
    other._client.defaults = client._client.defaults
    limits(settings, key=(SLOW, 90), address=(SLOW, 30))
    assert limit_of(read(other))[1] >= 26


def test_a_bucket_refills(aurora: WorkspaceRef, settings: Settings) -> None:
    """PL-5: what was spent comes back at the rate, up to the burst and no further."""
    client = caller(factories.make_key(aurora))
    limits(settings, key=(20.0, 2))
    while read(client).status == 200:
        pass
    time.sleep(0.5)
    limit, remaining, reset = limit_of(read(client))
    assert (limit, remaining, reset) == (2, 1, 1)


def test_each_key_has_a_bucket_of_its_own(aurora: WorkspaceRef, settings: Settings) -> None:
    """PL-5: one agent that loops does not stop another one at the same address."""
    first, second = (caller(factories.make_key(aurora), "192.0.2.77") for _ in range(2))
    limits(settings, key=(SLOW, 2))
    while read(first).status == 200:
        pass
    assert read(second).status == 200


def test_each_address_has_a_bucket_of_its_own(aurora: WorkspaceRef, settings: Settings) -> None:
    """PL-5: the same key from another address is let through where only the address was too fast."""
    key = factories.make_key(aurora)
    first, second = caller(key), caller(key)
    limits(settings, address=(SLOW, 2))
    while read(first).status == 200:
        pass
    assert read(second).status == 200


def test_both_buckets_are_asked_in_one_call(aurora: WorkspaceRef, monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-5, WM-19: a key that is known is looked up, counted twice and answered by one call to the hot store."""
    client = caller(factories.make_key(aurora))
    read(client)
    looks = []

    def look(names: object, *, buckets: tuple[Bucket, ...]) -> object:
        looks.append(len(buckets))
        return hotstore.look(names, buckets=buckets)  # type: ignore[arg-type]

    monkeypatch.setattr(admission, "hotstore", type("Counted", (), {"look": staticmethod(look)}))
    assert read(client).status == 200
    assert looks == [2]


def wrong(key: str) -> str:
    """Give a well-formed key with the same id and another secret."""
    parts = parse_key(key)
    assert parts is not None
    _, text = key_text(parts.prefix, key_id_entropy=bytes(10), secret=bytes(range(32)))
    body = f"{parts.prefix}_{parts.key_id}_{text.split('_')[2][:43]}"
    return body + _checksum(body)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_wrong_key_takes_from_the_address_only(
    aurora: WorkspaceRef, settings: Settings, *, is_known: bool
) -> None:
    """PL-5, PL-3: who knows the id of a key and not its secret cannot spend its bucket, and is limited all the same."""
    key = factories.make_key(aurora)
    owner, thief = caller(key), caller(wrong(key))
    if is_known:
        read(owner)
    limits(settings, key=(SLOW, 4), address=(SLOW, 8))
    statuses = [read(thief).status for _ in range(10)]
    assert statuses[:7] == [401] * 7
    assert statuses[-1] == 429
    assert read(owner).status == 200


def test_the_rate_comes_after_the_key_and_before_the_feature(settings: Settings, db: None) -> None:
    """WM-13: 401 before 429 of the key, 429 before 404 `feature_off` and 403 `scope_missing`."""
    workspace = factories.make_workspace()
    client = caller(factories.make_key(workspace, "history"))
    assert read(client).code == "feature_off"
    limits(settings, key=(SLOW, 1))
    while (answer := read(client)).code == "feature_off":
        pass
    assert answer.status == 429
    factories.switch(workspace, "agent_state", on=True)
    assert read(client).status == 429
    assert read(caller(factories.make_key(workspace, "history"))).code == "scope_missing"
    assert caller(None).post("/v1/agent-state/read", {}).status == 401


def test_a_large_body_is_refused_before_the_rate(aurora: WorkspaceRef, settings: Settings) -> None:
    """WM-13: the body limit comes first, and takes nothing from a bucket."""
    client = caller(factories.make_key(aurora))
    limits(settings, key=(SLOW, 3))
    for _ in range(5):
        assert client.put("/v1/agent-state", b"x" * (2 * 1024 * 1024 + 1)).status == 413
    assert read(client).status == 200


def test_a_person_is_limited_too(aurora: WorkspaceRef, settings: Settings) -> None:
    """PL-5: personal tokens have buckets as keys have, on every route."""
    person = factories.make_person(aurora, "security")
    client = caller(factories.make_token(aurora, person, "change_features"))
    limits(settings, key=(SLOW, 2))
    answers = [client.get("/v1/config/features") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert [limit_of(answer)[:2] for answer in answers] == [(2, 1), (2, 0), (2, 0)]


def test_a_hot_store_that_is_away_limits_nobody(
    aurora: WorkspaceRef, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-5: without the hot store requests are answered from the database, without numbers and without a limit."""
    client = caller(factories.make_key(aurora))
    limits(settings, key=(SLOW, 1))

    def away(*_: object, **__: object) -> None:
        raise HotStoreDown

    with monkeypatch.context() as patch:
        patch.setattr(hotstore, "look", away)
        answers = [read(client) for _ in range(4)]
    assert {answer.status for answer in answers} == {200}
    assert not [name for name in answers[0].headers if name.startswith("ratelimit")]


def test_a_bucket_does_not_outlive_its_use(aurora: WorkspaceRef) -> None:
    """PL-5: a bucket that is full again is forgotten, so that addresses do not pile up in the hot store."""
    bucket = Bucket(bucket_of("address", uuid4().bytes), 10.0, 5)
    hotstore.look([], buckets=[bucket])
    assert 0 < raw().pttl(bucket.key) <= 101
    time.sleep(0.15)
    assert raw().exists(bucket.key) == 0


def test_a_bucket_holds_its_burst_and_no_more() -> None:
    """PL-5: so many at once, then one for each interval."""
    bucket = Bucket(bucket_of("key", uuid4().bytes), SLOW, 5)
    spent = [hotstore.look([], buckets=[bucket])[0] for _ in range(7)]
    assert [each.remaining for each in spent] == [4, 3, 2, 1, 0, 0, 0]
    assert [each.wait_ms > 0 for each in spent] == [False] * 5 + [True] * 2
    assert {each.burst for each in spent} == {5}
