"""`manage.py update_messages`: bring the catalogues up to date with the pages, and compile them (CO-11)."""

from typing import Any

from django.core.management.base import BaseCommand

from console import catalogues


class Command(BaseCommand):
    help = "Collect what the pages say into the catalogues of each language, and compile them."

    def handle(self, *args: Any, **options: Any) -> None:
        found = catalogues.collected()
        for language in catalogues.LANGUAGES:
            missing = catalogues.update(language, found)
            self.stdout.write(f"{language}: {len(found)} texts, {len(missing)} without a translation")
