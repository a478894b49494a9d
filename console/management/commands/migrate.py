"""`manage.py migrate`: both databases, as their owner, who then lets the application's roles in (PL-1, PL-14)."""

from typing import Any

from django.core.management.commands.migrate import Command as Migrate
from django.db import connections, transaction

from workspaces.postgresql.roles import is_isolated, let_in, owning

NOT_ISOLATED = (
    "{}: the application's role owns its tables, so that row-level security does not hold for it. "
    "Give the owner a role of its own, in {}."
)
OWNER_URLS = {"default": "DATABASE_OWNER_URL", "keys": "KEYS_DATABASE_OWNER_URL"}


class Command(Migrate):
    """Django's command; without `--database` it does both."""

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database=None)

    def get_check_kwargs(self, options: dict[str, Any]) -> Any:
        return {"databases": [options["database"]] if options["database"] else list(connections)}

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = options.pop("database")
        for alias in [wanted] if wanted else list(connections):
            self._migrate(alias, *args, **options)

    def _migrate(self, alias: str, *args: Any, **options: Any) -> None:
        connection: Any = connections[alias]
        with owning(connection) as role:
            if role:
                _let_in(alias, role)
            super().handle(*args, database=alias, **options)
            if role:
                _let_in(alias, role)
        if not connection.application and not is_isolated(connection):
            self.stderr.write(self.style.WARNING(NOT_ISOLATED.format(alias, OWNER_URLS[alias])))


def _let_in(alias: str, role: str) -> None:
    with transaction.atomic(using=alias):
        let_in(connections[alias], role)
