"""A request for a package while the broker is away: nobody is told an error, and beat finds it (PR-18)."""

import time
from pathlib import Path

import pytest

from privacy.models import PackageRun
from privacy.tasks import build_packages
from tests import factories
from tests.api import OverHttp
from tests.privacy.packages import MARIA
from tests.server import Server
from workspaces import access


@pytest.mark.long
def test_without_a_broker_a_package_is_built_later(committed: None, tmp_path: Path) -> None:
    """PR-18: the call answers 202 after its four seconds; the run is committed, and the next worker builds it."""
    workspace = factories.make_ready_workspace("Quieto")
    factories.make_state(workspace, subject=MARIA)
    server = Server(tmp_path, BROKER_URL="redis://127.0.0.1:1/0").start()
    try:
        began = time.monotonic()
        asked = OverHttp(server.url, factories.make_key(workspace, "admin")).post(
            "/v1/export", {"handle": MARIA}
        )
        assert time.monotonic() - began < 40
    finally:
        server.stop()
    assert (asked.status, asked.body["status"]) == (202, "waiting")
    assert "broker.away" in server.log.read_text()
    build_packages()
    with access.bound(workspace.id):
        assert PackageRun.objects.get(id=asked.body["run_id"]).status == "ready"
