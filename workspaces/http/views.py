"""The base of every view of /v1."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, ClassVar, TypeVar

from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workspaces import access
from workspaces.http import limits, parsers
from workspaces.http.admission import Admitted, limit_headers
from workspaces.http.idempotency import answered_once
from workspaces.http.lanes import lane
from workspaces.http.permissions import Needs
from workspaces.rules import json
from workspaces.types import Caller

Shape = TypeVar("Shape")


class ApiView(APIView):
    """A view that parses, makes one call and answers.

    Before its handler, in the order of WM-13: the body's size, the key, the feature, the scope of the key.
    The handler runs bound to the caller's workspace.
    """

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    needs: ClassVar[dict[str, Needs]] = {}
    json_rules: ClassVar[json.Rules] = json.USUAL
    raw: bytes
    caller: Caller
    admitted: Admitted

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        with ExitStack() as self._binding:
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.raw = self.receive(request._request)
        super().initial(request, *args, **kwargs)

    def receive(self, request: HttpRequest) -> bytes:
        """Take the body off the wire, or refuse it where it is over the limit of the route."""
        route = request.resolver_match
        return parsers.receive(request, limit_bytes=limits.body_bytes(route.url_name if route else None))

    def perform_authentication(self, request: Request) -> None:
        super().perform_authentication(request)
        if isinstance(request.auth, Admitted):
            self.admit(request._request, request.auth)

    def admit(self, request: HttpRequest, admitted: Admitted) -> None:
        """Go on as the caller, bound to their workspace."""
        self.admitted, self.caller = admitted, admitted.caller
        request.caller = admitted.caller  # type: ignore[attr-defined]
        self._binding.enter_context(access.bound(self.caller.workspace.id))

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        with_limits(self, response)
        return response

    def body(self, request: Request, shape: type[Shape]) -> Shape:
        """Read the body as `shape`, or refuse it."""
        return parsers.parse(self.raw, shape, content_type=request.content_type or "", rules=self.json_rules)

    def once(self, request: Request, handler: Any) -> Response:
        """Run a handler once for each Idempotency-Key."""
        return answered_once(request, self.raw, handler)


class StreamView(ApiView):
    """A view of which PUT takes bytes of any type as they come: the caller is known before the first is read.

    Of long ones only a few are taken at once, since each holds a thread until its sender is done (PL-5). What is not
    read of a body that was refused is read to its end, up to a bound: a proxy that is still sending when the connection
    closes reports that, and not the refusal.
    """

    DRAINED_BYTES = 32 * limits.MIB
    may_wait = False

    def receive(self, request: HttpRequest) -> bytes:
        """Refuse a body that says that it is over the limit of the route; take none yet."""
        if request.method != "PUT":
            return parsers.receive(request, limit_bytes=limits.DEFAULT_BODY_BYTES)
        parsers.require_length(request, limit_bytes=self._limit_bytes(request))
        return b""

    def admit(self, request: HttpRequest, admitted: Admitted) -> None:
        """Go on as the caller, with a lane for a long body. Raises RateLimited."""
        super().admit(request, admitted)
        if request.method == "PUT" and parsers.is_long(request, over_bytes=limits.BUFFERED_BYTES):
            # Until the end of the request: a body that was refused is waited for as well.
            self._binding.enter_context(lane(admitted.caller.credential_id, admitted.caller))
        self.may_wait = True

    def parts(self, request: Request) -> Iterator[bytes]:
        """Give the body as it comes off the wire."""
        return parsers.parts_of(request._request, limit_bytes=self._limit_bytes(request._request))

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        if request.method == "PUT" and response.status_code >= 400 and self.may_wait:
            parsers.drain(request._request, limit_bytes=self.DRAINED_BYTES)
        return response

    @staticmethod
    def _limit_bytes(request: HttpRequest) -> int:
        route = request.resolver_match
        return limits.body_bytes(route.url_name if route else None)


def with_limits(view: ApiView, response: Any) -> None:
    """Tell a caller who was admitted what is left in the buckets (PL-5)."""
    if "admitted" in view.__dict__:
        for name, value in limit_headers(view.admitted.spent).items():
            response[name] = value
