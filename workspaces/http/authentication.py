"""Who is calling /v1: a source by its key or a person by a token. Cookies are ignored (PL-3, PL-10)."""

from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from workspaces.http.admission import Admitted, admit


class KeyAuthentication(BaseAuthentication):
    """Reads `Authorization: Bearer lst_...` or `lsp_...`; what REST framework calls `auth` is who was admitted."""

    def authenticate(self, request: Request) -> tuple[None, Admitted]:
        return None, admit(request._request)

    def authenticate_header(self, request: Request) -> Any:
        return "Bearer"
