"""`manage.py rotate_signing_key`: receipts and checkpoints are signed by a new key from now on (PR-20b)."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from workspaces.services.signing import rotate_signing_key
from workspaces.types import Actor


class Command(BaseCommand):
    help = "Retire the signing key and make a new one. What the old one signed keeps verifying."

    def handle(self, *args: Any, **options: Any) -> None:
        actor = Actor(kind="system", id="manage.py", name="operator")
        key = rotate_signing_key(actor=actor, now=timezone.now())
        self.stdout.write(f"{key.id} {key.public_key}")
