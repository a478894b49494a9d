"""What a route needs of its caller, declared beside the route and checked before its handler (PL-2, PL-3)."""

from typing import Any

import msgspec
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from workspaces import documents
from workspaces.errors import Forbidden, PermissionMissing, ScopeMissing
from workspaces.types import Caller


class Needs(msgspec.Struct, frozen=True):
    """What one method of a route needs. A kind of caller whose need is None is refused."""

    feature: str | None = None
    scope: str | None = None
    permission: str | None = None
    any_key: bool = False
    any_token: bool = False


class NeedsMet(BasePermission):
    """Checks the feature first, then the scope or the permission: the order of WM-13."""

    def has_permission(self, request: Request, view: Any) -> bool:
        needs: Needs | None = view.needs.get(request.method)
        if needs is not None:
            if needs.feature:
                documents.require_feature(needs.feature)
            require_needs(request.auth, needs)
        return True


def require_needs(caller: Caller, needs: Needs) -> None:
    """Refuse a caller that lacks the scope (a key) or the permission (a token)."""
    if caller.is_source:
        _require_scope(caller, needs)
    else:
        _require_permission(caller, needs)


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
    if needs.permission is None:
        raise Forbidden("This takes the key of a source.")
    if needs.permission not in caller.permissions:
        raise PermissionMissing(f"The permission is `{needs.permission}`.")
