"""The one place that reads the environment. A bad value stops the start with a sentence that names the variable."""

import base64
import binascii
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

# A writer that waits longer for a lock than this is answered 503; a session that hangs in a transaction is ended.
SESSION_LIMITS = "-c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"

_env = environ.Env()


def required_url(name: str, example: str) -> str:
    """Give a URL that has no default: a server without its stores is not a server."""
    value = _env.str(name, default="")
    if not value:
        raise ImproperlyConfigured(f"{name} is not set (for example {example}). `make demo` brings its own.")
    return str(value)


def database() -> dict[str, Any]:
    """Give the content database: PostgreSQL, the only engine."""
    required_url("DATABASE_URL", "postgres://lastro@localhost/lastro")
    settings: dict[str, Any] = dict(_env.db_url("DATABASE_URL"))
    if settings["ENGINE"] != "django.db.backends.postgresql":
        raise ImproperlyConfigured("DATABASE_URL must name a PostgreSQL database (postgres://...).")
    settings["OPTIONS"] = {"options": SESSION_LIMITS, **settings.get("OPTIONS", {})}
    return settings


def master_key() -> bytes:
    """Give the deployment's master key: 32 bytes, from the variable or from a file (PL-12)."""
    text = _env.str("LASTRO_MASTER_KEY", default="") or _master_key_file()
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ImproperlyConfigured("The master key is not base64.") from error
    if len(key) != 32:
        raise ImproperlyConfigured("The master key must be 32 bytes (`openssl rand -base64 32`).")
    return key


def _master_key_file() -> str:
    path = _env.str("LASTRO_MASTER_KEY_FILE", default="")
    if not path:
        raise ImproperlyConfigured("Set LASTRO_MASTER_KEY or LASTRO_MASTER_KEY_FILE (PL-12).")
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError as error:
        raise ImproperlyConfigured("LASTRO_MASTER_KEY_FILE cannot be read.") from error


def secret_key() -> str:
    """Give Django's secret for sessions and links."""
    value = str(_env.str("LASTRO_SECRET_KEY", default=""))
    if len(value) < 32:
        raise ImproperlyConfigured("LASTRO_SECRET_KEY must be set, with at least 32 characters.")
    return value


def environment() -> str:
    """Give the name of the deployment that the console's badge shows."""
    return str(_env.str("LASTRO_ENVIRONMENT", default="production"))


def base_url() -> str:
    """Give the address under which people and agents reach the server."""
    return str(_env.str("LASTRO_BASE_URL", default="http://127.0.0.1:8000")).rstrip("/")


def allowed_hosts() -> list[str]:
    """Give the host names that are answered."""
    return list(_env.list("LASTRO_ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"]))


def https() -> bool:
    """Tell whether people reach the server by HTTPS, which is so unless said otherwise."""
    return bool(_env.bool("LASTRO_HTTPS", default=environment() not in {"demo", "test"}))


def email() -> dict[str, Any]:
    """Give the mail settings; without EMAIL_URL mails go to the console's log."""
    return dict(_env.email_url("EMAIL_URL", default="consolemail://"))


def trusted_proxies() -> tuple[str, ...]:
    """Give the networks whose forwarded address counts; none by default (WM-19)."""
    networks = tuple(str(network) for network in _env.list("TRUSTED_PROXIES", default=[]))
    for network in networks:
        try:
            ip_network(network)
        except ValueError as error:
            raise ImproperlyConfigured("TRUSTED_PROXIES must list networks such as 10.0.0.0/8.") from error
    return networks


def hot_store_url() -> str:
    """Give the hot store (Valkey or Redis protocol)."""
    return required_url("HOT_STORE_URL", "redis://localhost:6379/0")


def broker_url() -> str:
    """Give the broker of the Celery workers."""
    return required_url("BROKER_URL", "redis://localhost:6379/1")


def metrics_token() -> str:
    """Give the bearer token of /metrics; without one the route does not exist."""
    return str(_env.str("LASTRO_METRICS_TOKEN", default=""))


def log_level() -> str:
    """Give the level of the server's own log lines."""
    return str(_env.str("LASTRO_LOG_LEVEL", default="INFO")).upper()
