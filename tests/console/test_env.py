"""The environment is read in one place, which refuses bad values by the name of the variable."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from console import env

KEY = base64.b64encode(bytes(range(32))).decode()


def _storage() -> dict[str, Any]:
    return env.payloads_storage(Path("/srv/lastro"))


# (variable, what reads it, values that are accepted with what they give, values that are refused)
TABLE: list[tuple[str, Callable[[], Any], dict[str, Any], list[str]]] = [
    (
        "LASTRO_MASTER_KEY",
        env.master_key,
        {KEY: bytes(range(32)), f" {KEY}\n": bytes(range(32))},
        [
            "secret",
            "ключ" * 8,
            base64.b64encode(bytes(31)).decode(),
            base64.b64encode(bytes(33)).decode(),
            KEY[:-1],
            "$" * 44,
        ],
    ),
    (
        "LASTRO_SECRET_KEY",
        env.secret_key,
        {"s" * 32: "s" * 32, "$" + "s" * 31: "$" + "s" * 31},
        ["s" * 31, " " * 40],
    ),
    (
        "DATABASE_URL",
        lambda: env.database()["NAME"],
        {"postgres://u:p@db:5432/lastro": "lastro", "postgresql://db/other": "other"},
        [
            "lastro",
            "sqlite:///db.sqlite3",
            "mysql://db/lastro",
            "postgres://db",
            "postgres://db/",
            "postgres://db:port/lastro",
            "http://db/lastro",
            "$DATABASE",
        ],
    ),
    (
        "KEYS_DATABASE_URL",
        lambda: env.keys_database()["NAME"],
        {"postgres://u:p@db:5432/keys": "keys"},
        ["keys", "mysql://db/keys", "postgres://db", "postgres://db:port/keys"],
    ),
    (
        "DATABASE_OWNER_URL",
        lambda: (env.database_owners()["default"] or {}).get("USER"),
        {"postgres://owner:p@db/lastro": "owner"},
        ["owner", "mysql://db/lastro", "postgres://db"],
    ),
    (
        "KEYS_DATABASE_OWNER_URL",
        lambda: (env.database_owners()["keys"] or {}).get("USER"),
        {"postgres://owner:p@db/keys": "owner"},
        ["owner", "mysql://db/keys", "postgres://db"],
    ),
    (
        "HOT_STORE_URL",
        env.hot_store_url,
        {
            url: url
            for url in (
                "redis://hot:6379/0",
                "rediss://hot/0",
                "valkey://hot",
                "unix:///run/valkey.sock?db=0",
            )
        },
        ["hot", "http://hot", "redis:", "redis://", "redis://hot:port/0", "memory://", "postgres://hot"],
    ),
    (
        "BROKER_URL",
        env.broker_url,
        {url: url for url in ("redis://b:6379/1", "amqp://b//", "redis+socket:///run/valkey.sock")},
        ["b", "memory://", "http://b", "redis://", "redis://b:port/0", "filesystem://"],
    ),
    (
        "LASTRO_BASE_URL",
        env.base_url,
        {
            "https://lastro.example.com/": "https://lastro.example.com",
            "http://127.0.0.1:8000": "http://127.0.0.1:8000",
        },
        [
            "other.example.org",
            "ftp://other.example.org",
            "https://",
            "https:///console",
            "https://other.example.org?x",
            "https://other.example.org#x",
            "https://other.example.org:port",
            "javascript:alert(1)",
        ],
    ),
    (
        "LASTRO_ALLOWED_HOSTS",
        env.allowed_hosts,
        {"a.example.com, b.example.com": ["a.example.com", "b.example.com"]},
        [",", "https://a.example.com", "a.example.com/x", "a.example.com b.example.com"],
    ),
    (
        "LASTRO_HTTPS",
        env.https,
        {"true": True, "TRUE": True, "1": True, "on": True, "false": False, "0": False, "no": False},
        ["ture", "2", "y", "enabled", "https"],
    ),
    (
        "LASTRO_ADMIN",
        env.admin,
        {"true": True, "on": True, "false": False, "no": False},
        ["ture", "2", "admin"],
    ),
    (
        "LASTRO_ENVIRONMENT",
        env.environment,
        {"staging": "staging", "eu-production": "eu-production"},
        ["x" * 33, "prod\nuction"],
    ),
    (
        "TRUSTED_PROXIES",
        env.trusted_proxies,
        {"10.0.0.0/8, fd00::/8": ("10.0.0.0/8", "fd00::/8"), "10.1.2.3": ("10.1.2.3",)},
        ["10.0.0.0/33", "10.0.0.1/8", "proxy.example.com", "*", "10.0.0.0/8;fd00::/8"],
    ),
    (
        "LASTRO_METRICS_TOKEN",
        env.metrics_token,
        {"t" * 16: "t" * 16, "$" + "t" * 16: "$" + "t" * 16},
        ["t" * 15, "é" * 16, "t" * 16 + "\x07t"],
    ),
    (
        "CHECKPOINTS_URL",
        env.checkpoints_url,
        {"file:///var/lib/lastro/checkpoints": "file:///var/lib/lastro/checkpoints"},
        [
            "/var/lib/lastro",
            "file://",
            "file:///",
            "file://host/folder",
            "ftp://example.com/x",
            "http://example.com/x",
            "https://",
            "https://example.com/without-a-secret",
            "https://example.com:port/x",
        ],
    ),
    (
        "PAYLOADS_URL",
        lambda: next(iter(_storage()["OPTIONS"].values())),
        {
            "file:///var/lib/lastro/pay%20loads": "/var/lib/lastro/pay loads",
            "s3://bucket/some/prefix?endpoint_url=https://s3.example.com&region_name=sa-east-1": "bucket",
            "s3://bucket": "bucket",
        },
        [
            "/var/lib/lastro",
            "file:///",
            "file://host/folder",
            "file:///folder?a=b",
            "s3:///prefix",
            "s3://key:secret@bucket/prefix",
            "s3://bucket?secret_key=x",
            "s3://bucket?endpoint_url=",
            "https://s3.example.com/bucket",
        ],
    ),
    (
        "CHECKPOINTS_SECRET",
        env.checkpoints_secret,
        {"s" * 32: "s" * 32},
        ["s" * 31],
    ),
    (
        "SECOND_FACTOR_REQUIRED",
        env.second_factor_required,
        {"true": True, "false": False},
        ["maybe"],
    ),
    (
        "IDLE_MINUTES",
        env.idle_minutes,
        {"5": 5, "720": 720},
        ["4", "721", "-30", "half an hour"],
    ),
    (
        "OPENID_ISSUER",
        env.openid,
        {},
        [
            "other.example.org",
            "http://other.example.org",
            "https://",
            "https://other.example.org?x",
            "https://other.example.org#x",
            "https://me@other.example.org",
            "https://other.example.org:port",
            "https://other.example.org/without-a-client",
        ],
    ),
    (
        "LASTRO_LOG_LEVEL",
        env.log_level,
        {"debug": "DEBUG", "WARNING": "WARNING"},
        ["verbose", "TRACE", "10"],
    ),
    (
        "EMAIL_URL",
        lambda: env.email()["EMAIL_BACKEND"].split(".")[-2],
        {"smtp+tls://u:p@mail:587": "smtp", "consolemail://": "console"},
        ["mail", "imap://mail", "smtp://mail:port", "https://mail"],
    ),
    (
        "PROMETHEUS_MULTIPROC_DIR",
        env.metrics_are_shared,
        {"/run/lastro": True},
        [],
    ),
]

DEFAULTS: list[tuple[str, Callable[[], Any], Any]] = [
    ("LASTRO_BASE_URL", env.base_url, "http://127.0.0.1:8000"),
    ("LASTRO_ALLOWED_HOSTS", env.allowed_hosts, ["127.0.0.1", "localhost", "[::1]"]),
    ("LASTRO_ENVIRONMENT", env.environment, "production"),
    ("LASTRO_METRICS_TOKEN", env.metrics_token, ""),
    ("PROMETHEUS_MULTIPROC_DIR", env.metrics_are_shared, False),
    ("LASTRO_LOG_LEVEL", env.log_level, "INFO"),
    ("CHECKPOINTS_URL", env.checkpoints_url, ""),
    ("CHECKPOINTS_SECRET", env.checkpoints_secret, ""),
    ("PAYLOADS_URL", lambda: _storage()["OPTIONS"]["location"], "/srv/lastro"),
    ("TRUSTED_PROXIES", env.trusted_proxies, ()),
    ("IDLE_MINUTES", env.idle_minutes, 30),
    ("OPENID_ISSUER", env.openid, None),
]

LENGTH_OF_AN_EXAMPLE = 9

GOOD = [(name, read, value, gives) for name, read, good, _ in TABLE for value, gives in good.items()]
BAD = [(name, read, value) for name, read, _, bad in TABLE for value in bad]


@pytest.mark.parametrize(
    ("name", "read", "value", "gives"), GOOD, ids=[f"{row[0]}-{n}" for n, row in enumerate(GOOD)]
)
def test_a_good_value_is_read(
    monkeypatch: pytest.MonkeyPatch, name: str, read: Callable[[], Any], value: str, gives: Any
) -> None:
    """PL-14: each variable with values that it takes."""
    monkeypatch.setenv(name, value)
    assert read() == gives


@pytest.mark.parametrize(("name", "read", "value"), BAD, ids=[f"{row[0]}-{n}" for n, row in enumerate(BAD)])
def test_a_bad_value_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, read: Callable[[], Any], value: str
) -> None:
    """PL-14: a bad value stops the start with a sentence that names the variable and never tells the value."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as refused:
        read()
    assert name in str(refused.value)
    assert len(value.strip()) < LENGTH_OF_AN_EXAMPLE or value.strip() not in str(refused.value)


