"""Linking people over HTTP (PL-7)."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from privacy.errors import NotPossibleNow, OnHold
from privacy.serializers import LinkedProfile, LinkWish, NamedPerson, UnlinkWish
from privacy.services import links
from privacy.services.links import Linked
from privacy.types import Target
from workspaces import errors
from workspaces.http.openapi import EXAMPLE_ID, example, idempotency_key, operation
from workspaces.http.permissions import Needs
from workspaces.http.serializers import handle_value
from workspaces.http.views import ApiView
from workspaces.serializers import FoundHandle
from workspaces.types import FieldProblem

_NEEDS = Needs(scope="admin", permission="link_profiles")
_PHONE = {"type": "phone_e164", "value": "+55 11 91234-5678"}
_MAIL = {"type": "email", "value": "ana@example.com"}
_HINTS = [{"type": "phone_e164", "value": "…78"}, {"type": "email", "value": "a…@example.com"}]
_PERSON = {
    "profile_id": EXAMPLE_ID,
    "pseudonym": "p_7kq2m9xw4t3rbn6hc8vd",
    "handles": _HINTS,
    "changed": True,
}


class LinkView(ApiView):
    tag = "Profiles"
    needs = {"POST": _NEEDS}

    @operation(
        summary="Link two handles as one person",
        body=LinkWish,
        answer=LinkedProfile,
        refusals=(errors.Conflict, errors.NotFound, NotPossibleNow),
        parameters=(idempotency_key(),),
        examples=(
            example(
                "two handles", {"first": {"handle": _PHONE}, "second": {"handle": _MAIL}}, is_request=True
            ),
            example("one person", _PERSON),
        ),
    )
    def post(self, request: Request) -> Response:
        """Join two profiles: the handles move to the older one, and an erasure of it takes what came by both (PL-7)."""
        shape = self.body(request, LinkWish)
        targets = [_target(shape.first, "/first"), _target(shape.second, "/second")]
        return self.once(request, lambda: self._link(targets, shape.reason))

    def _link(self, targets: list[Target], reason: str) -> Response:
        linked = links.link(
            workspace=self.caller.workspace,
            targets=targets,
            actor=self.caller.actor,
            reason=reason,
            now=timezone.now(),
        )
        return Response(_answer(linked))


class UnlinkView(ApiView):
    tag = "Profiles"
    needs = {"POST": _NEEDS}

    @operation(
        summary="Take a handle out of a person",
        body=UnlinkWish,
        answer=LinkedProfile,
        refusals=(errors.Conflict, errors.NotFound, NotPossibleNow, OnHold),
        parameters=(idempotency_key(),),
        examples=(
            example("a handle", {"handle": _MAIL}, is_request=True),
            example("a person of their own", {**_PERSON, "handles": _HINTS[1:]}),
        ),
    )
    def post(self, request: Request) -> Response:
        """Give a handle a new profile of its own; what named that handle follows it (PL-7)."""
        shape = self.body(request, UnlinkWish)
        handle = handle_value(shape.handle, "/handle")
        return self.once(
            request,
            lambda: Response(
                _answer(
                    links.unlink(
                        workspace=self.caller.workspace,
                        handle=handle,
                        actor=self.caller.actor,
                        reason=shape.reason,
                        now=timezone.now(),
                    )
                )
            ),
        )


def _target(named: NamedPerson, pointer: str) -> Target:
    if (named.profile_id is None) == (named.handle is None):
        problem = FieldProblem(pointer, "required", "Exactly one of profile_id and handle is given.")
        raise errors.InvalidInput(errors=(problem,))
    if named.handle is not None:
        return Target(kind="handle", handle=handle_value(named.handle, f"{pointer}/handle"))
    return Target(kind="profile", profile_id=named.profile_id)


def _answer(linked: Linked) -> LinkedProfile:
    profile = linked.profile
    return LinkedProfile(
        profile_id=str(profile.id),
        pseudonym=profile.pseudonym,
        handles=[FoundHandle(type=handle.type, value=handle.hint) for handle in profile.handles.all()],
        changed=linked.is_changed,
    )
