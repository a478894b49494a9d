"""The kinds of objects that the audit and the pages name, and of who acts, in the reader's words (CO-11)."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

TITLES: dict[str, Any] = {
    "chain": _("chain"),
    "change": pgettext_lazy("noun", "change"),
    "conversation": _("conversation"),
    "deployment_key": _("deployment key"),
    "document": _("document"),
    "erasure": _("erasure"),
    "feature": _("feature"),
    "handle": _("handle"),
    "history_session": _("history session"),
    "hold": _("hold"),
    "invitation": _("invitation"),
    "key": _("key"),
    "link": _("link"),
    "master_key": _("master key"),
    "name_hash": _("hashed name"),
    "network": _("network"),
    "object": _("object"),
    "package": _("package"),
    "person": _("person"),
    "profile": _("profile"),
    "session": _("session"),
    "signing_key": _("signing key"),
    "system": _("system"),
    "task": _("task"),
    "token": _("token"),
    "workspace": _("workspace"),
}


def kind_title(kind: str) -> str:
    """Name a kind; one that has no word keeps its code."""
    return str(TITLES.get(kind, kind))