@pytest.mark.parametrize(("name", "read", "gives"), DEFAULTS, ids=[row[0] for row in DEFAULTS])
@pytest.mark.parametrize("value", [None, "", "  "], ids=["unset", "empty", "blank"])
def test_what_is_not_set_has_its_default(
    monkeypatch: pytest.MonkeyPatch, name: str, read: Callable[[], Any], gives: Any, value: str | None
) -> None:
    """PL-14: a variable that is set to nothing counts as not set."""
    monkeypatch.delenv(name, raising=False)
    if value is not None:
        monkeypatch.setenv(name, value)
    assert read() == gives


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("DATABASE_URL", env.database),
        ("KEYS_DATABASE_URL", env.keys_database),
        ("HOT_STORE_URL", env.hot_store_url),
        ("BROKER_URL", env.broker_url),
        ("LASTRO_SECRET_KEY", env.secret_key),
    ],
)
def test_a_store_or_secret_has_no_default(
    monkeypatch: pytest.MonkeyPatch, name: str, read: Callable[[], Any]
) -> None:
    """PL-13: there is no fallback for a store or a secret that nobody named."""
    monkeypatch.delenv(name, raising=False)
    with pytest.raises(ImproperlyConfigured, match=name):
        read()


@pytest.mark.parametrize(
    ("badge", "is_https"), [("demo", False), ("test", False), ("tset", True), ("", True)]
)
def test_https_is_the_rule(monkeypatch: pytest.MonkeyPatch, badge: str, is_https: Any) -> None:
    """PL-19: a server is behind HTTPS unless it is a demo or a test, or somebody says so."""
    monkeypatch.delenv("LASTRO_HTTPS", raising=False)
    monkeypatch.setenv("LASTRO_ENVIRONMENT", badge)
    assert env.https() is is_https


