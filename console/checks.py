"""Bad combinations of settings, found before the server starts."""

from typing import Any

from django.conf import settings
from django.core.checks import Error, Tags, register

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
