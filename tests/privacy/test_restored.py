"""A content database that was set back to a backup, with a server on it, from end to end (PR-15b)."""

import os
import secrets
import subprocess
import sys
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import call_command
from django.utils import timezone

from tests import factories
from tests.api import OverHttp
from tests.privacy.dumps import Restored, restored_dump
from tests.privacy.erasing import House, make_house
from tests.server import Server
from tests.stores import forget_hot_store
from workspaces import access, outside
from workspaces.models import Profile
from workspaces.services.checkpoints import make_checkpoints

BRUNO = {"type": "email", "value": "bruno@example.com"}


@pytest.fixture
def house(committed: None, tmp_path: Path, settings: Any) -> House:
    """A workspace whose checkpoints leave into a folder."""
    settings.CHECKPOINTS_URL = f"file://{tmp_path / 'outside'}"
    return make_house()


def let_checkpoints_leave() -> None:
    make_checkpoints(now=timezone.now())
    outside.deliver_waiting()


def variables(dump: Restored, folder: Path) -> dict[str, Any]:
    """Give what a deployment on the restored database is told."""
    names = ("DATABASE_URL", "DATABASE_OWNER_URL")
    return {name: dump.environment[name] for name in names} | {"CHECKPOINTS_URL": f"file://{folder}"}


def ready(server: Server) -> tuple[int, str]:
    answer = httpx.get(f"{server.url}/readyz", trust_env=False)
    return answer.status_code, answer.json()["status"]


def reapply(dump: Restored, folder: Path) -> str:
    command = [sys.executable, "manage.py", "reapply_erasures", str(folder)]
    environment = {**os.environ, **dump.environment, **variables(dump, folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def found(office: OverHttp, who: dict[str, str]) -> int:
    return len(office.post("/v1/profiles/search", {"query": who["value"]}).body["items"])


def pseudonym_of(house: House, who: dict[str, str]) -> str:
    with access.bound(house.workspace.id):
        return Profile.objects.get(id=house.profile_of(who)).pseudonym


def tables_with(dump: Restored, word: str) -> set[str]:
    """Name the tables of the restored database in which a row has a word."""
    tables = dump.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    has = "SELECT count(*) FROM {} t WHERE t::text LIKE %s"
    return {table for (table,) in tables if dump.rows(has.format(table), f"%{word}%") != [(0,)]}


def test_a_server_on_a_restored_database(house: House, tmp_path: Path) -> None:
    """PR-15b: a server on a backup from before an erasure is not ready until the erasures since have been run again.

    Then nothing of the person is in it or answered from it, what others have is, and it is ready.
    """
    folder, name = tmp_path / "outside", f"zq{secrets.token_hex(6)}"
    gone = {"type": "email", "value": f"{name}@example.com"}
    theirs = house.store({"remark": "stays"}, subject=BRUNO)
    place = house.store({"remark": "goes"}, subject=gone)
    pseudonym = pseudonym_of(house, gone)
    keys = [factories.make_key(house.workspace, *scopes) for scopes in (("agent_state",), ("admin",))]
    let_checkpoints_leave()
    with restored_dump() as dump:
        asked = house.forget("handle", gone).body
        assert house.work() == [True]
        assert house.status(asked["request_id"])["status"] == "completed"
        let_checkpoints_leave()
        forget_hot_store()
        server = Server(tmp_path, **variables(dump, folder)).start()
        try:
            agent, office = (OverHttp(server.url, key) for key in keys)
            assert ready(server) == (503, "restore_detected")
            assert found(office, gone) == 1, "The backup still knows the person."
            assert tables_with(dump, pseudonym) == {"workspaces_profile"}

            said = reapply(dump, folder)

            assert ": 1 run again" in said
            assert "ready again" in said
            assert ready(server) == (200, "ready")
            assert (found(office, gone), found(office, BRUNO)) == (0, 1)
            assert tables_with(dump, pseudonym) == set()
            assert agent.read(place).body["version"] == 0
            assert agent.read(theirs).body["body"] == {"remark": "stays"}
            assert office.get(f"/v1/forget/{asked['request_id']}").body["status"] == "completed"
        finally:
            server.stop()


@pytest.mark.parametrize("when", ["before the rotation", "before its name moved"])
def test_a_backup_from_before_the_hash_key_was_replaced(house: House, tmp_path: Path, when: str) -> None:
    """PR-15b, PL-12: a conversation that was erased by its new name is found in a backup that has it by the one before.

    There too what was made before the erasure is refused, by the name that the restored workspace gives it.
    """
    folder, place = tmp_path / "outside", house.store({"remark": "goes"})
    rotate = partial(
        call_command, "rotate_keys", "hashes", "--workspace", house.workspace.slug, stdout=StringIO()
    )
    if when != "before the rotation":
        rotate()
    with restored_dump() as dump:
        if when == "before the rotation":
            rotate()
        assert house.agent.read(place).body["version"] == 1
        asked = house.forget("conversation", place["id"]).body
        assert house.work() == [True]
        outside.deliver_waiting()
        life = "SELECT life FROM agentstate_state WHERE workspace_id = %s"
        assert dump.rows(life, house.workspace.id) == [("live",)]

        assert ": 1 run again" in reapply(dump, folder)

        assert dump.rows(life, house.workspace.id) == [("erased",)]
        same = (
            "SELECT s.hash_key_id = w.hash_key_id AND t.hash = s.scope_hash FROM agentstate_state s"
            " JOIN workspaces_workspace w ON w.id = s.workspace_id"
            " JOIN workspaces_tombstone t ON t.workspace_id = w.id WHERE w.id = %s"
        )
        assert dump.rows(same, house.workspace.id) == [(True,)]
        status = "SELECT status FROM privacy_erasurerequest WHERE id = %s"
        assert dump.rows(status, asked["request_id"]) == [("completed",)]
