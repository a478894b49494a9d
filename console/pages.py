"""What every page behind the sign-in shares: its workspace, its permission, its answers (CO-5, CO-8)."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from workspaces import access
from workspaces.errors import NotFound, Problem, WorkspaceClosed
from workspaces.models import Person
from workspaces.rules.rights import PERMISSIONS
from workspaces.selectors.people import others_with, permissions_of, roles_of
from workspaces.selectors.sign_ins import needs_second_factor, second_factor
from workspaces.services.people import actor_of
from workspaces.types import Actor, WorkspaceRef

View = Callable[..., HttpResponseBase]
POST_REDIRECT = 303
MAX_ASKED_LENGTH = 200
SECOND_FACTOR = "second_factor"
"""What a session says that was opened with a second factor."""


class MissingPermission(msgspec.Struct, frozen=True):
    """The permission that a page asks for, in a word and in words."""

    code: str
    title: str


def signed_in_page(view: View) -> View:
    """Make a page of whoever is signed in; anybody else is led to the sign-in and then back to what they looked at."""

    @wraps(view)
    def page(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        return _away(request, _to_sign_in(request))

    return page


def personal_page(view: View) -> View:
    """Make a page of whoever is signed in; who lacks a second factor that a role asks for sets it up first (PL-4)."""

    @signed_in_page
    @wraps(view)
    def page(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if _lacks_second_factor(request):
            return _away(request, reverse("console:second_factor"))
        return view(request, *args, **kwargs)

    return page


def workspace_page(*any_of: str) -> Callable[[View], View]:
    """Make a page of one workspace, bound to it; one of the permissions opens it (none: every member).

    A workspace of which the person is no member is answered like one that does not exist.
    """

    def decorate(view: View) -> View:
        @personal_page
        @wraps(view)
        def page(request: Any, slug: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                request.workspace = access.workspace_of(request.user, slug)
                with access.bound(request.workspace.id):
                    request.may = permissions_of(request.user, request.workspace)
                    if any_of and not request.may & set(any_of):
                        return forbidden(request, any_of[0])
                    if request.method == "POST" and request.workspace.is_closed:
                        raise WorkspaceClosed
                    return view(request, *args, **kwargs)
            except NotFound as error:
                raise Http404 from error
            except Problem as problem:
                return render(request, "console/problem.html", {"problem": problem}, status=problem.status)

        page.any_of = any_of  # type: ignore[attr-defined]
        return page

    return decorate


def operators_page(*any_of: str) -> Callable[[View], View]:
    """Make a page of the deployment, for who holds one of the permissions in any of their workspaces."""

    def decorate(view: View) -> View:
        @personal_page
        @wraps(view)
        def page(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
            own = access.workspaces_of(request.user)
            if any(permissions_of(request.user, workspace) & set(any_of) for workspace in own):
                return view(request, *args, **kwargs)
            return _forbidden(request, any_of[0], givers=_givers(request.user, own))

        page.any_of = any_of  # type: ignore[attr-defined]
        return page

    return decorate


def _givers(person: Person, own: list[WorkspaceRef]) -> list[str]:
    """Name who can give a permission in one of a person's workspaces."""
    found: dict[str, None] = {}
    for workspace in own:
        with access.bound(workspace.id):
            found |= dict.fromkeys(others_with("manage_people", but=person.id))
    return list(found)


def forbidden(request: Any, permission: str) -> HttpResponse:
    """Answer 403, naming the permission and the people who hold it (CO-8)."""
    return _forbidden(request, permission, givers=others_with("manage_people", but=request.user.id))


def _forbidden(request: Any, permission: str, *, givers: list[str]) -> HttpResponse:
    missing = MissingPermission(code=permission, title=PERMISSIONS[permission])
    context = {"permission": missing, "givers": givers}
    return render(request, "console/forbidden.html", context, status=403)


def is_dialog(request: HttpRequest) -> bool:
    """Tell whether htmx asks for the body of the dialog, and not a person for a whole page."""
    return request.headers.get("HX-Target") == "dlg"


def dialog(
    request: HttpRequest, template: str, context: dict[str, Any], *, back: str, status: int = 200
) -> HttpResponse:
    """Show a change and its confirmation."""
    shown = {"in_dialog": is_dialog(request), "back": back, **context}
    return render(request, template, shown, status=status)


def done(request: HttpRequest, url: str, *, said: str) -> HttpResponse:
    """Say what was done and lead on: a redirect for a page, a header for a dialog."""
    messages.success(request, said)
    if is_dialog(request):
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return see_other(url)


def see_other(url: str) -> HttpResponse:
    """Answer a POST with 303, so that loading again sends nothing again."""
    response = HttpResponseRedirect(url)
    response.status_code = POST_REDIRECT
    return response


def asked(request: HttpRequest, name: str) -> str:
    """Give what the address says of a filter; what no filter can be is no filter."""
    value = request.GET.get(name, "")
    return value if len(value) <= MAX_ASKED_LENGTH and "\x00" not in value else ""


def asked_version(request: HttpRequest) -> int | None:
    """Give the version that the address asks for."""
    value = request.GET.get("version", "")
    return int(value) if value.isdecimal() and len(value) < 10 else None


def here(request: Any, name: str, *args: Any, **query: str) -> str:
    """Give the address of a page of the same workspace."""
    url = reverse(f"console:{name}", args=[request.workspace.slug, *args])
    return f"{url}?{urlencode(query)}" if query else url


def _lacks_second_factor(request: Any) -> bool:
    """Tell whether a role asks for a second factor that the person has not; a session that has seen one asks nobody."""
    if not settings.SECOND_FACTOR_REQUIRED or request.session.get(SECOND_FACTOR):
        return False
    return needs_second_factor(request.user) and second_factor(request.user.id) is None


def _to_sign_in(request: HttpRequest) -> str:
    """Give the address of the sign-in, which says so where a session has just ended (PL-4)."""
    away = redirect_to_login(_page_in_view(request))["Location"]
    # A cookie without a session is left of one that is over: a session in which nobody is signed in has a key.
    has_ended = settings.SESSION_COOKIE_NAME in request.COOKIES and request.session.session_key is None
    return f"{away}&ended=1" if has_ended else away


def _away(request: HttpRequest, url: str) -> HttpResponse:
    """Lead the whole page elsewhere, and never the body of a dialog."""
    if "HX-Request" in request.headers:
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return HttpResponseRedirect(url)


def _page_in_view(request: HttpRequest) -> str:
    """Give the address of the page that the person sees: a form that is sent is none, nor is the body of a dialog."""
    if request.method == "GET" and "HX-Request" not in request.headers:
        return request.get_full_path()
    try:
        seen = urlsplit(request.headers.get("HX-Current-URL") or request.headers.get("Referer", ""))
    except ValueError:
        return reverse("console:home")
    return seen._replace(scheme="", netloc="").geturl() or reverse("console:home")


def actor(request: Any) -> Actor:
    """Give the person as the audit names them."""
    return actor_of(request.user, request.origin, roles=roles_of(request.user))
