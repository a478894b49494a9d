"""Whether the process lives, whether it is ready, and what it has counted (PL-11)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import valkey
from django.db import DatabaseError, connections
from django.test import Client
from pytest_django import Settings

from tests import factories
from tests.api import InProcess
from tests.server import Server
from workspaces.rules.credentials import _checksum
from workspaces.types import WorkspaceRef

TOKEN = "a-token-for-the-metrics"
PARTS = ("database", "keys_database", "migrations", "hot_store", "broker")
READY = {"status": "ready", **dict.fromkeys(PARTS, "ok")}


def readiness() -> tuple[int, dict[str, str]]:
    answer = Client().get("/readyz")
    return answer.status_code, answer.json()


def missing(*parts: str) -> dict[str, str]:
    return READY | {"status": "not_ready"} | dict.fromkeys(parts, "missing")


def test_a_server_with_all_its_parts_is_ready(db: None) -> None:
    """PL-11: readiness names both databases, migrations, hot store and broker, and takes no key."""
    assert readiness() == (200, READY)


STORES = ["unix:///nowhere/valkey.sock?db=0", "redis://127.0.0.1:1/0", "redis://no-such-host.invalid/0"]


def test_a_hot_store_that_is_not_required_is_said(db: None, settings: Settings) -> None:
    """WM-20: a deployment that trades reading its own writes for availability says so, and is ready."""
    settings.HOT_STORE_REQUIRED = False
    assert readiness() == (200, READY | {"warnings": ["hot_store_not_required"]})


CHOSEN: list[tuple[dict[str, str], list[str]]] = [
    ({"save": "", "appendonly": "no", "maxmemory-policy": "noeviction"}, []),
    ({"save": "", "appendonly": "no", "maxmemory-policy": "volatile-lru"}, []),
    ({"save": "3600 1", "appendonly": "no", "maxmemory-policy": "noeviction"}, ["hot_store_persists"]),
    ({"save": "", "appendonly": "yes", "maxmemory-policy": "noeviction"}, ["hot_store_persists"]),
    ({"save": "", "appendonly": "no", "maxmemory-policy": "allkeys-lru"}, ["hot_store_evicts_markers"]),
    ({"save": "", "appendonly": "no", "cluster-enabled": "yes"}, ["hot_store_is_a_cluster"]),
    (
        {"save": "1 1", "maxmemory-policy": "allkeys-random"},
        ["hot_store_persists", "hot_store_evicts_markers"],
    ),
    ({}, []),
]


@pytest.mark.parametrize(("chosen", "warnings"), CHOSEN)
def test_a_hot_store_that_keeps_or_evicts_is_warned_about(
    db: None, monkeypatch: pytest.MonkeyPatch, chosen: dict[str, str], warnings: list[str]
) -> None:
    """WM-20: persistence would be a backup that no erasure reaches; markers must not go before entries."""
    monkeypatch.setattr(
        valkey.Valkey, "config_get", lambda _, name: {name: chosen[name]} if name in chosen else {}
    )
    status, body = readiness()
    assert (status, body.get("warnings", [])) == (200, warnings)


def test_a_hot_store_that_forbids_to_ask_is_ready(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """WM-20, PL-14: where CONFIG is forbidden, as in many clouds, readiness does not depend on it."""

    def forbid(*_: Any) -> None:
        raise valkey.exceptions.NoPermissionError

    monkeypatch.setattr(valkey.Valkey, "config_get", forbid)
    assert readiness() == (200, READY)


BROKERS = ["redis+socket:///nowhere/valkey.sock", "redis://127.0.0.1:1/0", "amqp://127.0.0.1:1//"]


@pytest.mark.parametrize("url", STORES)
def test_a_missing_hot_store_is_named(db: None, settings: Settings, url: str) -> None:
    """PL-11: without the hot store the server is not ready: 503 names it and nothing else."""
    settings.HOT_STORE_URL = url
    assert readiness() == (503, missing("hot_store"))


@pytest.mark.parametrize("url", BROKERS)
def test_a_missing_broker_is_named(db: None, settings: Settings, url: str) -> None:
    """PL-11: without the broker the server is not ready."""
    settings.CELERY_BROKER_URL = url
    assert readiness() == (503, missing("broker"))


def test_a_hot_store_with_another_password_is_missing(db: None, settings: Settings) -> None:
    """PL-11: a store that answers and does not let us in is missing too."""
    settings.HOT_STORE_URL = settings.HOT_STORE_URL.replace("unix://", "unix://nobody:wrong@")
    assert readiness() == (503, missing("hot_store"))


@pytest.mark.parametrize("alias", ["default", "keys"])
@pytest.mark.parametrize("app", ["workspaces", "agentstate", "guardian"])
def test_a_migration_that_has_not_run_is_named(db: None, app: str, alias: str) -> None:
    """PL-11: a server whose code is ahead of its tables, in either database, is not ready."""
    with connections[alias].cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = %s", [app])
    assert readiness() == (503, missing("migrations"))


def test_a_database_that_refuses_is_named(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-11: a database that answers with errors makes the server not ready, not broken."""

    def refuse(*_: Any, **__: Any) -> None:
        raise DatabaseError

    with monkeypatch.context() as patch:
        for alias in connections:
            patch.setattr(connections[alias], "cursor", refuse)
        patch.setattr("console.parts.MigrationExecutor", refuse)
        found = readiness()
    assert found == (503, missing("database", "keys_database", "migrations"))


