"""The features in people's words."""

from typing import Any

import msgspec
from django.http import Http404
from django.utils.translation import gettext_lazy as _


class FeatureTitle(msgspec.Struct, frozen=True):
    """A feature: its key in the document, its name and what it does."""

    key: str
    name: Any
    description: Any


TITLES = (
    FeatureTitle("agent_state", _("Working memory"), _("Lets agents store and read state between turns.")),
    FeatureTitle("history", _("Conversation history"), _("Keeps a run's messages between its steps.")),
    FeatureTitle("context", _("Context assembly"), _("Selects what a model sees, and keeps why.")),
)


def title_of(key: str) -> FeatureTitle:
    """Give a feature by its key, or 404."""
    for title in TITLES:
        if title.key == key:
            return title
    raise Http404