@pytest.mark.parametrize(
    ("badge", "is_required"), [("demo", False), ("test", False), ("tset", True), ("", True)]
)
def test_a_second_factor_is_the_rule(monkeypatch: pytest.MonkeyPatch, badge: str, is_required: Any) -> None:
    """PL-4: roles that need one do so unless it is a demo or a test, or somebody says so."""
    monkeypatch.delenv("SECOND_FACTOR_REQUIRED", raising=False)
    monkeypatch.setenv("LASTRO_ENVIRONMENT", badge)
    assert env.second_factor_required() is is_required


@pytest.mark.parametrize("issuer", ["https://login.example.com/realms/acme", "http://127.0.0.1:9400"])
def test_a_provider_comes_with_a_client(monkeypatch: pytest.MonkeyPatch, issuer: str) -> None:
    """PL-4: id and secret belong to it; its title is its host unless said otherwise."""
    for name, value in {"ISSUER": issuer, "CLIENT_ID": "lastro", "CLIENT_SECRET": "s"}.items():
        monkeypatch.setenv(f"OPENID_{name}", value)
    found = env.openid()
    assert found is not None
    assert (found.issuer, found.client_id, found.client_secret) == (issuer, "lastro", "s")
    assert found.title in {"login.example.com", "127.0.0.1"}
    assert not found.has_second_factor
    for name in ("CLIENT_ID", "CLIENT_SECRET"):
        monkeypatch.delenv(f"OPENID_{name}")
        with pytest.raises(ImproperlyConfigured, match=f"OPENID_{name}"):
            env.openid()
        monkeypatch.setenv(f"OPENID_{name}", "again")


