"""Builders that die, meet each other, or have much to write (PR-18, PR-13, PL-12)."""

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from privacy.models import PackageChunk, PackageRun
from privacy.services import package_builds
from tests import factories
from tests.parallel import at_once
from tests.privacy.packages import JOANA, MARIA, content, download, link, opened, request
from tests.server import database_urls_of_tests
from workspaces import access
from workspaces.models import AuditEntry, WrappedKey
from workspaces.services.encryption import destroy_retired_keys
from workspaces.types import WorkspaceRef

PROJECT = Path(__file__).resolve().parents[2]
MIB = 1024 * 1024
STEPS = ("claimed", "key made", "stored", "all stored", "finished")


@pytest.fixture
def lasting(committed: None) -> WorkspaceRef:
    """A workspace whose writes other processes see, with two people in it."""
    workspace = factories.make_ready_workspace("Obra")
    for handle in (MARIA, JOANA):
        factories.make_state(workspace, body={"remark": "two lemons"}, subject=handle)
    return workspace


def builder(workspace: WorkspaceRef, deed: str, what: str) -> "subprocess.CompletedProcess[str]":
    """Run a builder in a process of its own over this test's database."""
    apart = {"HOT_STORE_GENERATION": str(settings.HOT_STORE_GENERATION)}
    return subprocess.run(
        [sys.executable, "-m", "tests.privacy.builder", deed, workspace.slug, what],
        env={**os.environ, **database_urls_of_tests(), **apart},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )


def build_next(workspace: WorkspaceRef) -> bool:
    with access.bound(workspace.id):
        return package_builds.build_next(workspace=workspace, now=timezone.now())


def require_one_whole_package(workspace: WorkspaceRef, run: PackageRun) -> None:
    """Require one complete package: its chunks and no others, its key and no others, and one entry in the audit."""
    assert opened(content(download(link(workspace, run))))
    with access.bound(workspace.id):
        while destroy_retired_keys(workspace=workspace):
            pass
        run.refresh()
        assert (run.status, run.chunks) == (PackageRun.Status.READY, PackageChunk.objects.count())
        keys = WrappedKey.objects.filter(purpose="package").values_list("id", flat=True)
        assert list(keys) == [run.data_key_id]
        assert AuditEntry.objects.filter(act="package.build").count() == 1


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_builder_is_followed_by_another(lasting: WorkspaceRef, step: str) -> None:
    """PR-18, PR-13: wherever a worker is killed, another one starts again and ends with one complete package."""
    run = request(lasting)
    assert builder(lasting, "killed", step).returncode == -signal.SIGKILL
    with access.bound(lasting.id):
        is_built = step == "finished"
        assert run.refresh().status == ("ready" if is_built else "building")
        assert not package_builds.build_next(workspace=lasting, now=timezone.now()), "Its claim holds."
        PackageRun.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    assert build_next(lasting) is not is_built
    require_one_whole_package(lasting, run)
    with access.bound(lasting.id):
        assert run.refresh().attempts == (1 if is_built else 2)


@pytest.mark.parametrize("step", ["claimed", "key made", "stored", "all stored"])
def test_a_builder_that_was_taken_for_dead_stops(
    lasting: WorkspaceRef, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-18: who has stood still until another one took over writes nothing more, and nothing is there twice."""
    run = request(lasting)
    overtaken: list[str] = []

    def overtake(name: str) -> None:
        if name == step and not overtaken:
            overtaken.append(name)
            PackageRun.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
            assert package_builds.build_next(workspace=lasting, now=timezone.now())

    monkeypatch.setattr(package_builds, "reached", overtake)
    assert build_next(lasting)
    require_one_whole_package(lasting, run)
    assert overtaken == [step]


def test_a_package_revoked_while_it_is_built_stays_revoked(
    lasting: WorkspaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-19: the builder finds that its claim is gone; the sweep removes what it has stored."""
    from privacy.services.packages import revoke_package
    from privacy.tasks import sweep_all_packages

    run = request(lasting)

    def revoke(name: str) -> None:
        if name == "stored":
            revoke_package(
                workspace=lasting, run_id=run.id, reason="No", actor=factories.SYSTEM, now=timezone.now()
            )

    monkeypatch.setattr(package_builds, "reached", revoke)
    assert build_next(lasting)
    sweep_all_packages()
    with access.bound(lasting.id):
        assert (run.refresh().status, run.chunks, PackageChunk.objects.count()) == ("revoked", 0, 0)
        assert not WrappedKey.objects.filter(purpose="package")


def test_many_builders_build_each_package_once(lasting: WorkspaceRef) -> None:
    """PR-18: an update of exactly one row claims a run, so that four workers build two packages once each."""
    runs = [request(lasting), request(lasting, JOANA)]
    built = at_once(4, lambda _: build_next(lasting))
    assert sorted(built) == [False, False, True, True]
    for run in runs:
        assert opened(content(download(link(lasting, run))))
    with access.bound(lasting.id):
        assert [run.refresh().attempts for run in runs] == [1, 1]


def test_a_package_that_fails_again_and_again_is_given_up(lasting: WorkspaceRef) -> None:
    """PR-18: after five workers have died over it a run has failed, visibly, and keeps no worker busy."""
    run = request(lasting)
    past = timezone.now() - timedelta(minutes=1)
    with access.bound(lasting.id):
        PackageRun.objects.update(status="building", attempts=5, claimed_until=past)
    assert build_next(lasting)
    with access.bound(lasting.id):
        assert run.refresh().status == "failed"
        assert AuditEntry.objects.get(act="package.build").result == "failure"
    assert not build_next(lasting)
    assert request(lasting).id != run.id


@pytest.mark.parametrize(
    "size_bytes", [24 * MIB, pytest.param(1024 * MIB, marks=[pytest.mark.long, pytest.mark.timeout(1500)])]
)
def test_memory_stays_small(lasting: WorkspaceRef, size_bytes: int) -> None:
    """PR-18: building and downloading a package of 1 GiB takes less than 128 MiB, all of the process included."""
    request(lasting)
    done = builder(lasting, "measured", str(size_bytes))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["is_whole"]
    assert found["bytes"] > size_bytes
    assert max(found["building"], found["downloading"]) < 128 * MIB, found
