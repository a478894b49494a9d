"""`manage.py reset_second_factor E-MAIL`: for who lost it, where no colleague can help (PL-4)."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from workspaces.models import Person
from workspaces.services.second_factors import reset_by_operator
from workspaces.types import Actor

OPERATOR = Actor(kind="system", id="manage.py", name="operator")


class Command(BaseCommand):
    help = "Take the second factor from a person and end their sessions; they set up another one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the address that the person signs in with")

    def handle(self, *args: Any, **options: Any) -> None:
        person = Person.objects.filter(email=options["email"].lower()).first()
        if person is None:
            raise CommandError("Nobody has this address.")
        reset_by_operator(person=person, actor=OPERATOR, now=timezone.now())
        self.stdout.write("The second factor is reset: the next sign-in takes the password alone.")
