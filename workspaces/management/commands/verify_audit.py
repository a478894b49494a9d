"""`manage.py verify_audit`: walk the audit chains and name the first bad entry of each (PR-22)."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workspaces import access
from workspaces.audit import ChainState, verify_chain, verify_deployment_chain


class Command(BaseCommand):
    help = "Verify the audit chain of every workspace and of the deployment."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", help="only this one (its slug)")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = options["workspace"]
        chosen = [found for found in access.every_workspace() if wanted in {None, found.slug}]
        if wanted and not chosen:
            raise CommandError("There is no workspace with that slug.")
        states = {"deployment": verify_deployment_chain()}
        for workspace in chosen:
            with access.bound(workspace.id):
                states[workspace.slug] = verify_chain()
        for name, state in states.items():
            self.stdout.write(f"{name}: {self._sentence(state)}")
        if any(state.first_bad is not None for state in states.values()):
            raise CommandError("A chain does not verify.")

    def _sentence(self, state: ChainState) -> str:
        if state.first_bad is not None:
            return f"entry {state.first_bad} is the first that does not verify"
        return f"{state.entries} entries verify"
