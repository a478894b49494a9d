"""Whether the process lives, whether it is ready, and what it has counted (PL-11)."""

import time
from collections.abc import Mapping
from typing import Any

import valkey
from django.conf import settings
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from kombu.connection import Connection

from console import metrics
from workspaces import outside
from workspaces.services import checkpoints


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001  (a view takes it)
    """Say that the process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001  (a view takes it)
    """Say whether every part that a request needs is there; 503 names the missing ones."""
    checks = {
        "database": _database("default"),
        "keys_database": _database("keys"),
        "migrations": _migrations(),
        "hot_store": _hot_store(),
        "broker": _broker(),
    }
    body: dict[str, Any] = {name: "ok" if passed else "missing" for name, passed in checks.items()}
    warnings = _warnings()
    status = "ready" if all(checks.values()) else "not_ready"
    if status == "ready":
        restored, late = _history()
        status, warnings = "restore_detected" if restored else status, warnings + late
    if warnings:
        body["warnings"] = warnings
    return JsonResponse({"status": status, **body}, status=200 if status == "ready" else 503)


@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    """Give the metrics to who has their token."""
    token = settings.LASTRO_METRICS_TOKEN
    sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not token or not constant_time_compare(sent, token):
        raise Http404
    text = metrics.exposition(many_processes=settings.LASTRO_METRICS_ARE_SHARED)
    return HttpResponse(text, content_type="text/plain; version=0.0.4; charset=utf-8")


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


def _warnings() -> list[str]:
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
    warnings = []
    if chosen.get("save") or chosen.get("appendonly", "no") != "no":
        warnings.append("hot_store_persists")
    if chosen.get("maxmemory-policy", "").startswith("allkeys-"):
        warnings.append("hot_store_evicts_markers")
    if chosen.get("cluster-enabled") == "yes":
        warnings.append("hot_store_is_a_cluster")
    return warnings


_LOOK_AGAIN_SECONDS = 60.0
_sound_until: dict[str, float] = {}


def forget_history() -> None:
    """Forget that the database was found to hold what it held, as a new process would."""
    _sound_until.clear()


def _history() -> tuple[bool, list[str]]:
    """Tell whether the database was set back behind its checkpoints (PR-15b), with warnings about their place.

    A database that was not is looked at again after a minute; one that was, until the restore is dealt with.
    """
    late = ["documents_wait_to_leave"] if outside.is_late(now=timezone.now()) else []
    if time.monotonic() < _sound_until.get(settings.CHECKPOINTS_URL, 0):
        return False, late
    try:
        lost = checkpoints.lost_history()
    except (OSError, ValueError):
        return False, [*late, "checkpoints_unreadable"]
    if not lost:
        _sound_until[settings.CHECKPOINTS_URL] = time.monotonic() + _LOOK_AGAIN_SECONDS
    return bool(lost), late


def _broker() -> bool:
    try:
        with Connection(settings.CELERY_BROKER_URL, connect_timeout=1) as broker:
            broker.ensure_connection(max_retries=1, timeout=1)
    except Exception:
        return False
    return True
