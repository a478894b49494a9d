"""`manage.py create_workspace SLUG --name NAME --owner E-MAIL`: a workspace and the invitation of its owner (PL-4)."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from workspaces import access
from workspaces.rules.rights import ROLES
from workspaces.services import people, workspaces
from workspaces.types import Actor

OPERATOR = Actor(kind="system", id="manage.py", name="operator")


class Command(BaseCommand):
    help = "Make a workspace in which every feature is off, and invite its first owner by e-mail."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the short name in addresses: letters, digits and hyphens")
        parser.add_argument("--name", required=True, help="the name that people see")
        parser.add_argument("--owner", required=True, metavar="EMAIL", help="who is invited as owner")
        parser.add_argument(
            "--roles",
            nargs="+",
            default=["owner"],
            choices=sorted(ROLES),
            help="roles of the first person (default: owner)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        try:
            validate_email(options["owner"])
            with transaction.atomic():
                workspace = workspaces.create_workspace(
                    slug=options["slug"], name=options["name"], actor=OPERATOR, now=now
                )
                with access.bound(workspace.id):
                    token = people.invite(
                        workspace=workspace,
                        email=options["owner"],
                        roles=options["roles"],
                        inviter=None,
                        actor=OPERATOR,
                        now=now,
                    )
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from error
        self.stdout.write(f"Workspace {workspace.slug} is made. The invitation of {options['owner']}:")
        self.stdout.write(people.invitation_link(token))
