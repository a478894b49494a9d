"""`manage.py reapply_erasures FOLDER`: run the erasures again that a restored database has forgotten (PR-15b)."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from privacy.rules.erasures import ErasureRecord
from privacy.services.restores import reapply, records_of
from workspaces import access, outside, signing
from workspaces.errors import NotSigned
from workspaces.services.checkpoints import accept_restore
from workspaces.types import Actor

ACTOR = Actor(kind="system", id="manage.py", name="operator")


class Command(BaseCommand):
    help = "Run the erasures of a folder of checkpoints again, after the content database was restored."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", help="where CHECKPOINTS_URL has delivered to")
        parser.add_argument(
            "--public-key",
            action="append",
            default=[],
            help="base64 of a public key that the restored database does not know yet",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        records = self._records(Path(options["folder"]), options["public_key"])
        workspaces = {workspace.id: workspace for workspace in access.every_workspace()}
        done = 0
        for record in records:
            workspace = workspaces.get(record.workspace_id)
            if workspace is None:
                self.stderr.write(f"Erasure {record.request_id} is of a workspace that is not here.")
            elif reapply(workspace=workspace, record=record, now=timezone.now()):
                done += 1
        self.stdout.write(f"{len(records)} records: {done} run again, {len(records) - done} needed nothing.")
        lost = accept_restore(actor=ACTOR, now=timezone.now())
        if lost:
            self.stdout.write(f"{len(lost)} audit chains had lost entries; the server is ready again.")

    def _records(self, folder: Path, more_keys: list[str]) -> list[ErasureRecord]:
        if not folder.is_dir():
            raise CommandError(f"{folder} is no folder.")
        keys = [key.public_key for key in signing.public_keys()] + more_keys
        try:
            kept = list(outside.kept("erasure", place=folder))
        except ValueError as error:
            raise CommandError(str(error)) from error
        for found in kept:
            try:
                signing.verify(found.document, keys)
            except NotSigned as error:
                raise CommandError(f"{found.name} does not verify: it was {error}.") from error
        return records_of([self._unsigned(found.document) for found in kept])

    def _unsigned(self, document: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in document.items() if name not in {"key_id", "signature"}}
