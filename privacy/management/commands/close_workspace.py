"""`manage.py close_workspace SLUG`: stop its keys, erase all that it keeps, and print the receipt (PL-5b)."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from privacy.models import ErasureRequest
from privacy.services import erasing
from privacy.services.workspaces import close_workspace
from workspaces import access
from workspaces.errors import Problem
from workspaces.models import Workspace
from workspaces.types import Actor, WorkspaceRef

OPERATOR = Actor(kind="system", id="manage.py", name="operator")


class Command(BaseCommand):
    help = (
        "Close a workspace for good: its keys stop, all that it keeps is erased under one signed receipt, and its keys"
        " are destroyed. The audit and the documents stay. Killed in the middle, the same command goes on."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("--yes", action="store_true", help="do not ask: there is no way back")
        parser.add_argument("--reason", default="", help="why; the audit keeps it")

    def handle(self, *args: Any, **options: Any) -> None:
        row = Workspace.objects.filter(slug=options["slug"]).first()
        if row is None:
            raise CommandError("There is no workspace with that slug.")
        if not options["yes"] and input(f"Type {row.slug} to erase all of it: ") != row.slug:
            raise CommandError("Nothing was done.")
        self.stdout.write(json.dumps(self._closed(row.ref, options["reason"]).receipt, indent=2))

    def _closed(self, workspace: WorkspaceRef, reason: str) -> ErasureRequest:
        with access.bound(workspace.id):
            try:
                request = close_workspace(
                    workspace=workspace, actor=OPERATOR, reason=reason, now=timezone.now()
                )
            except Problem as error:
                raise CommandError(error.detail or error.title) from error
            erasing.run_to_the_end(workspace=workspace, request_id=request.id)
            return ErasureRequest.objects.get(id=request.id)
