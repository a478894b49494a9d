"""A package for the published client `niadra`: `admin.export` with a worker beside the server (PR-18, PR-19, WM-26)."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.utils import timezone

from privacy.models import PackageChunk, PackageRun
from privacy.services.packages import revoke_package
from tests import factories
from tests.clients.test_niadra import CLIENTS, VERSIONS, Seen, _played
from tests.privacy.packages import MARIA, Package, opened, profile_of, token
from tests.server import Server, database_urls_of_tests
from workspaces import access
from workspaces.types import WorkspaceRef

PROJECT = Path(__file__).resolve().parents[2]


class House:
    """A server and a worker of this file's own, which share a broker with nobody."""

    def __init__(self, folder: Path) -> None:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
        broker = settings.CELERY_BROKER_URL
        head, is_socket, _ = broker.partition("virtual_host=")
        own = f"{head}virtual_host={3 + int(worker)}" if is_socket else broker
        self.server = Server(folder, BROKER_URL=own)
        self._log = (folder / "worker.log").open("wb")
        variables = {
            **os.environ,
            **database_urls_of_tests(),
            "BROKER_URL": own,
            "HOT_STORE_GENERATION": str(settings.HOT_STORE_GENERATION),
        }
        command = [sys.executable, "-m", "celery", "-A", "console", "worker", "--pool", "solo"]
        self._worker = subprocess.Popen(
            command, env=variables, stdout=self._log, stderr=self._log, start_new_session=True, cwd=PROJECT
        )
        self.server.start()

    def stop(self) -> None:
        """End both."""
        self._worker.kill()
        self._worker.wait()
        self._log.close()
        self.server.stop()


@pytest.fixture(scope="module")
def house(
    tmp_path_factory: pytest.TempPathFactory,
    django_db_setup: None,
    _deployment_key: None,
    django_db_blocker: Any,
) -> Iterator[House]:
    with django_db_blocker.unblock():
        running = House(tmp_path_factory.mktemp("export"))
        yield running
        running.stop()


@pytest.fixture
def shop(committed: None) -> WorkspaceRef:
    """A workspace with a state of one person, and one of another."""
    workspace = factories.make_ready_workspace("Aurora")
    body = {"remark": "two lemons", "phone": "+55 11 98765-4321"}
    factories.make_state(workspace, body=body, subject=MARIA)
    factories.make_state(
        workspace, body={"remark": "of somebody else"}, subject={"type": "anon_id", "value": "7"}
    )
    return workspace


def exported(house: House, workspace: WorkspaceRef, version: str, kind: str) -> dict[str, Any]:
    """Let the client export by a profile and by a handle."""
    key = factories.make_key(workspace, "admin")
    profile = str(profile_of(workspace, MARIA).id)
    part = {"scene": "export", "key": key, "url": house.server.url, "profile_id": profile}
    folder = CLIENTS / f"niadra-{version}"
    if not folder.is_dir():
        absent = f"The client is not installed ({folder.relative_to(PROJECT)}): `make test` does it."
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(absent)
    # The first message to a worker waits until that has started.
    _await_worker(house, workspace)
    answer = _played(folder, kind, {"export": part})
    return Seen(version, workspace, answer["seen"])["export"]


def _await_worker(house: House, workspace: WorkspaceRef) -> None:
    key = factories.make_key(workspace, "admin", source="first")
    with httpx.Client(
        base_url=house.server.url, headers={"Authorization": f"Bearer {key}"}, trust_env=False
    ) as http:
        deadline = time.monotonic() + 60
        body = {"profile_id": str(profile_of(workspace, MARIA).id)}
        while http.post("/v1/export", json=body, timeout=30).status_code != 201:
            assert time.monotonic() < deadline


def fetched(house: House, url: str) -> httpx.Response:
    return httpx.get(url, trust_env=False, timeout=60)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_export(house: House, shop: WorkspaceRef, version: str, kind: str) -> None:
    """PR-18, PR-19, WM-26: the client gets the link within its five seconds, and the zip is what its answer says."""
    seen = exported(house, shop, version, kind)
    for name in ("by_profile", "by_handle"):
        found = seen[name]
        answer = fetched(house, found["download_url"])
        assert answer.status_code == 200
        assert hashlib.sha256(answer.content).hexdigest() == found["sha256"]
        package: Package = opened(answer.content)
        digests = {file: hashlib.sha256(text).hexdigest() for file, text in package.files.items()}
        assert digests == found["files"]
        (state,) = package.lines("agent_states.jsonl")
        values = {field["name"]: field["value"] for field in state["fields"]}
        assert values == {"remark": "two lemons", "phone": "***21"}
        assert b"somebody else" not in b"".join(package.files.values())
    assert seen["by_handle"]["profile_id"] == seen["by_profile"]["profile_id"]
    assert seen["nobody"] is None


def test_the_link_over_http(house: House, shop: WorkspaceRef) -> None:
    """PR-19: an attachment with no-store; 404 once it is revoked; the token is in no log of any process."""
    _await_worker(house, shop)
    with access.bound(shop.id):
        run = PackageRun.objects.get()
        from privacy.selectors.packages import link_of

        url = link_of(shop, run)
    url = house.server.url + url[url.index("/v1/") :]
    answer = fetched(house, url)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-disposition"].startswith("attachment; ")
    assert answer.headers["content-length"] == str(len(answer.content))
    with access.bound(shop.id):
        revoke_package(
            workspace=shop, run_id=run.id, reason="For a test", actor=factories.SYSTEM, now=timezone.now()
        )
    assert fetched(house, url).status_code == 404
    assert token(url) not in house.server.log.read_text()
    assert '"route":"package-download"' in house.server.log.read_text()


def test_a_harmed_package_breaks_off_over_http(house: House, shop: WorkspaceRef) -> None:
    """PL-12, PR-19: the reader of a package that does not verify sees that it is not whole."""
    from tests.privacy.builder import large_files

    with pytest.MonkeyPatch.context() as patch, access.bound(shop.id):
        from privacy.selectors import packages as selectors
        from privacy.services.package_builds import build_next
        from tests.privacy.packages import request

        patch.setattr(selectors, "FILES", large_files(3_000_000))
        run = request(shop)
        build_next(workspace=shop, now=timezone.now())
        run.refresh()
        url = selectors.link_of(shop, run)
        url = house.server.url + url[url.index("/v1/") :]
        assert len(fetched(house, url).content) == run.size_bytes
        PackageChunk.objects.filter(run_id=run.id, index=run.chunks - 1).delete()
    with pytest.raises(httpx.RemoteProtocolError):
        fetched(house, url)
