"""Whether the process lives, whether it is ready, and what it has counted (PL-11)."""

import time
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe

from console import metrics, parts
from workspaces import outside
from workspaces.services import checkpoints


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001  (a view takes it)
    """Say that the process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001  (a view takes it)
    """Say whether every part that a request needs is there; 503 names the missing ones."""
    checks = parts.checks()
    body: dict[str, Any] = {name: "ok" if passed else "missing" for name, passed in checks.items()}
    warnings = parts.warnings()
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
