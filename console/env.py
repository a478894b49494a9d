"""The one place that reads the environment. A bad value stops the start with a sentence that names the variable.

No sentence carries the value: it may be a secret. A variable that is set to nothing counts as not set.
"""

import base64
import logging
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

# A writer that waits longer for a lock than this is answered 503; a session that hangs in a transaction is ended.
SESSION_LIMITS = "-c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"

_DATABASES = ("postgres", "postgresql")
_HOT_STORES = ("redis", "rediss", "unix", "valkey", "valkeys")
_BROKERS = ("redis", "rediss", "redis+socket", "sentinel", "amqp", "amqps")
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_MAX_BADGE_LENGTH = 32
_MIN_IDLE_MINUTES, _MAX_IDLE_MINUTES = 5, 720
_MIN_SECRET_LENGTH, _MIN_TOKEN_LENGTH = 32, 16
_PLAIN_HTTP = ("demo", "test")
_OF_A_BUCKET = {"endpoint_url", "region_name", "addressing_style", "signature_version"}
_PART_BYTES = 4 * 1024 * 1024
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def database() -> dict[str, Any]:
    """Give the content database, as the application's role: PostgreSQL, the only engine."""
    return _database("DATABASE_URL", "postgres://lastro@localhost/lastro")


def keys_database() -> dict[str, Any]:
    """Give the database of the wrapped keys, which is another one (PR-15)."""
    settings = _database("KEYS_DATABASE_URL", "postgres://lastro_keys@localhost/lastro_keys")
    if all(settings[part] == database()[part] for part in ("HOST", "PORT", "NAME", "OPTIONS")):
        raise ImproperlyConfigured("KEYS_DATABASE_URL must name another database than DATABASE_URL (PR-15).")
    return settings


def database_owners() -> dict[str, dict[str, Any] | None]:
    """Give as whom each database is migrated; None is the application's own role (PL-1)."""
    urls = {"default": "DATABASE_OWNER_URL", "keys": "KEYS_DATABASE_OWNER_URL"}
    example = "postgres://lastro_owner@localhost/lastro"
    return {alias: _database(name, example) if _text(name) else None for alias, name in urls.items()}


def _database(name: str, example: str) -> dict[str, Any]:
    settings: dict[str, Any] = _parsed(name, _store(name, example, _DATABASES), environ.Env.db_url_config)
    if not settings["NAME"]:
        raise ImproperlyConfigured(f"{name} names no database (postgres://.../name).")
    settings["OPTIONS"] = {"options": SESSION_LIMITS, "prepare_threshold": 5, **settings.get("OPTIONS", {})}
    return settings


def master_key() -> bytes:
    """Give the deployment's master key: 32 bytes, from the variable or from a file (PL-12)."""
    return _key("LASTRO_MASTER_KEY", _text("LASTRO_MASTER_KEY") or _master_key_file())


def previous_master_keys() -> tuple[bytes, ...]:
    """Give the master keys before it, with which this process still unwraps and never wraps (PL-12)."""
    name = "LASTRO_MASTER_KEY_PREVIOUS"
    return tuple(_key(name, value) for value in _list(name))


def _key(name: str, value: str) -> bytes:
    try:
        key = base64.b64decode(value, validate=True)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not base64.") from error
    if len(key) != 32:
        raise ImproperlyConfigured(f"{name} must be 32 bytes (`openssl rand -base64 32`).")
    return key


def _master_key_file() -> str:
    path = _text("LASTRO_MASTER_KEY_FILE")
    if not path:
        raise ImproperlyConfigured("Set LASTRO_MASTER_KEY or LASTRO_MASTER_KEY_FILE (PL-12).")
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured("LASTRO_MASTER_KEY_FILE cannot be read.") from error


def secret_key() -> str:
    """Give Django's secret for sessions and links."""
    value = _text("LASTRO_SECRET_KEY")
    if len(value) < _MIN_SECRET_LENGTH:
        raise ImproperlyConfigured("LASTRO_SECRET_KEY must be set, with at least 32 characters.")
    return value


def environment() -> str:
    """Give the name of the deployment that the console's badge shows."""
    value = _text("LASTRO_ENVIRONMENT", "production")
    if len(value) > _MAX_BADGE_LENGTH or not value.isprintable():
        raise ImproperlyConfigured("LASTRO_ENVIRONMENT must have at most 32 printable characters.")
    return value


def base_url() -> str:
    """Give the address under which people and agents reach the server."""
    value = _text("LASTRO_BASE_URL", "http://127.0.0.1:8000").rstrip("/")
    parts = _parsed("LASTRO_BASE_URL", value, _split)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ImproperlyConfigured("LASTRO_BASE_URL must look like https://lastro.example.com.")
    return value


def allowed_hosts() -> list[str]:
    """Give the host names that are answered."""
    hosts = _list("LASTRO_ALLOWED_HOSTS") if _text("LASTRO_ALLOWED_HOSTS") else _own_hosts()
    if not hosts or any("/" in host or " " in host for host in hosts):
        raise ImproperlyConfigured("LASTRO_ALLOWED_HOSTS must list host names such as lastro.example.com.")
    return hosts


