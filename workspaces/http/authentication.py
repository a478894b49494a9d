"""Who is calling /v1: a source by its key or a person by a token. Cookies are ignored (PL-3, PL-10)."""

from typing import Any

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from workspaces import access, selectors
from workspaces.errors import Unauthenticated
from workspaces.services import credentials
from workspaces.types import Caller


class KeyAuthentication(BaseAuthentication):
    """Reads `Authorization: Bearer lst_...` or `lsp_...`."""

    def authenticate(self, request: Request) -> tuple[None, Caller]:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not text.strip():
            raise Unauthenticated("Send the key as `Authorization: Bearer <key>`.")
        origin = request._request.origin  # type: ignore[attr-defined]
        caller = selectors.credentials.caller_of(text.strip(), origin=origin, now=timezone.now())
        with access.bound(caller.workspace.id):
            credentials.note_use(caller=caller, now=timezone.now())
        return None, caller

    def authenticate_header(self, request: Request) -> Any:
        return "Bearer"
