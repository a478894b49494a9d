"""`manage.py export_workspace SLUG FOLDER`: a workspace written into a new folder, whole (PL-5b)."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from privacy.services.workspace_export import export_workspace
from workspaces import access
from workspaces.errors import Problem
from workspaces.models import Workspace
from workspaces.types import Actor

OPERATOR = Actor(kind="system", id="manage.py", name="operator")


class Command(BaseCommand):
    help = (
        "Write the states of a workspace with their content, its profiles, documents, erasures and audit into a new"
        " folder, as JSON Lines."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("folder", help="a folder that is not there yet")

    def handle(self, *args: Any, **options: Any) -> None:
        row = Workspace.objects.filter(slug=options["slug"]).first()
        if row is None:
            raise CommandError("There is no workspace with that slug.")
        try:
            with access.bound(row.id):
                written = export_workspace(
                    workspace=row.ref, folder=Path(options["folder"]), actor=OPERATOR, now=timezone.now()
                )
        except Problem as error:
            raise CommandError(error.detail or error.title) from error
        except OSError as error:
            raise CommandError(f"The folder cannot be written: {error.strerror}.") from error
        for name, file in written.items():
            self.stdout.write(f"{file.lines:>9} {name}")
