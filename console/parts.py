"""The parts that the server stands on: whether they are there, how they are run, and in which versions (PL-11)."""

import platform
from collections.abc import Mapping
from typing import Any

import celery
import django
import valkey
from django.conf import settings
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from kombu.connection import Connection

QUEUE = "celery"


def checks() -> dict[str, bool]:
    """Tell of every part that a request needs whether it is there."""
    return {
        "database": _database("default"),
        "keys_database": _database("keys"),
        "migrations": _migrations(),
        "hot_store": _hot_store(),
        "broker": _broker(),
    }


def versions() -> dict[str, str]:
    """Name the versions of what runs; a store that does not answer has none."""
    return {
        "Python": platform.python_version(),
        "Django": django.get_version(),
        "Celery": celery.__version__,
        "PostgreSQL": _database_version(),
        "Valkey": _hot_store_version(),
    }


def waiting_tasks() -> int | None:
    """Count the tasks that wait for a worker; None where the broker does not say."""
    try:
        with Connection(settings.CELERY_BROKER_URL, connect_timeout=1) as broker:
            broker.ensure_connection(max_retries=1, timeout=1)
            channel = broker.default_channel
            if hasattr(channel, "_size"):
                return int(channel._size(QUEUE))  # noqa: SLF001  (kombu has no other word for it)
            return int(channel.queue_declare(QUEUE, passive=True).message_count)
    except Exception:
        return None


def _database(alias: str) -> bool:
    try:
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _migrations() -> bool:
    try:
        return not any(_missing_migrations(alias) for alias in connections)
    except DatabaseError:
        return False


def _missing_migrations(alias: str) -> bool:
    executor = MigrationExecutor(connections[alias])
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _hot_store() -> bool:
    try:
        with _hot_store_client() as client:
            return bool(client.ping())
    except valkey.ValkeyError:
        return False


def _hot_store_client() -> Any:
    url, wait = settings.HOT_STORE_URL, 1
    return valkey.Valkey.from_url(url, socket_timeout=wait, socket_connect_timeout=wait)


def warnings() -> list[str]:
    """Name what a deployment has chosen that takes something from its promises, though it works (WM-20)."""
    chosen = [] if settings.HOT_STORE_REQUIRED else ["hot_store_not_required"]
    return chosen + _hot_store_warnings(_hot_store_settings())


def _hot_store_settings() -> dict[str, str]:
    """Ask how the hot store is run; one that does not say (as in a cloud) or is away gives nothing."""
    try:
        with _hot_store_client() as client:
            found: dict[str, str] = {}
            for name in ("save", "appendonly", "maxmemory-policy", "cluster-enabled"):
                found |= client.config_get(name)
            return found
    except valkey.ValkeyError:
        return {}


def _hot_store_warnings(chosen: Mapping[str, str]) -> list[str]:
    found = []
    if chosen.get("save") or chosen.get("appendonly", "no") != "no":
        found.append("hot_store_persists")
    if chosen.get("maxmemory-policy", "").startswith("allkeys-"):
        found.append("hot_store_evicts_markers")
    if chosen.get("cluster-enabled") == "yes":
        found.append("hot_store_is_a_cluster")
    return found


def _broker() -> bool:
    try:
        with Connection(settings.CELERY_BROKER_URL, connect_timeout=1) as broker:
            broker.ensure_connection(max_retries=1, timeout=1)
    except Exception:
        return False
    return True


def _database_version() -> str:
    try:
        with connections["default"].cursor() as cursor:
            cursor.execute("SHOW server_version")
            return str(cursor.fetchone()[0]).partition(" ")[0]
    except DatabaseError:
        return ""


def _hot_store_version() -> str:
    try:
        with _hot_store_client() as client:
            told = client.info("server")
    except valkey.ValkeyError:
        return ""
    return str(told.get("valkey_version") or told.get("redis_version", ""))
