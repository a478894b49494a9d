"""`manage.py create_key WORKSPACE --source NAME --scopes agent_state`: a key of a source, shown once (PL-3)."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from workspaces import access
from workspaces.errors import Problem
from workspaces.models import Workspace
from workspaces.rules.rights import KEY_SCOPES
from workspaces.services.credentials import KeyWish, make_api_key
from workspaces.types import Actor


class Command(BaseCommand):
    help = "Make a key of a source. It is printed once and stored only as a hash."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("workspace", help="the slug of the workspace")
        parser.add_argument("--source", required=True, help="the system that will use the key")
        parser.add_argument("--name", default="command line", help="what the key is for")
        parser.add_argument("--scopes", nargs="+", required=True, choices=sorted(KEY_SCOPES))
        parser.add_argument("--agents", nargs="*", default=[], help="only for these agents")
        parser.add_argument("--days", type=int, default=90, help="days until it expires (default 90)")
        parser.add_argument(
            "--resend", action="store_true", help="recognize a cas that is sent again (WM-15)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = Workspace.objects.filter(slug=options["workspace"]).first()
        if workspace is None:
            raise CommandError("There is no workspace with that slug.")
        now = timezone.now()
        wish = KeyWish(
            source=options["source"],
            name=options["name"],
            scopes=tuple(options["scopes"]),
            agents=tuple(options["agents"]),
            resend=options["resend"],
            expires_at=now + timedelta(days=options["days"]),
        )
        actor = Actor(kind="system", id="manage.py", name="operator")
        try:
            with access.bound(workspace.id):
                made = make_api_key(wish=wish, maker=None, actor=actor, now=now)
        except Problem as error:
            raise CommandError(
                "; ".join(problem.detail for problem in error.errors) or error.title
            ) from error
        self.stdout.write(made.text)
