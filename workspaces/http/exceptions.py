"""One handler turns every refusal into an RFC 9457 problem (PL-8)."""

import logging
from collections.abc import Iterator
from typing import Any

import msgspec
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions as drf
from rest_framework.response import Response

from workspaces import errors
from workspaces.errors import Problem, RateLimited, Unavailable
from workspaces.http.admission import limit_headers

log = logging.getLogger("lastro.http")

_DRF_ANSWERS: dict[type[Exception], type[Problem]] = {
    drf.NotAuthenticated: errors.Unauthenticated,
    drf.AuthenticationFailed: errors.Unauthenticated,
    drf.MethodNotAllowed: errors.MethodNotAllowed,
    drf.UnsupportedMediaType: errors.UnsupportedMediaType,
    drf.NotFound: errors.NotFound,
    Http404: errors.NotFound,
    RequestDataTooBig: errors.PayloadTooLarge,
    OperationalError: Unavailable,
    InterfaceError: Unavailable,
}


def answer_problem(error: Exception, context: dict[str, Any]) -> Response:
    """Answer any exception of a /v1 view; only the class of an unexpected one is logged."""
    problem = reported(error)
    request = context["request"]._request
    _note(request, problem)
    response = Response(body_of(problem, request_id=request.request_id), status=problem.status)
    response.content_type = "application/problem+json"
    for name, value in headers_of(problem).items():
        response[name] = value
    return response


def reported(error: Exception) -> Problem:
    """Give the refusal that an exception of a view stands for; one that nobody expected is logged by its class."""
    problem = problem_of(error)
    if problem.status == 500:
        log.error("request.failed", exc_info=error)
    return problem


def problem_of(error: Exception) -> Problem:
    """Give the refusal that an exception stands for."""
    if isinstance(error, Problem):
        return error
    for kind, answer in _DRF_ANSWERS.items():
        if isinstance(error, kind):
            return answer()
    return Problem()


def body_of(problem: Problem, *, request_id: str) -> dict[str, Any]:
    """Give the members of the problem; a detail never carries what the caller sent."""
    body: dict[str, Any] = {
        "type": f"{settings.LASTRO_BASE_URL}/v1/docs#error-{problem.code}",
        "title": problem.title,
        "status": problem.status,
        "code": problem.code,
        "request_id": request_id,
    }
    if problem.detail:
        body["detail"] = problem.detail
    if problem.errors:
        body["errors"] = problem.errors
    return body | dict(problem.members)


def headers_of(problem: Problem) -> dict[str, str]:
    """Give the headers that go with a status."""
    if isinstance(problem, RateLimited):
        wait = -(-problem.spent.wait_ms // 1000) if problem.spent else 1
        return {"Retry-After": str(wait), **(limit_headers(problem.spent) if problem.spent else {})}
    if isinstance(problem, Unavailable):
        return {"Retry-After": str(problem.retry_after_seconds)}
    return {"WWW-Authenticate": "Bearer"} if problem.status == 401 else {}


def plain_problem(request: HttpRequest, problem: Problem) -> JsonResponse:
    """Answer a problem without REST framework: from a hot view, or where no view of /v1 was reached."""
    _note(request, problem)
    body = msgspec.to_builtins(body_of(problem, request_id=getattr(request, "request_id", "")))
    return JsonResponse(
        body, status=problem.status, content_type="application/problem+json", headers=headers_of(problem)
    )


def _note(request: Any, problem: Problem) -> None:
    """Leave word of a refusal, and of whom it met before they were admitted, to who counts requests (CO-10)."""
    request.refusal = problem.code
    if isinstance(problem, RateLimited) and problem.caller is not None:
        request.caller = problem.caller


def catalogue() -> dict[str, type[Problem]]:
    """List every code that the server can answer, of every app, for the docs and the tests."""
    return {kind.code: kind for kind in _subclasses(Problem)}


def _subclasses(kind: type[Problem]) -> Iterator[type[Problem]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _subclasses(child)
