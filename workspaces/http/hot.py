"""The two routes that agents wait for: views of REST framework that answer without its negotiation and its request."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

import msgspec
from django.http import HttpRequest, HttpResponse

from workspaces.documents import Live
from workspaces.errors import Problem
from workspaces.hotstore import Name, Seen
from workspaces.http import limits, parsers
from workspaces.http.admission import admit
from workspaces.http.exceptions import plain_problem, reported
from workspaces.http.permissions import Needs, require_needs
from workspaces.http.views import ApiView, with_limits
from workspaces.postgresql.patience import within
from workspaces.types import WorkspaceRef


class HotView(ApiView):
    """A view of one method, in the order of WM-13 as every other, by the same functions."""

    shape: ClassVar[type]
    seconds: ClassVar[float]
    documents: Live
    seen: Sequence[Seen]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.method not in self.needs:
            return super().dispatch(request, *args, **kwargs)
        try:
            with ExitStack() as self._binding, within(self.seconds):
                response = self._answer(request, self.needs[request.method])
        except Exception as error:
            response = plain_problem(request, reported(error))
        with_limits(self, response)
        return response

    def wanted(self, workspace: WorkspaceRef, form: Any) -> Sequence[Name]:
        """Name what the request is about, to look at it while the caller is looked up."""
        return ()

    def _answer(self, request: HttpRequest, needs: Needs) -> HttpResponse:
        route: Any = request.resolver_match
        self.raw = parsers.receive(request, limit_bytes=limits.body_bytes(route.url_name))
        form, refusal = self._form(request)
        admitted = admit(request, lambda workspace: self._wanted(workspace, form))
        self.admit(request, admitted)
        self.documents, self.seen = admitted.live, admitted.seen
        require_needs(admitted, needs)
        if refusal is not None:
            raise refusal
        handler = getattr(self, str(request.method).lower())
        return HttpResponse(msgspec.json.encode(handler(request, form)), content_type="application/json")

    def _form(self, request: HttpRequest) -> tuple[Any, Problem | None]:
        """Read the body before it is known who calls; what is wrong with it is said after."""
        try:
            return parsers.parse(
                self.raw, self.shape, content_type=request.META.get("CONTENT_TYPE", "")
            ), None
        except Problem as refusal:
            return None, refusal

    def _wanted(self, workspace: WorkspaceRef, form: Any) -> Sequence[Name]:
        try:
            return self.wanted(workspace, form) if form is not None else ()
        except Problem:
            return ()