@pytest.mark.parametrize(("badge", "backend"), [("demo", "console"), ("production", "dummy"), ("", "dummy")])
def test_only_a_demo_prints_its_mails(monkeypatch: pytest.MonkeyPatch, badge: str, backend: str) -> None:
    """PL-4, PL-11: a mail holds a link that lets somebody in: a deployment's log is no place for it."""
    monkeypatch.delenv("EMAIL_URL", raising=False)
    monkeypatch.setenv("LASTRO_ENVIRONMENT", badge)
    assert env.email()["EMAIL_BACKEND"] == f"django.core.mail.backends.{backend}.EmailBackend"


def test_keys_are_in_another_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """PR-15: the database of the content is none for the keys; its owner may be missing, then it is None."""
    monkeypatch.setenv("DATABASE_URL", "postgres://lastro@db/lastro")
    monkeypatch.setenv("KEYS_DATABASE_URL", "postgres://lastro_keys@db/lastro")
    with pytest.raises(ImproperlyConfigured, match="KEYS_DATABASE_URL must name another database"):
        env.keys_database()
    monkeypatch.delenv("DATABASE_OWNER_URL", raising=False)
    assert env.database_owners()["default"] is None


@pytest.mark.parametrize("url", ["https://example.com/in", "http://127.0.0.1:9/in"])
def test_a_webhook_has_a_secret(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """PR-22: evidence leaves by HTTPS, or on this machine, and signed by a secret that the other side knows."""
    monkeypatch.setenv("CHECKPOINTS_URL", url)
    monkeypatch.setenv("CHECKPOINTS_SECRET", "s" * 32)
    assert env.checkpoints_url() == url
    monkeypatch.delenv("CHECKPOINTS_SECRET")
    with pytest.raises(ImproperlyConfigured, match="CHECKPOINTS_SECRET"):
        env.checkpoints_url()


def test_a_database_has_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-14: sessions have the limits of the server unless the URL says otherwise."""
    monkeypatch.setenv("DATABASE_URL", "postgres://db/lastro")
    assert env.database()["OPTIONS"]["options"] == env.SESSION_LIMITS
    monkeypatch.setenv("DATABASE_URL", "postgres://db/lastro?options=-c%20lock_timeout%3D1s")
    assert env.database()["OPTIONS"]["options"] == "-c lock_timeout=1s"


@pytest.mark.parametrize(
    "content", [None, "", "short", "ключ", KEY + "="], ids=["absent", "empty", "short", "text", "long"]
)
def test_a_bad_key_file_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    """PL-12: a key file that is missing or holds no key stops the start."""
    file = tmp_path / "master.key"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    monkeypatch.delenv("LASTRO_MASTER_KEY", raising=False)
    monkeypatch.setenv("LASTRO_MASTER_KEY_FILE", str(file))
    with pytest.raises(ImproperlyConfigured, match="LASTRO_MASTER_KEY"):
        env.master_key()


def test_a_key_file_is_read_and_the_variable_goes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """PL-12: the master key comes from the variable, else from the file."""
    file = tmp_path / "master.key"
    file.write_text(f"{KEY}\n")
    monkeypatch.delenv("LASTRO_MASTER_KEY", raising=False)
    monkeypatch.setenv("LASTRO_MASTER_KEY_FILE", str(file))
    assert env.master_key() == bytes(range(32))
    monkeypatch.setenv("LASTRO_MASTER_KEY", base64.b64encode(bytes(32)).decode())
    assert env.master_key() == bytes(32)


def test_neither_key_nor_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-12: a server without a master key does not start."""
    monkeypatch.delenv("LASTRO_MASTER_KEY", raising=False)
    monkeypatch.delenv("LASTRO_MASTER_KEY_FILE", raising=False)
    with pytest.raises(ImproperlyConfigured, match="LASTRO_MASTER_KEY"):
        env.master_key()
