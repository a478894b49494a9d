"""Building and opening subject packages, as the tests of them do."""

import hashlib
import io
import json
import zipfile
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from django.test import Client
from django.utils import timezone

from privacy.models import PackageRun
from privacy.selectors.packages import link_of
from privacy.services import package_builds, packages
from tests import factories
from workspaces import access
from workspaces.models import Profile
from workspaces.rules.handles import canonical
from workspaces.selectors.profiles import known_handle
from workspaces.types import WorkspaceRef

MARIA = {"type": "phone_e164", "value": "+55 11 91234-5678"}
JOANA = {"type": "email", "value": "joana@example.com"}


class Package(msgspec.Struct, frozen=True):
    """A zip, opened."""

    raw: bytes
    files: dict[str, bytes]

    def lines(self, name: str) -> list[Any]:
        """Read a file of records."""
        return [json.loads(line) for line in self.files[name].splitlines()]

    @property
    def manifest(self) -> dict[str, Any]:
        """Read the manifest."""
        found: dict[str, Any] = json.loads(self.files["manifest.json"])
        return found

    @property
    def page(self) -> str:
        """Give the page for people."""
        return self.files["index.html"].decode()


def opened(raw: bytes) -> Package:
    """Open a zip, which checks each file's sum."""
    with zipfile.ZipFile(io.BytesIO(raw)) as found:
        assert found.testzip() is None
        return Package(raw, {name: found.read(name) for name in found.namelist()})


def profile_of(workspace: WorkspaceRef, handle: dict[str, str]) -> Profile:
    """Find a person."""
    with access.bound(workspace.id):
        known = known_handle(workspace, canonical(handle["type"], handle["value"], ""))
        assert known is not None
        return known.profile


def request(workspace: WorkspaceRef, handle: dict[str, str] = MARIA) -> PackageRun:
    """Ask for somebody's package."""
    profile = profile_of(workspace, handle)
    with access.bound(workspace.id):
        return packages.request_package(
            workspace=workspace, profile_id=profile.id, actor=factories.SYSTEM, now=timezone.now()
        )


def package_of(workspace: WorkspaceRef) -> PackageRun:
    """Build the package of whoever was seen first."""
    with access.bound(workspace.id):
        profile = Profile.objects.order_by("created_at")[0]
        run = packages.request_package(
            workspace=workspace, profile_id=profile.id, actor=factories.SYSTEM, now=timezone.now()
        )
        assert package_builds.build_next(workspace=workspace, now=timezone.now())
        return run.refresh()


def build(workspace: WorkspaceRef, handle: dict[str, str] = MARIA) -> PackageRun:
    """Ask for somebody's package and build it, as a worker does."""
    run = request(workspace, handle)
    with access.bound(workspace.id):
        assert package_builds.build_next(workspace=workspace, now=timezone.now())
        return run.refresh()


def link(workspace: WorkspaceRef, run: PackageRun) -> str:
    """Give the link without its host."""
    with access.bound(workspace.id):
        parts = urlsplit(link_of(workspace, run.refresh()))
    return f"{parts.path}?{parts.query}" if parts.query else ""


def token(address: str) -> str:
    """Give the token of a link."""
    return parse_qs(urlsplit(address).query)["token"][0]


def download(address: str) -> Any:
    """Ask for a link, as whoever holds it does."""
    return Client(raise_request_exception=False).get(address)


def content(answer: Any) -> bytes:
    """Read an answer that comes in parts."""
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content)


def package(workspace: WorkspaceRef, handle: dict[str, str] = MARIA) -> Package:
    """Build somebody's package, download it and open it."""
    run = build(workspace, handle)
    raw = content(download(link(workspace, run)))
    assert hashlib.sha256(raw).hexdigest() == run.sha256
    return opened(raw)
