"""`manage.py rotate_keys LEVEL`: new secrets for a level of keys, while requests go on (PL-12)."""

import time
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from agentstate.services.rotation import reseal_batch
from assembly.services.rotation import reseal_batch as reseal_graphs
from history.services.rotation import reseal_batch as reseal_sessions
from privacy.selectors.hash_keys import names_under_previous
from workspaces import access
from workspaces.services import hash_keys, rotation
from workspaces.types import Actor, WorkspaceRef

OPERATOR = Actor(kind="system", id="manage.py", name="operator")
PAUSE_SECONDS = 1.0
PASSES = 60


class Command(BaseCommand):
    help = (
        "Rotate a level of keys. master: what lies under LASTRO_MASTER_KEY_PREVIOUS moves under LASTRO_MASTER_KEY."
        " workspace, handles: new secrets, and what they wrap moves. data: states, sessions and graphs are sealed again"
        " under new keys. hashes: other keys for keyed hashes; names and secrets move when they are met, and the keys"
        " before go when nothing needs them: run it again. Killed in the middle, the same command goes on."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("level", choices=["master", "workspace", "handles", "data", "hashes"])
        parser.add_argument("--workspace", metavar="SLUG", help="only this one (default: all of them)")
        parser.add_argument(
            "--before", metavar="MOMENT", help="handles, data: only keys from before (RFC 3339; default: now)"
        )
        parser.add_argument(
            "--no-wait",
            action="store_true",
            help="leave young replaced secrets to the next run of the command",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.before, self.waits = _moment(options["before"]), not options["no_wait"]
        level = options["level"]
        if level == "master" and not options["workspace"]:
            moved = rotation.rewrap_deployment(actor=OPERATOR, now=timezone.now())
            self.stdout.write(f"deployment: {moved} keys moved")
        if level == "hashes" and not options["workspace"]:
            self.stdout.write(f"deployment: {self._hashes_of_deployment()}")
        rotate: dict[str, Callable[[WorkspaceRef], str]] = {
            "master": self._master,
            "workspace": self._workspace,
            "handles": self._handles,
            "data": self._data,
            "hashes": self._hashes,
        }
        for workspace in _chosen(options["workspace"]):
            with access.bound(workspace.id):
                self.stdout.write(f"{workspace.slug}: {rotate[level](workspace)}")

    def _master(self, workspace: WorkspaceRef) -> str:
        return f"{rotation.rewrap_workspace(workspace=workspace)} keys moved"

    def _workspace(self, workspace: WorkspaceRef) -> str:
        now = timezone.now()
        return self._finished(
            workspace, rotation.renew_workspace_key(workspace=workspace, actor=OPERATOR, now=now)
        )

    def _handles(self, workspace: WorkspaceRef) -> str:
        renewed = rotation.renew_handle_keys(
            workspace=workspace, before=self.before, actor=OPERATOR, now=timezone.now()
        )
        return self._finished(workspace, renewed)

    def _hashes(self, workspace: WorkspaceRef) -> str:
        now, names = timezone.now(), names_under_previous(workspace)
        if hash_keys.retire_hash_key(workspace=workspace, is_needed=bool(names), actor=OPERATOR, now=now):
            return "the hash key before is destroyed"
        if hash_keys.renew_hash_key(workspace=workspace, actor=OPERATOR, now=now):
            return "another hash key"
        return _kept("hash key", names)

    def _hashes_of_deployment(self) -> str:
        now, old = timezone.now(), 0
        for workspace in access.every_workspace():
            with access.bound(workspace.id):
                old += hash_keys.has_old_secrets(now=now)
        if hash_keys.retire_deployment_secret(is_needed=old > 0, actor=OPERATOR, now=now):
            return "the secret before of the hash key is destroyed"
        if hash_keys.renew_deployment_hash_key(actor=OPERATOR, now=now):
            return "a new secret for the hash key"
        return _kept("secret", [f"credentials of {old} workspaces"] if old else [])

    def _finished(self, workspace: WorkspaceRef, renewed: int) -> str:
        """Move what lies under replaced secrets, and destroy those once no process can know them any more."""
        moved = rotation.move_wrapped(workspace=workspace)
        gone, left = rotation.drop_replaced(workspace=workspace, now=timezone.now())
        until = time.monotonic() + rotation.KEPT_FOR.total_seconds() + PAUSE_SECONDS
        while left and self.waits and time.monotonic() < until:
            time.sleep(PAUSE_SECONDS)
            moved += rotation.move_wrapped(workspace=workspace)
            more, left = rotation.drop_replaced(workspace=workspace, now=timezone.now())
            gone += more
        return f"{renewed} new secrets, {moved} keys moved, {gone} old secrets destroyed" + (
            f", {left} still kept: run this again" if left else ""
        )

    def _data(self, workspace: WorkspaceRef) -> str:
        rotation.note_rotation("data", workspace=workspace, actor=OPERATOR, now=timezone.now())
        states = sessions = graphs = busy = 0
        for _ in range(PASSES):
            sealed, busy = self._pass(workspace)
            talks, running = self._pass_of_sessions(workspace)
            runs, written = self._pass_of_graphs(workspace)
            states, sessions, graphs = states + sealed, sessions + talks, graphs + runs
            busy += running + written
            if not busy or not self.waits:
                break
            time.sleep(PAUSE_SECONDS)
        said = f"{states} states, {sessions} sessions and {graphs} graphs sealed again"
        return said + (f", {busy} were busy: run this again" if busy else "")

    def _pass(self, workspace: WorkspaceRef) -> tuple[int, int]:
        states, busy, after = 0, 0, None
        while True:
            done = reseal_batch(workspace=workspace, before=self.before, now=timezone.now(), after=after)
            states, busy, after = states + done.states, busy + done.busy, done.last
            if after is None:
                return states, busy

    def _pass_of_sessions(self, workspace: WorkspaceRef) -> tuple[int, int]:
        sessions, busy, after = 0, 0, None
        while True:
            done = reseal_sessions(workspace=workspace, before=self.before, now=timezone.now(), after=after)
            sessions, busy, after = sessions + done.sessions, busy + done.busy, done.last
            if after is None:
                return sessions, busy

    def _pass_of_graphs(self, workspace: WorkspaceRef) -> tuple[int, int]:
        graphs, busy, after = 0, 0, None
        while True:
            done = reseal_graphs(workspace=workspace, before=self.before, now=timezone.now(), after=after)
            graphs, busy, after = graphs + done.graphs, busy + done.busy, done.last
            if after is None:
                return graphs, busy


def _kept(what: str, needed_by: Collection[str]) -> str:
    why = f"needed by {', '.join(needed_by)}" if needed_by else "too young to go"
    return f"the {what} before is {why}: run this again"


def _chosen(slug: str | None) -> list[WorkspaceRef]:
    everywhere = access.every_workspace()
    chosen = [found for found in everywhere if found.slug == slug or (slug is None and not found.is_closed)]
    if slug and not chosen:
        raise CommandError("There is no workspace with that slug.")
    return chosen


def _moment(text: str | None) -> datetime:
    try:
        moment = parse_datetime(text) if text else timezone.now()
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise CommandError("--before must look like 2026-11-30T12:00:00Z.")
    return moment
