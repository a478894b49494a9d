"""Subject packages over HTTP: asked for, followed, downloaded by their link (PR-18, PR-19)."""

from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from privacy.models import PackageRun
from privacy.selectors import packages as selectors
from privacy.serializers import ExportAnswer, ExportSubject
from privacy.services import packages as services
from privacy.tasks import wake_builder
from workspaces import errors
from workspaces.http.admission import limit_address
from workspaces.http.lanes import outgoing
from workspaces.http.openapi import EXAMPLE_ID, Parameter, example, idempotency_key, operation
from workspaces.http.permissions import Needs
from workspaces.http.serializers import handle_value
from workspaces.http.views import ApiView
from workspaces.types import FieldProblem, Origin, WorkspaceRef

_NEEDS = Needs(scope="admin", permission="build_package")
_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_WAITS: dict[str, Any] = {
    "run_id": EXAMPLE_ID,
    "profile_id": EXAMPLE_ID,
    "status": "building",
    "asked_at": "2026-11-30T12:00:00Z",
    "download_url": None,
    "download_expires_at": None,
    "files": {},
    "counts": {},
    "sha256": None,
}
_READY = _WAITS | {
    "status": "ready",
    "download_url": f"https://lastro.example.com/v1/packages/{EXAMPLE_ID}/download?token=3q2-7w",
    "download_expires_at": "2026-12-01T12:00:02Z",
    "files": {"agent_states.jsonl": _DIGEST, "index.html": _DIGEST, "manifest.json": _DIGEST},
    "counts": {"agent_states.jsonl": 6},
    "sha256": _DIGEST,
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class ExportView(ApiView):
    tag = "Subject packages"
    needs = {"POST": _NEEDS}

    @operation(
        summary="Build a person's package",
        body=ExportSubject,
        answer=ExportAnswer,
        status=(201, 202),
        refusals=(errors.NotFound, errors.Conflict),
        parameters=(idempotency_key(),),
        examples=(
            example(
                "of whom a handle names",
                {"handle": {"type": "phone_e164", "value": "+55 11 91234-5678"}, "reason": "Request 42"},
                is_request=True,
            ),
            example("of a profile", {"profile_id": EXAMPLE_ID}, is_request=True),
            example("built within 4 seconds: 201", _READY),
            example("not built yet: 202", _WAITS),
        ),
    )
    def post(self, request: Request) -> Response:
        """Build a zip of all that is kept about a person.

        The answer is 201 with the link if it is built within 4 seconds, else 202 with the run to follow; who sends
        `Prefer: respond-async` is not kept waiting. Who asks while a package of the same person is being built gets
        that one (PR-18).
        """
        shape = self.body(request, ExportSubject)
        if (shape.profile_id is None) == (shape.handle is None):
            problem = FieldProblem("", "exactly_one", "Name exactly one of profile_id and handle.")
            raise errors.InvalidInput(errors=(problem,))
        # What is remembered for the key is the run alone: its link is told again, and stored nowhere.
        asked = self.once(request, lambda: self._ask(shape))
        wake_builder()
        is_patient = request.headers.get("Prefer", "").strip().lower() != "respond-async"
        run = selectors.await_run(UUID(asked.data["run_id"]), is_patient=is_patient)
        answer = _answer(self.caller.workspace, run)
        return Response(answer, status=201 if answer.status == "ready" else 202)

    def _ask(self, shape: ExportSubject) -> Response:
        run = services.request_package(
            workspace=self.caller.workspace,
            profile_id=shape.profile_id,
            handle=handle_value(shape.handle, "/handle") if shape.handle else None,
            reason=shape.reason,
            actor=self.caller.actor,
            now=timezone.now(),
        )
        return Response({"run_id": str(run.id)}, status=202)


class ExportRunView(ApiView):
    tag = "Subject packages"
    needs = {"GET": _NEEDS}

    @operation(
        summary="Follow a package",
        answer=ExportAnswer,
        examples=(example("ready", _READY), example("being built", _WAITS)),
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        """Say how far a package is, and give its link as long as it works (PR-18)."""
        return Response(_answer(self.caller.workspace, selectors.find_run(run_id)))


class PackageDownloadView(ApiView):
    tag = "Subject packages"
    # A HEAD would be audited as a download, and is none.
    http_method_names = ["get"]
    authentication_classes = ()
    permission_classes = ()

    @operation(
        summary="Download a package by its link",
        answer={"type": "string", "contentMediaType": "application/zip", "description": "The zip."},
        refusals=(errors.NotFound, errors.PayloadTooLarge, errors.RateLimited, errors.Unavailable),
        parameters=(
            Parameter("token", "query", {"type": "string", "maxLength": 256}, "The token of the link."),
        ),
    )
    def get(self, request: Request, run_id: UUID) -> StreamingHttpResponse:
        """Give the zip as an attachment; audited before its first byte, and verified as it goes (PR-19)."""
        origin: Origin = request.origin  # type: ignore[attr-defined]
        limit_address(origin)
        download = services.open_download(
            run_id=run_id,
            token=request.query_params.get("token", ""),
            origin=origin,
            now=timezone.now(),
        )
        parts = outgoing(download.parts, size_bytes=download.size_bytes, holder=download.run_id)
        response = StreamingHttpResponse(parts, content_type="application/zip", headers=_HEADERS)
        response.headers["Content-Disposition"] = f'attachment; filename="package-{download.run_id}.zip"'
        response.headers["Content-Length"] = str(download.size_bytes)
        return response


def _answer(workspace: WorkspaceRef, run: PackageRun) -> ExportAnswer:
    status, url = run.status_at(timezone.now()), selectors.link_of(workspace, run)
    is_ready = bool(url)
    return ExportAnswer(
        run_id=str(run.id),
        profile_id=str(run.profile_id),
        status=status,  # type: ignore[arg-type]
        asked_at=run.asked_at,
        download_url=url or None,
        download_expires_at=run.expires_at if is_ready else None,
        files={file["name"]: file["sha256"] for file in run.files} if is_ready else {},
        counts=selectors.counts_of(run),
        sha256=run.sha256 if is_ready else None,
    )
