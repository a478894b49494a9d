"""`manage.py prune_audit`: remove, as the owner of the tables, what is past the retention of the audit (PR-22)."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import ProgrammingError, connection
from django.utils import timezone

from workspaces.errors import ChainDamaged
from workspaces.postgresql.roles import owning
from workspaces.services.chains import prune
from workspaces.services.checkpoints import every_chain
from workspaces.types import Actor

ACTOR = Actor(kind="system", id="manage.py", name="operator")


class Command(BaseCommand):
    help = "Remove what is past the retention of the audit, and leave a signed checkpoint in its place."

    def handle(self, *args: Any, **options: Any) -> None:
        with owning(connection):
            for chain in every_chain():
                self._prune(chain)

    def _prune(self, chain: str) -> None:
        try:
            pruned = prune(chain, actor=ACTOR, now=timezone.now())
        except ChainDamaged as error:
            raise CommandError(f"{chain}: {error}. Nothing of it is removed.") from error
        except ProgrammingError as error:
            raise CommandError("Only the owner of the tables may: set DATABASE_OWNER_URL.") from error
        said = f"{pruned.entries} entries removed, up to {pruned.through}" if pruned else "nothing to remove"
        self.stdout.write(f"{chain}: {said}")
