"""A production server by its settings, and migrations both ways (PL-17, PL-19)."""

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from psycopg import sql
from pytest_django import Settings

from console import checks, env
from tests.database import logged_in
from tests.server import database_urls_of_tests
from workspaces.postgresql.router import KeysApart

PROJECT = Path(__file__).resolve().parents[2]
APPS = ("workspaces", "agentstate", "history", "assembly", "privacy", "console")

PRODUCTION = {
    "LASTRO_ENVIRONMENT": "production",
    "LASTRO_BASE_URL": "https://lastro.example.com",
    "LASTRO_ALLOWED_HOSTS": "lastro.example.com",
    "LASTRO_SECRET_KEY": base64.b64encode(os.urandom(48)).decode(),
    "LASTRO_MASTER_KEY": base64.b64encode(os.urandom(32)).decode(),
    "LASTRO_METRICS_TOKEN": "a-token-for-the-metrics",
    "TRUSTED_PROXIES": "10.0.0.0/8",
    "EMAIL_URL": "smtp+tls://user:password@mail.example.com:587",
    "HOT_STORE_URL": "rediss://hot.example.com:6379/0",
    "BROKER_URL": "rediss://broker.example.com:6379/1",
}


def manage(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run manage.py with an environment of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:console", "manage.py", *arguments],
        cwd=PROJECT,
        env={**kept, **database_urls_of_tests(), **PRODUCTION, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_deployment_check_is_clean(db: None) -> None:
    """PL-19: `manage.py check --deploy` finds nothing in the settings of a production server."""
    run = manage("check", "--deploy", "--fail-level", "WARNING")
    assert run.returncode == 0, run.stderr
    assert f"no issues ({len(SILENCED)} silenced)" in run.stdout


SILENCED = {"security.W001": "SECURE_", "security.W002": "X_FRAME_OPTIONS", "security.W003": "CSRF"}
"""Django looks for these in MIDDLEWARE; they stand in PAGE_MIDDLEWARE, which a check of ours looks at."""


def test_what_is_silenced_is_checked_by_ourselves(settings: Settings) -> None:
    """PL-19: without CSRF or the denial of frames around pages, or without what puts them there, a check fails."""
    assert set(settings.SILENCED_SYSTEM_CHECKS) == SILENCED.keys()
    assert checks.page_policy() == []
    pages, all_ = list(settings.PAGE_MIDDLEWARE), list(settings.MIDDLEWARE)
    for name in checks.REQUIRED:
        settings.PAGE_MIDDLEWARE = [path for path in pages if path != name]
        assert [found.id for found in checks.page_policy()] == ["lastro.E001"]
        assert checks.page_policy()[0].hint
    settings.PAGE_MIDDLEWARE = pages
    settings.MIDDLEWARE = [path for path in all_ if path != checks.PAGES]
    assert [found.id for found in checks.page_policy()] == ["lastro.E001"]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("file:///tmp/lastro-payloads-of-a-check", []),
        ("file:///dev/null/payloads", ["lastro.E003"]),
        ("s3://bucket", ["lastro.E002"]),
    ],
)
def test_a_store_of_payloads_that_cannot_be_used_is_found(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, url: str, found: list[str]
) -> None:
    """CA-4: a folder that is not ours, and a backend that is not installed; each with a hint."""
    monkeypatch.setenv("PAYLOADS_URL", url)
    settings.STORAGES = {**settings.STORAGES, "payloads": env.payloads_storage(Path("/srv"))}
    errors = checks.payload_storage()
    assert [error.id for error in errors] == found
    assert all(error.hint for error in errors)


@pytest.mark.parametrize(
    "name", ["DATABASE_URL", "KEYS_DATABASE_URL", "LASTRO_MASTER_KEY", "LASTRO_SECRET_KEY", "HOT_STORE_URL"]
)
def test_a_server_that_lacks_something_does_not_start(db: None, name: str) -> None:
    """PL-14: what is missing stops the start with one sentence that names the variable."""
    run = manage("check", **{name: ""})
    assert run.returncode != 0
    assert (
        f"ImproperlyConfigured: {name}" in run.stderr.splitlines()[-1] or name in run.stderr.splitlines()[-1]
    )


WEB: dict[str, Any] = {
    "SECURE_SSL_REDIRECT": True,
    "SECURE_HSTS_SECONDS": 31_536_000,
    "SECURE_HSTS_INCLUDE_SUBDOMAINS": True,
    "SESSION_COOKIE_SECURE": True,
    "SESSION_COOKIE_HTTPONLY": True,
    "SESSION_COOKIE_SAMESITE": "Lax",
    "CSRF_COOKIE_SECURE": True,
    "CSRF_COOKIE_HTTPONLY": True,
    "SECURE_CONTENT_TYPE_NOSNIFF": True,
    "X_FRAME_OPTIONS": "DENY",
    "DEBUG": False,
}


def test_production_is_https_only(db: None) -> None:
    """PL-19: HSTS, secure cookies and the redirect are on where nobody says otherwise."""
    names = ",".join(WEB)
    run = manage(
        "shell",
        "--verbosity=0",
        "-c",
        f"from django.conf import settings; print([getattr(settings, n) for n in '{names}'.split(',')])",
    )
    assert run.stdout.strip().splitlines()[-1] == str(list(WEB.values())), run.stderr


def test_answers_carry_the_headers_of_the_web(db: None, settings: Settings) -> None:
    """PL-19: pages have a strict policy, no frames, no sniffing and a life in no cache."""
    settings.SECURE_HSTS_SECONDS = 31_536_000
    headers = Client().get("/console/sign-in/", secure=True).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] in {"same-origin", "no-referrer"}
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "no-store" in headers["Cache-Control"]


