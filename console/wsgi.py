"""The entry of the web server: granian in WSGI mode."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

application = get_wsgi_application()

from workspaces.services import usage  # noqa: E402  (needs the apps)

# Views are imported before the first request, which would wait for them otherwise.
_ = get_resolver().url_patterns

usage.keep_counting()
