#!/usr/bin/env python3
"""Django's command line."""

import os
import sys


def main() -> None:
    """Run one management command, or say in one sentence what it lacks."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    try:
        from django.conf import settings
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ModuleNotFoundError:
        sys.exit("lastro: Django is not here. Use .venv/bin/python manage.py, or `make manage` for the demo.")
    try:
        _ = settings.INSTALLED_APPS
    except ImproperlyConfigured as error:
        sys.exit(f"lastro: {error} (`make manage` runs a command on the demo that is up.)")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