@pytest.mark.parametrize("path", ["/v1/sources/me", "/v1/nowhere", "/healthz", "/static/console/app.css"])
def test_every_answer_keeps_to_https_and_its_kind(db: None, settings: Settings, path: str) -> None:
    """PL-19: the API, the probes and static files carry HSTS and no sniffing, too, and the API its length."""
    settings.SECURE_HSTS_SECONDS = 31_536_000
    settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = settings.SECURE_HSTS_PRELOAD = True
    answer = Client().get(path, secure=True)
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains; preload"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Strict-Transport-Security" not in Client().get(path).headers
    if not path.startswith("/static/"):
        assert int(answer.headers["Content-Length"]) == len(answer.content)


def test_the_api_is_reached_by_https_only(db: None, settings: Settings) -> None:
    """PL-19: a call by plain HTTP to a server of HTTPS is sent there, before anything reads its key."""
    settings.SECURE_SSL_REDIRECT = True
    answer = Client().get("/v1/sources/me", headers={"Host": "localhost", "Authorization": "Bearer x"})
    assert (answer.status_code, answer.headers["Location"]) == (301, "https://localhost/v1/sources/me")
    assert Client().get("/v1/sources/me", secure=True).status_code == 401


def test_a_page_is_answered_under_its_names_only(db: None, settings: Settings) -> None:
    """PL-19: a request that names another host gets no page."""
    settings.ALLOWED_HOSTS = ["lastro.example.com"]
    assert Client().get("/console/sign-in/", headers={"Host": "lastro.example.com"}).status_code == 200
    assert Client().get("/console/sign-in/", headers={"Host": "evil.example.org"}).status_code == 400


# Migrations


def test_the_models_are_what_the_migrations_make(db: None) -> None:
    """PL-17: no change of a model is without its migration."""
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.fixture
def empty(committed: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[BaseDatabaseWrapper]:
    """A database of its own with nothing in it, that is migrated by its owner as the content's is."""
    name, allow = f"empty_{uuid4().hex}", KeysApart.allow_migrate

    def allow_as_default(router: KeysApart, db: str, *about: Any, **hints: Any) -> bool:
        return allow(router, "default" if db == "empty" else db, *about, **hints)

    monkeypatch.setattr(KeysApart, "allow_migrate", allow_as_default)
    owned = settings.LASTRO_DATABASE_OWNERS["default"] or {}
    with logged_in("default", owner=True) as owner:
        owner.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        role = {part: owned[part] for part in ("USER", "PASSWORD")}
        connections.databases["empty"] = {**connection.settings_dict, **role, "NAME": name}
        try:
            yield connections["empty"]
        finally:
            connections["empty"].close()
            del connections["empty"], connections.databases["empty"]
            owner.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))


OBJECTS = r"""
SELECT 'column', table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable
  FROM information_schema.columns WHERE table_schema = 'public'
UNION SELECT 'index', indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION SELECT 'constraint', conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
       WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
UNION SELECT 'trigger', tgrelid::regclass || ' ' || tgname FROM pg_trigger WHERE NOT tgisinternal
UNION SELECT 'function', proname || ' ' || md5(regexp_replace(prosrc, '\s+', ' ', 'g')) FROM pg_proc
       WHERE pronamespace = 'public'::regnamespace
"""


def objects(database: BaseDatabaseWrapper) -> set[tuple[str, str]]:
    """List everything that stands in a database."""
    with database.cursor() as cursor:
        cursor.execute(OBJECTS)
        return {(kind, name) for kind, name in cursor.fetchall()}


def migrate(database: BaseDatabaseWrapper, *targets: tuple[str, str | None]) -> None:
    executor = MigrationExecutor(database)
    executor.migrate(list(targets) or executor.loader.graph.leaf_nodes())


def ours(found: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Keep what belongs to our apps, not what points at them."""
    parts = (*(f"{app}_" for app in APPS), "lastro")
    own = {(kind, name) for kind, name in found if not name.startswith("guardian_")}
    return {(kind, name) for kind, name in own if any(part in name for part in parts)}


WITHOUT_TABLES = {("workspaces", "0010_key_generations"), ("privacy", "0004_closing")}
"""What changes the other database alone (tests/workspaces/test_migrations.py takes it back there), or only words."""


@pytest.mark.long
def test_migrations_go_from_empty_to_full_and_back(empty: BaseDatabaseWrapper) -> None:
    """PL-17: each migration of ours is taken back, made again to the same tables, and taken back down to nothing."""
    migrate(empty)
    full = objects(empty)
    assert full == objects(connection)
    assert {kind for kind, _ in ours(full)} == {"column", "index", "constraint", "trigger", "function"}
    executor = MigrationExecutor(empty)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes(), clean_start=True)
    steps = [(step.app_label, step.name) for step, _ in plan if step.app_label in APPS]
    assert len(steps) >= 3
    for app, name in reversed(steps):
        before = objects(empty)
        parents = executor.loader.graph.node_map[app, name].parents
        earlier = [parent.key for parent in parents if parent.key[0] == app] or [(app, None)]
        migrate(empty, *earlier)
        assert objects(empty) != before or (app, name) in WITHOUT_TABLES
        migrate(empty, (app, name))
        assert ours(objects(empty)) == ours(before)
        migrate(empty, *earlier)
    assert not ours(objects(empty))
    migrate(empty)
    assert objects(empty) == full
