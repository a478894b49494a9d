"""Bad combinations of settings, found before the server starts."""

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import Error, Tags, register
from django.core.files.storage import InvalidStorageError, storages

STORAGE, FOLDER = "payloads", "django.core.files.storage.FileSystemStorage"
PAGES = "console.middleware.PagesOnly"
REQUIRED = (
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
)


@register(Tags.security)
def page_policy(**_: Any) -> list[Error]:
    """Find pages without their policy, CSRF or denial of frames: Django looks for these in MIDDLEWARE alone (PL-19)."""
    missing = [path for path in REQUIRED if path not in settings.PAGE_MIDDLEWARE]
    missing += [PAGES] if PAGES not in settings.MIDDLEWARE else []
    if not missing:
        return []
    hint = "Put these around pages again: " + ", ".join(missing)
    return [Error("Pages of the console are not protected.", hint=hint, id="lastro.E001")]


@register()
def payload_storage(**_: Any) -> list[Error]:
    """Find a blob store that cannot be used: a backend that is not installed, a folder that is not ours (CA-4)."""
    try:
        location = getattr(storages[STORAGE], "base_location", None)
    except InvalidStorageError:
        hint = "For s3://... install the extra `s3` of this project (django-storages with boto3)."
        return [Error("The storage that PAYLOADS_URL names is not installed.", hint=hint, id="lastro.E002")]
    if settings.STORAGES[STORAGE]["BACKEND"] != FOLDER or _is_usable(Path(str(location))):
        return []
    hint = "Name a folder in PAYLOADS_URL that this account may make or write to."
    return [Error("The folder of the payloads cannot be used.", hint=hint, id="lastro.E003")]


def _is_usable(folder: Path) -> bool:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
