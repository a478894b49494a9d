"""What happens around every request: its id, its address, its log line and its metrics; and who meets sessions."""

import logging
import re
import time
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.module_loading import import_string

from console import metrics
from workspaces.types import Caller, Origin

log = logging.getLogger("lastro.http")

Handler = Callable[[HttpRequest], HttpResponse]
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NOT_PAGES = frozenset({"/healthz", "/readyz", "/metrics"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestLog:
    """Gives the request its id and address, and writes one content-free log line (PL-10, PL-11)."""

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        if not _is_trusted(_peer(request)):
            request.META.pop("HTTP_X_FORWARDED_PROTO", None)
        request.request_id = _request_id(request)  # type: ignore[attr-defined]
        request.origin = Origin(address=client_address(request), request_id=request.request_id)  # type: ignore[attr-defined]
        response = self._get_response(request)
        response["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]
        self._note(request, response, time.perf_counter() - started)
        return response

    def _note(self, request: HttpRequest, response: HttpResponse, seconds: float) -> None:
        match = request.resolver_match
        route = match.view_name if match else "unknown"
        method = _method(request)
        metrics.note_request(method=method, route=route, status=response.status_code, seconds=seconds)
        caller = getattr(request, "caller", None)
        ids = {"workspace": str(caller.workspace.id)} if isinstance(caller, Caller) else {}
        log.info(
            "request.answered",
            extra={
                "request_id": request.request_id,  # type: ignore[attr-defined]
                "method": method,
                "route": route,
                "status": response.status_code,
                "milliseconds": round(seconds * 1000, 2),
                **ids,
            },
        )


class PagePolicy:
    """Shows times in the person's zone (CO-11)."""

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        zone = getattr(request.user, "time_zone", "UTC")
        with timezone.override(ZoneInfo(zone)):
            return self._get_response(request)


class PagesOnly:
    """Puts sessions, CSRF and the rest around people's pages, and nothing around /v1 (PL-10).

    Pages stay out of every cache (CO-2).
    """

    def __init__(self, get_response: Handler) -> None:
        self._plain = self._pages = get_response
        self._before_views: list[Callable[..., HttpResponse | None]] = []
        for path in reversed(settings.PAGE_MIDDLEWARE):
            layer = import_string(path)(self._pages)
            if hasattr(layer, "process_view"):
                self._before_views.insert(0, layer.process_view)
            # As Django does between its own: a refusal of one still passes through those around it.
            self._pages = convert_exception_to_response(layer)  # type: ignore[assignment]

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not _is_page(request):
            return self._plain(request)
        if not request.COOKIES.get(settings.SESSION_COOKIE_NAME, "").isalnum():
            request.COOKIES.pop(settings.SESSION_COOKIE_NAME, None)
        response = self._pages(request)
        response.setdefault("Cache-Control", "no-store")
        return response

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        """Ask the inner ones, since Django asks only the outermost: CSRF is checked in this hook (PL-19)."""
        hooks = self._before_views if _is_page(request) else []
        return next((answer for hook in hooks if (answer := hook(request, *view)) is not None), None)


def client_address(request: HttpRequest) -> str:
    """Give the caller's address, or nothing where there is none; a forwarded one counts only from a proxy (WM-19)."""
    peer = _peer(request)
    if not _is_trusted(peer):
        return peer
    hops = [_canonical(hop.strip()) for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    return next((hop for hop in reversed(hops) if not _is_trusted(hop)), "") or peer


def _is_page(request: HttpRequest) -> bool:
    path = request.path_info
    return path == "/v1/docs" or not (path.startswith("/v1/") or path in _NOT_PAGES)


def _method(request: HttpRequest) -> str:
    """Name the method; any other word is the caller's own and would make a metric of its own."""
    return request.method if request.method in _METHODS else "other"


def _request_id(request: HttpRequest) -> str:
    sent = request.META.get("HTTP_X_REQUEST_ID", "")
    return sent if _ACCEPTED_ID.fullmatch(sent) else f"req_{uuid4().hex}"


def _peer(request: HttpRequest) -> str:
    return _canonical(str(request.META.get("REMOTE_ADDR", "")))


def _is_trusted(address: str) -> bool:
    return bool(address) and any(ip_address(address) in ip_network(net) for net in settings.TRUSTED_PROXIES)


def _canonical(text: str) -> str:
    """Write an address in its one form: a server on IPv6 sees IPv4 callers as ::ffff:a.b.c.d."""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    return str(getattr(found, "ipv4_mapped", None) or found)