def _own_hosts() -> list[str]:
    own, loopback = str(_split(base_url()).hostname), ["127.0.0.1", "localhost", "[::1]"]
    return loopback if own in loopback else [own, *loopback]


def https() -> bool:
    """Tell whether people reach the server by HTTPS, which is so unless said otherwise."""
    return _switch("LASTRO_HTTPS", default=environment() not in _PLAIN_HTTP)


def admin() -> bool:
    """Tell whether Django's admin is served beside the console's pages: it only reads (PL-20)."""
    return _switch("LASTRO_ADMIN", default=False)


def email() -> dict[str, Any]:
    """Give the mail settings; without EMAIL_URL a test prints its mails, and a deployment sends none.

    A mail holds a link that lets somebody in: it has no place in a log.
    """
    default = "consolemail://" if environment() in _PLAIN_HTTP else "dummymail://"
    settings: dict[str, Any] = _parsed("EMAIL_URL", _text("EMAIL_URL", default), environ.Env.email_url_config)
    return settings


def second_factor_required() -> bool:
    """Tell whether `security` and `privacy` need a second factor, which is so unless said otherwise (PL-4)."""
    return _switch("SECOND_FACTOR_REQUIRED", default=environment() not in _PLAIN_HTTP)


def idle_minutes() -> int:
    """Give after how long without a request a person is signed out (PL-4)."""
    minutes = _count("IDLE_MINUTES", 30)
    if not _MIN_IDLE_MINUTES <= minutes <= _MAX_IDLE_MINUTES:
        raise ImproperlyConfigured("IDLE_MINUTES must be from 5 to 720.")
    return minutes


class OpenId(NamedTuple):
    """The provider of OpenID Connect by which people may sign in, and what we are to it (PL-4)."""

    issuer: str
    client_id: str
    client_secret: str
    title: str
    has_second_factor: bool


def openid() -> OpenId | None:
    """Give the provider of OpenID Connect; without `OPENID_ISSUER` there is none."""
    issuer = _text("OPENID_ISSUER")
    if not issuer:
        return None
    parts = _parsed("OPENID_ISSUER", issuer, _split)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not is_safe or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ImproperlyConfigured(
            "OPENID_ISSUER must look like https://login.example.com (plain http: loopback alone)."
        )
    if not _text("OPENID_CLIENT_ID") or not _text("OPENID_CLIENT_SECRET"):
        raise ImproperlyConfigured(
            "OPENID_ISSUER takes an OPENID_CLIENT_ID and an OPENID_CLIENT_SECRET, too."
        )
    return OpenId(
        issuer=issuer,
        client_id=_text("OPENID_CLIENT_ID"),
        client_secret=_text("OPENID_CLIENT_SECRET"),
        title=_text("OPENID_TITLE", str(parts.hostname)),
        has_second_factor=_switch("OPENID_HAS_SECOND_FACTOR", default=False),
    )


def trusted_proxies() -> tuple[str, ...]:
    """Give the networks whose forwarded address counts; none by default (WM-19)."""
    networks = tuple(_list("TRUSTED_PROXIES"))
    for network in networks:
        try:
            ip_network(network)
        except ValueError as error:
            raise ImproperlyConfigured("TRUSTED_PROXIES must list networks such as 10.0.0.0/8.") from error
    return networks


def hot_store_url() -> str:
    """Give the hot store (Valkey or Redis protocol)."""
    return _store("HOT_STORE_URL", "redis://localhost:6379/0", _HOT_STORES)


def hot_store_required() -> bool:
    """Tell whether a write is refused while the hot store cannot be marked (WM-20)."""
    return _switch("HOT_STORE_REQUIRED", default=True)


def hot_store_generation() -> int:
    """Give the number that is part of every name in the hot store: another one makes all that it keeps void."""
    return _count("HOT_STORE_GENERATION", 1)


def rate_limits() -> dict[str, tuple[int, int]]:
    """Give how many requests a second a key and an address may make, and how many at once (PL-5)."""
    return {
        "key": (_count("RATE_PER_KEY", 500), _count("BURST_PER_KEY", 1_000)),
        "address": (_count("RATE_PER_ADDRESS", 1_000), _count("BURST_PER_ADDRESS", 2_000)),
    }


def read_within_seconds() -> float:
    """Give how long a read may wait for a database before it is refused (WM-19)."""
    return _count("READ_WITHIN_MILLISECONDS", 250) / 1000


def broker_url() -> str:
    """Give the broker of the Celery workers."""
    return _store("BROKER_URL", "redis://localhost:6379/1", _BROKERS)


