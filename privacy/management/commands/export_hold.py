"""`manage.py export_hold ID FILE`: what a legal hold has kept and holds, decrypted, one JSON object a line (PR-16)."""

import os
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from privacy.services.holds import export_hold
from workspaces import access
from workspaces.errors import KeyDestroyed, NotFound, Tampered
from workspaces.models import Hold
from workspaces.types import Actor, WorkspaceRef


class Command(BaseCommand):
    help = "Write what a legal hold keeps to a new file, decrypted. The export is written to the audit."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=UUID, help="the id of the hold, as its page shows it")
        parser.add_argument("file", type=Path, help="a file that does not exist yet")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = _workspace_of(options["id"])
        except NotFound as error:
            raise CommandError("There is no hold with that id.") from error
        file = _new_file(options["file"])
        actor = Actor(kind="system", id="manage.py", name="operator")
        with access.bound(workspace.id), os.fdopen(file, "wb") as stream:
            count, lines = export_hold(
                workspace=workspace, hold_id=options["id"], actor=actor, now=timezone.now()
            )
            try:
                stream.writelines(lines)
            except (KeyDestroyed, Tampered) as error:
                raise CommandError("A version cannot be opened: the file ends before it.") from error
        self.stdout.write(f"{count} versions are in {options['file']}")


def _new_file(path: Path) -> int:
    """Open a new file that its owner alone may read; content of people is in it."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise CommandError("The file exists already: it is not overwritten.") from error
    except OSError as error:
        raise CommandError(f"The file cannot be written: {error.strerror}.") from error


def _workspace_of(hold_id: UUID) -> WorkspaceRef:
    for workspace in access.every_workspace():
        with access.bound(workspace.id):
            if Hold.objects.filter(id=hold_id).exists():
                return workspace
    raise NotFound