@pytest.mark.parametrize(("alias", "part"), [("default", "database"), ("keys", "keys_database")])
def test_which_database_is_missing_is_named(
    db: None, monkeypatch: pytest.MonkeyPatch, alias: str, part: str
) -> None:
    """PL-11, PL-14: of two databases the one that refuses is named."""

    def refuse(*_: Any, **__: Any) -> None:
        raise DatabaseError

    with monkeypatch.context() as patch:
        patch.setattr(connections[alias], "cursor", refuse)
        status, body = readiness()
    assert (status, body[part], body["hot_store"]) == (503, "missing", "ok")
    assert [name for name in ("database", "keys_database") if body[name] == "missing"] == [part]


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_take_only_safe_methods(db: None, path: str) -> None:
    """PL-11: a probe reads; nothing is sent to it."""
    assert Client().head(path).status_code == 200
    assert {Client().generic(method, path).status_code for method in ("POST", "PUT", "DELETE")} == {405}


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_come_by_http_and_by_any_name(db: None, settings: Settings, path: str) -> None:
    """PL-11, PL-19: a probe reaches a production server by its address, without HTTPS."""
    settings.SECURE_SSL_REDIRECT = True
    settings.LASTRO_METRICS_TOKEN = TOKEN
    answer = Client().get(path, headers={"Host": "10.1.2.3:8000", "Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert Client().get("/console/sign-in/", headers={"Host": "localhost"}).status_code == 301


class Broken:
    """A server none of whose stores is there; it counts its requests in a folder."""

    def __init__(self, folder: Path) -> None:
        counts = folder / "counts"
        counts.mkdir()
        self.server = Server(
            folder,
            DATABASE_URL="postgres://nobody@127.0.0.1:1/nothing",
            KEYS_DATABASE_URL="postgres://nobody@127.0.0.1:1/no-keys",
            HOT_STORE_URL="redis://127.0.0.1:1/0",
            BROKER_URL="redis://127.0.0.1:1/1",
            LASTRO_METRICS_TOKEN=TOKEN,
            PROMETHEUS_MULTIPROC_DIR=str(counts),
        ).start()

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(f"{self.server.url}{path}", headers=headers, trust_env=False, timeout=30)

    def count(self, route: str) -> int:
        text = self.get("/metrics", Authorization=f"Bearer {TOKEN}").text
        counts = re.findall(rf'lastro_requests_total\{{[^}}]*route="{route}"[^}}]*\}} (\S+)', text)
        return int(sum(map(float, counts)))


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broken]:
    made = Broken(tmp_path_factory.mktemp("broken"))
    yield made
    made.server.stop()


def test_a_process_without_its_stores_lives_and_is_not_ready(broken: Broken) -> None:
    """PL-11: /healthz speaks of the process alone; /readyz names every part that is missing."""
    assert broken.get("/healthz").json() == {"status": "ok"}
    answer = broken.get("/readyz")
    assert (answer.status_code, answer.json()) == (
        503,
        missing(*PARTS),
    )


def test_the_api_says_when_to_come_again(broken: Broken) -> None:
    """PL-8: without its database the API answers 503 as a problem, with Retry-After, and not 500."""
    key = f"lst_{'0' * 12}_{'0' * 43}"
    for _ in range(4):
        answer = broken.get("/v1/sources/me", Authorization=f"Bearer {key}{_checksum(key)}")
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert int(answer.headers["Retry-After"]) > 0
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert "127.0.0.1:1" not in answer.text


def test_all_processes_count_together(broken: Broken) -> None:
    """PL-11: whichever of the web processes is asked, the metrics are those of all."""
    before = broken.count("healthz")
    for _ in range(20):
        broken.get("/healthz")
    assert {broken.count("healthz") for _ in range(6)} == {before + 20}


METRICS = [
    ("no token", {}, 404),
    ("another token", {"Authorization": "Bearer another-token-for-it"}, 404),
    ("a part of it", {"Authorization": f"Bearer {TOKEN[:-1]}"}, 404),
    ("not ASCII", {"Authorization": "Bearer \u00e9"}, 404),
    ("the token", {"Authorization": f"Bearer {TOKEN}"}, 200),
]


@pytest.mark.parametrize(("why", "headers", "status"), METRICS, ids=[row[0] for row in METRICS])
def test_metrics_have_a_token_of_their_own(
    settings: Settings, why: str, headers: dict[str, str], status: int
) -> None:
    """PL-11: /metrics is there for who has its token, and nowhere for anybody else."""
    settings.LASTRO_METRICS_TOKEN = TOKEN
    assert Client().get("/metrics", headers=headers).status_code == status
    settings.LASTRO_METRICS_TOKEN = ""
    assert Client().get("/metrics", headers=headers).status_code == 404
    assert Client().get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


def test_a_key_opens_no_metrics(aurora: WorkspaceRef, settings: Settings) -> None:
    """PL-11: keys and tokens of workspaces are no tokens of the metrics."""
    settings.LASTRO_METRICS_TOKEN = TOKEN
    assert InProcess(factories.make_key(aurora, "admin")).get("/metrics").status == 404


def test_metrics_count_and_time_without_ids(
    aurora: WorkspaceRef, admin: InProcess, settings: Settings
) -> None:
    """PL-11: counts and times by route, method and status; no id, no name, no content."""
    settings.LASTRO_METRICS_TOKEN = TOKEN
    canary, scope = f"canary{uuid4().hex}", factories.scope()
    admin.write(factories.write({"remark": canary}, scope=scope))
    admin.get(f"/v1/profiles/{uuid4()}/agent-state", **{"X-Request-Id": canary})
    admin.get(f"/v1/{canary}")
    admin.call(canary.upper(), "/v1/batch")
    text = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    assert 'lastro_requests_total{method="PUT",route="agent-state",status="200"}' in text
    assert 'lastro_request_seconds_bucket{le="+Inf",route="profile-states"}' in text
    names = {
        name
        for found in re.findall(r"^lastro_\w+\{([^}]*)\}", text, re.M)
        for name in re.findall(r"(\w+)=", found)
    }
    assert names == {"method", "route", "status", "le"}
    lines = "\n".join(line for line in text.splitlines() if line.startswith("lastro_"))
    hidden = (canary, canary.upper(), aurora.slug, str(aurora.id), scope["id"])
    assert not [word for word in hidden if word in lines]
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", lines)