def checkpoints_url() -> str:
    """Give where signed checkpoints and erasure records leave to: `file:///folder` or a webhook; none by default."""
    value = _text("CHECKPOINTS_URL")
    parts = _parsed("CHECKPOINTS_URL", value, _split)
    is_folder = parts.scheme == "file" and not parts.netloc and len(parts.path) > 1
    is_webhook = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if value and not is_folder and not (is_webhook and parts.hostname):
        raise ImproperlyConfigured(
            "CHECKPOINTS_URL must look like file:///folder or https://host/path (plain http: loopback alone)."
        )
    if value and is_webhook and not checkpoints_secret():
        raise ImproperlyConfigured("A webhook in CHECKPOINTS_URL takes a CHECKPOINTS_SECRET, too.")
    return value


def checkpoints_secret() -> str:
    """Give the secret by which a webhook knows that a document is ours (HMAC-SHA-256)."""
    value = _text("CHECKPOINTS_SECRET")
    if value and len(value) < _MIN_SECRET_LENGTH:
        raise ImproperlyConfigured("CHECKPOINTS_SECRET must have at least 32 characters.")
    return value


def payloads_storage(default: Path) -> dict[str, Any]:
    """Give the storage of large payloads: `file:///folder` or `s3://bucket/prefix?endpoint_url=...` (CA-4)."""
    value = _text("PAYLOADS_URL", default.as_uri())
    parts = _parsed("PAYLOADS_URL", value, _split)
    if parts.scheme == "file" and not parts.netloc and len(parts.path) > 1 and not parts.query:
        return _folder_of_payloads(unquote(parts.path))
    if parts.scheme == "s3" and parts.hostname and not parts.username:
        return _bucket_of_payloads(parts)
    raise ImproperlyConfigured(
        "PAYLOADS_URL must look like file:///folder or s3://bucket/prefix?endpoint_url=https://host."
    )


def _folder_of_payloads(folder: str) -> dict[str, Any]:
    modes = {"file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
    return {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": folder, **modes},
    }


def _bucket_of_payloads(parts: Any) -> dict[str, Any]:
    """Give a bucket of any store that speaks S3; who we are there is told by its client's own variables."""
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    if given.keys() - _OF_A_BUCKET or not all(given.values()):
        known = ", ".join(sorted(_OF_A_BUCKET))
        raise ImproperlyConfigured(f"An s3:// in PAYLOADS_URL takes no more after its `?` than: {known}.")
    place = {"bucket_name": parts.netloc, "location": unquote(parts.path.strip("/"))}
    # Else a blob that is read is held in memory as a whole, and one that is written may replace another.
    bounds = {"max_memory_size": _PART_BYTES, "file_overwrite": False, "default_acl": None}
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": {**place, **bounds, **given}}


def metrics_token() -> str:
    """Give the bearer token of /metrics; without one the route does not exist."""
    value = _text("LASTRO_METRICS_TOKEN")
    if value and (len(value) < _MIN_TOKEN_LENGTH or not value.isascii() or not value.isprintable()):
        raise ImproperlyConfigured("LASTRO_METRICS_TOKEN must have at least 16 printable ASCII characters.")
    return value


def metrics_are_shared() -> bool:
    """Tell whether the web processes count in one folder, so that one of them answers for all."""
    return bool(_text("PROMETHEUS_MULTIPROC_DIR"))


def log_level() -> str:
    """Give the level of the server's own log lines."""
    value = _text("LASTRO_LOG_LEVEL", "INFO").upper()
    if value not in logging.getLevelNamesMapping():
        raise ImproperlyConfigured("LASTRO_LOG_LEVEL must be DEBUG, INFO, WARNING, ERROR or CRITICAL.")
    return value


def _text(name: str, default: str = "") -> str:
    # Not Env.str: it takes a value that begins with `$` for the name of another variable.
    return str(environ.Env.ENVIRON.get(name, "")).strip() or default


def _switch(name: str, *, default: bool) -> bool:
    value = _text(name).lower()
    if value and value not in _YES + _NO:
        raise ImproperlyConfigured(f"{name} must be true or false.")
    return value in _YES if value else default


def _count(name: str, default: int) -> int:
    value = _text(name, str(default))
    if not value.isascii() or not value.isdigit() or not 0 < int(value) < 10**9:
        raise ImproperlyConfigured(f"{name} must be a whole number above 0.")
    return int(value)


def _list(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in _text(name, default).split(",") if part.strip()]


def _required(name: str, example: str) -> str:
    value = _text(name)
    if not value:
        raise ImproperlyConfigured(f"{name} is not set (for example {example}). `make demo` brings its own.")
    return value


def _store(name: str, example: str, schemes: tuple[str, ...]) -> str:
    value = _required(name, example)
    scheme, separator, place = value.partition("://")
    _parsed(name, value, _split)
    if scheme not in schemes or not separator or not place:
        raise ImproperlyConfigured(f"{name} must look like {example}, with one of: {', '.join(schemes)}.")
    return value


def _split(value: str) -> Any:
    parts = urlsplit(value)
    _ = parts.port  # raises for a port that is none
    return parts


def _parsed(name: str, value: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(value)
    except (ValueError, ImproperlyConfigured) as error:
        raise ImproperlyConfigured(f"{name} is not a URL that can be used.") from error
