"""What a route needs of its caller, declared beside the route and checked before its handler (PL-2, PL-3)."""

from typing import Any

import msgspec
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from workspaces import documents
from workspaces.errors import Forbidden, MethodNotAllowed, PermissionMissing, ScopeMissing
from workspaces.http.admission import Admitted
from workspaces.types import Caller


class Needs(msgspec.Struct, frozen=True):
    """What one method of a route needs. A kind of caller whose need is None is refused.

    `one_of` lists permissions of which the content of the request says which one it takes: who has none of them is
    refused before, and the handler asks for the one.
    """

    feature: str | None = None
    scope: str | None = None
    permission: str | None = None
    one_of: tuple[str, ...] = ()
    any_key: bool = False
    any_token: bool = False


class NeedsMet(BasePermission):
    """Checks the feature first, then the scope or the permission: the order of WM-13.

    A method that declares no needs is refused, and HEAD, which Django answers by GET, needs what GET needs.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        needs: Needs | None = view.needs.get("GET" if request.method == "HEAD" else request.method)
        if needs is None:
            raise MethodNotAllowed
        require_needs(request.auth, needs)  # type: ignore[arg-type]
        return True


def require_needs(admitted: Admitted, needs: Needs) -> None:
    """Refuse where the feature is off, then a caller that lacks the scope (a key) or the permission (a token)."""
    if needs.feature:
        documents.require_feature(needs.feature, admitted.live)
    if admitted.caller.is_source:
        _require_scope(admitted.caller, needs)
    else:
        _require_permission(admitted.caller, needs)


def _require_scope(caller: Caller, needs: Needs) -> None:
    if needs.any_key:
        return
    if needs.scope is None:
        raise Forbidden("This takes a person: use a personal token.")
    if needs.scope not in caller.scopes:
        raise ScopeMissing(f"The scope is `{needs.scope}`.")


def _require_permission(caller: Caller, needs: Needs) -> None:
    if needs.any_token:
        return
    wanted = needs.one_of or ((needs.permission,) if needs.permission else ())
    if not wanted:
        raise Forbidden("This takes the key of a source.")
    if caller.permissions.isdisjoint(wanted):
        raise PermissionMissing(f"The permission is {' or '.join(f'`{name}`' for name in wanted)}.")
