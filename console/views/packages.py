"""Subject packages: asked for, followed, handed out by a link that is shown once, revoked (PR-18, PR-19)."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from console.forms.packages import PackageForm
from console.pages import actor, asked, dialog, done, here, workspace_page
from console.presenters.changes import changes_of
from console.presenters.lists import Table, show_list
from console.presenters.rows import Fact, Filter
from privacy.models import PackageRun
from privacy.selectors import packages as selectors
from privacy.services import packages as services
from privacy.tasks import wake_builder
from workspaces import access
from workspaces.models import Profile
from workspaces.paging import page
from workspaces.selectors.audit import AuditFilter
from workspaces.selectors.profiles import profiles

COLUMNS = ("pseudonym", "asked_by", "asked_at", "badge", "size_bytes", "downloads", "expires_at")
BADGES = {"waiting": "pending", "building": "running", "failed": "failure"}


class PackageRow(msgspec.Struct, frozen=True):
    """A package as the pages show it: whose, for whom, how far it is; never what is in it."""

    pseudonym: str
    profile_url: str
    asked_by: str
    asked_at: datetime
    badge: str
    size_bytes: int
    expires_at: datetime | None
    downloads: int
    url: str


class Step(msgspec.Struct, frozen=True):
    """One step of a package's way, and when it was taken."""

    title: str
    at: datetime | None
    badge: str
    note: str = ""


@require_safe
@workspace_page("build_package")
def packages(request: Any) -> HttpResponseBase:
    """List the packages, newest first."""
    now, state = timezone.now(), asked(request, "state")
    rows = selectors.runs_in_state(state, now=now)
    listed = page(rows, by="asked_at", older=request.GET.get("older"), newer=request.GET.get("newer"))
    shown = [_row(request, run, now) for run in listed.rows]
    context = {
        "filters": [_filter(state)],
        "packages": shown,
        "page": listed,
        **changes_of(request, AuditFilter(act="package.*"), action="package.*"),
    }
    return show_list(request, "console/packages.html", context, table=Table("packages", COLUMNS, shown))


@require_safe
@workspace_page("build_package")
def package(request: Any, package_id: UUID) -> HttpResponse:
    """Show how far a package is, and what it holds by name and count."""
    now, run = timezone.now(), selectors.find_run(package_id)
    status = run.status_at(now)
    context = {
        "package": _row(request, run, now),
        "steps": _steps(run, now),
        "is_open": status in PackageRun.OPEN,
        "files": run.files if status == PackageRun.Status.READY else [],
        "facts": _facts(request, run),
        "link_url": here(request, "package_link", run.id) if status == PackageRun.Status.READY else "",
        "revoke_url": here(request, "package_revoke", run.id) if status not in PackageRun.ENDED else "",
        **changes_of(
            request, AuditFilter(object_kind="package", object_id=str(run.id)), object=f"package:{run.id}"
        ),
    }
    return render(request, "console/package.html", context)


@require_http_methods(["GET", "POST"])
@workspace_page("build_package")
def package_new(request: Any, profile_id: UUID) -> HttpResponse:
    """Ask for a person's package; a worker builds it."""
    profile = access.one(profiles(), id=profile_id)
    form = PackageForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        run = services.request_package(
            workspace=request.workspace,
            profile_id=profile.id,
            reason=form.cleaned_data["reason"],
            language=get_language() or "",
            actor=actor(request),
            now=timezone.now(),
        )
        wake_builder()
        return done(request, here(request, "package", run.id), said=_("The package is being built."))
    context = {"profile": profile, "form": form}
    back = here(request, "profile", profile.id)
    return dialog(request, "console/package_new.html", context, back=back, status=_status(request))


