"""What happens around every request: its id, its address, its log line and its metrics; and who meets sessions."""

import logging
import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from secrets import token_hex
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.middleware.security import SecurityMiddleware
from django.utils import timezone, translation
from django.utils.module_loading import import_string

from console import metrics
from workspaces.languages import spoken_to
from workspaces.models import Person
from workspaces.services import usage
from workspaces.types import Caller, Origin

log = logging.getLogger("lastro.http")

Handler = Callable[[HttpRequest], HttpResponse]
REMEMBERED_ADDRESSES = 4096
NO_CONTENT, PAYLOAD_TOO_LARGE = 204, 413
# What is longer has eight digits, and is not waited for: the embedded front refuses it by that.
DRAINED_CHUNK_BYTES, MAX_DRAINED_CHUNKS = 64 * 1024, 152
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NOT_PAGES = frozenset({"/healthz", "/readyz", "/metrics"})
_LINE = {
    "name": log.name,
    "levelno": logging.INFO,
    "levelname": "INFO",
    "msg": "request.answered",
}
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestLog:
    """Gives the request its id and address, and writes one content-free log line (PL-10, PL-11)."""

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        if not _is_trusted(_peer(request), tuple(settings.TRUSTED_PROXIES)):
            request.META.pop("HTTP_X_FORWARDED_PROTO", None)
        request_id = _request_id(request)
        request.request_id = request_id  # type: ignore[attr-defined]
        request.origin = Origin(address=client_address(request), request_id=request_id)  # type: ignore[attr-defined]
        response = self._get_response(request)
        response.headers["X-Request-Id"] = request_id
        _note(request, response, request_id=request_id, seconds=time.perf_counter() - started)
        return response


def _note(request: HttpRequest, response: HttpResponse, *, request_id: str, seconds: float) -> None:
    match = request.resolver_match
    route = match.view_name if match else "unknown"
    method = _method(request)
    metrics.note_request(method, route, response.status_code, seconds=seconds)
    caller = getattr(request, "caller", None)
    if isinstance(caller, Caller):
        _count(caller, response.status_code, refusal=getattr(request, "refusal", ""))
    if not log.isEnabledFor(logging.INFO):
        return
    line = {
        **_LINE,
        "request_id": request_id,
        "method": method,
        "route": route,
        "status": response.status_code,
        "milliseconds": round(seconds * 1000, 2),
    }
    if isinstance(caller, Caller):
        line["workspace"] = str(caller.workspace.id)
    # Not log.info: it walks the stack for the name of this file, once a request.
    log.handle(logging.makeLogRecord(line))


def _count(caller: Caller, status: int, *, refusal: str) -> None:
    usage.count_answer(caller.workspace.id, status=status, refusal=refusal, now=timezone.now())


class PagePolicy:
    """Speaks the language that the person chose, and shows times in their zone (CO-11)."""

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        person = request.user if isinstance(request.user, Person) else None
        zone = person.time_zone if person else "UTC"
        with spoken_to(person), timezone.override(ZoneInfo(zone)):
            response = self._get_response(request)
            response.headers.setdefault(
                "Content-Language", translation.get_language() or settings.LANGUAGE_CODE
            )
            return response


class ApiPolicy:
    """Keeps /v1 and the probes to HTTPS, and says what kind and length an answer has (PL-19)."""

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response
        self._redirect = SecurityMiddleware(get_response).process_request
        self._hsts = _hsts()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._redirect(request) or self._get_response(request)
        if response.status_code == PAYLOAD_TOO_LARGE:
            _read_to_the_end(request)
        headers = response.headers
        headers["X-Content-Type-Options"] = "nosniff"
        if self._hsts and request.is_secure():
            headers["Strict-Transport-Security"] = self._hsts
        if not response.streaming and response.status_code != NO_CONTENT:
            headers["Content-Length"] = str(len(response.content))
        return response


def _read_to_the_end(request: HttpRequest) -> None:
    # A proxy that is still sending the body when the connection closes reports that, and not our refusal.
    declared = request.META.get("CONTENT_LENGTH") or "0"
    if not declared.isdigit() or int(declared) > DRAINED_CHUNK_BYTES * MAX_DRAINED_CHUNKS:
        return
    with suppress(OSError):
        for _ in range(MAX_DRAINED_CHUNKS):
            if not request.read(DRAINED_CHUNK_BYTES):
                return


class PagesOnly:
    """Puts sessions, CSRF and the rest around people's pages, and next to nothing around /v1 (PL-10).

    Pages stay out of every cache (CO-2).
    """

    def __init__(self, get_response: Handler) -> None:
        self._plain = ApiPolicy(get_response)
        self._pages = get_response
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
        # What reads the language that a browser asks for leaves it to the thread, and /v1 speaks English.
        with translation.override(settings.LANGUAGE_CODE):
            response = self._pages(request)
        response.setdefault("Cache-Control", "no-store")
        return response

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        """Ask the inner ones, since Django asks only the outermost: CSRF is checked in this hook (PL-19)."""
        hooks = self._before_views if _is_page(request) else []
        return next((answer for hook in hooks if (answer := hook(request, *view)) is not None), None)


def client_address(request: HttpRequest) -> str:
    """Give the caller's address, or nothing where there is none; a forwarded one counts only from a proxy (WM-19)."""
    peer, proxies = _peer(request), tuple(settings.TRUSTED_PROXIES)
    if not _is_trusted(peer, proxies):
        return peer
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    callers = (hop for text in reversed(hops) if not _is_trusted(hop := _canonical(text.strip()), proxies))
    return next(callers, "") or peer


def _is_page(request: HttpRequest) -> bool:
    path = request.path_info
    return path == "/v1/docs" or not (path.startswith("/v1/") or path in _NOT_PAGES)


def _method(request: HttpRequest) -> str:
    """Name the method; any other word is the caller's own and would make a metric of its own."""
    return request.method if request.method in _METHODS else "other"


def _request_id(request: HttpRequest) -> str:
    sent = request.META.get("HTTP_X_REQUEST_ID", "")
    return sent if _ACCEPTED_ID.fullmatch(sent) else f"req_{token_hex(16)}"


def _hsts() -> str:
    if not settings.SECURE_HSTS_SECONDS:
        return ""
    parts = [f"max-age={settings.SECURE_HSTS_SECONDS}"]
    parts += ["includeSubDomains"] if settings.SECURE_HSTS_INCLUDE_SUBDOMAINS else []
    return "; ".join(parts + (["preload"] if settings.SECURE_HSTS_PRELOAD else []))


def _peer(request: HttpRequest) -> str:
    return _canonical(str(request.META.get("REMOTE_ADDR", "")))


@lru_cache(maxsize=REMEMBERED_ADDRESSES)
def _is_trusted(address: str, proxies: tuple[str, ...]) -> bool:
    return bool(address) and any(ip_address(address) in network for network in _networks(proxies))


@lru_cache(maxsize=8)
def _networks(proxies: tuple[str, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(map(ip_network, proxies))


@lru_cache(maxsize=REMEMBERED_ADDRESSES)
def _canonical(text: str) -> str:
    """Write an address in its one form: a server on IPv6 sees IPv4 callers as ::ffff:a.b.c.d."""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    return str(getattr(found, "ipv4_mapped", None) or found)
