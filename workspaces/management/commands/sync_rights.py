"""`manage.py sync_rights`: bring the role groups of every workspace to the table of rights, after an upgrade (PL-2)."""

from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from workspaces import access
from workspaces.models import Workspace
from workspaces.services.workspaces import sync_role_rights


class Command(BaseCommand):
    help = "Make every role of every workspace hold exactly what the table of rights says."

    def handle(self, *args: Any, **options: Any) -> None:
        for workspace in Workspace.objects.order_by("slug"):
            with access.bound(workspace.id), transaction.atomic():
                sync_role_rights(workspace)
            self.stdout.write(workspace.slug)