@require_http_methods(["GET", "POST"])
@workspace_page("build_package")
def package_link(request: Any, package_id: UUID) -> HttpResponse:
    """Make a fresh link and show it once, on the answer itself; the one before opens nothing any more."""
    run, now = selectors.find_run(package_id), timezone.now()
    form = PackageForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        run = services.renew_link(
            workspace=request.workspace,
            run_id=run.id,
            reason=form.cleaned_data["reason"],
            actor=actor(request),
            now=now,
        )
        context = {"package": _row(request, run, now), "secret": selectors.link_of(request.workspace, run)}
        return render(request, "console/package_link_made.html", context)
    context = {"package": _row(request, run, now), "form": form}
    back = here(request, "package", run.id)
    return dialog(request, "console/package_link.html", context, back=back, status=_status(request))


@require_http_methods(["GET", "POST"])
@workspace_page("build_package")
def package_revoke(request: Any, package_id: UUID) -> HttpResponse:
    """End a package, built or not."""
    run, now = selectors.find_run(package_id), timezone.now()
    form, back = PackageForm(request.POST or None), here(request, "package", package_id)
    if request.method == "POST" and form.is_valid():
        services.revoke_package(
            workspace=request.workspace,
            run_id=run.id,
            reason=form.cleaned_data["reason"],
            actor=actor(request),
            now=now,
        )
        return done(request, back, said=_("The package is revoked."))
    context = {"package": _row(request, run, now), "form": form}
    return dialog(request, "console/package_revoke.html", context, back=back, status=_status(request))


def _status(request: Any) -> int:
    return 422 if request.method == "POST" else 200


def _filter(state: str) -> Filter:
    choices = [
        ("open", _("being built")),
        ("ready", _("ready")),
        ("expired", _("expired")),
        ("revoked", _("revoked")),
        ("failed", _("failed")),
    ]
    return Filter(name="state", label=_("State"), kind="select", value=state, choices=choices)


def _row(request: Any, run: PackageRun, now: datetime) -> PackageRow:
    status = run.status_at(now)
    return PackageRow(
        pseudonym=run.profile.pseudonym,
        profile_url=_profile_url(request, run.profile),
        asked_by=run.asked_by,
        asked_at=run.asked_at,
        badge=BADGES.get(status, status),
        size_bytes=run.size_bytes,
        expires_at=run.expires_at,
        downloads=run.downloads,
        url=here(request, "package", run.id),
    )


def _profile_url(request: Any, profile: Profile) -> str:
    return here(request, "profile", profile.id) if "find_profiles" in request.may else ""


def _steps(run: PackageRun, now: datetime) -> list[Step]:
    """List the steps that were taken, and the one that is under way; loading the page again shows the same."""
    status = run.status_at(now)
    steps = [Step(_("Asked for"), run.asked_at, "success", note=run.asked_by)]
    if status == PackageRun.Status.WAITING:
        return [*steps, Step(_("Waits for a worker"), None, "pending")]
    if status == PackageRun.Status.BUILDING:
        return [*steps, Step(_("Is being built"), None, "running", note=run.step)]
    if run.built_at is not None:
        steps.append(Step(_("Built"), run.built_at, "success"))
    ends = {
        "ready": (_("Works until"), run.expires_at),
        "expired": (_("Expired"), run.expires_at),
        "revoked": (_("Revoked"), run.ended_at),
        "failed": (_("Given up after five tries"), run.ended_at),
    }
    title, at = ends[status]
    return [*steps, Step(title, at, BADGES.get(status, status))]


def _facts(request: Any, run: PackageRun) -> list[Fact]:
    profile_url = _profile_url(request, run.profile)
    facts = [
        Fact(label=_("Package id"), value=str(run.id), mono=True, copy=_("Copy the package id")),
        Fact(label=_("Profile"), value=run.profile.pseudonym, url=profile_url),
        Fact(label=_("Reason"), value=run.reason),
        Fact(label=_("Downloads"), value=str(run.downloads)),
    ]
    if run.sha256:
        facts.append(
            Fact(label=_("SHA-256 of the zip"), value=run.sha256, mono=True, copy=_("Copy the digest"))
        )
    return facts
