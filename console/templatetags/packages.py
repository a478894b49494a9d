"""What the page of a subject package shares (PR-18)."""

from django import template
from django.utils.translation import gettext

from privacy.types import Shown, Word

register = template.Library()


@register.filter
def spoken(text: str) -> str:
    """Say a word of the page in its reader's language; data stays as it is."""
    return gettext(text) if isinstance(text, Word) else text


@register.filter
def title(record: Shown) -> str:
    """Give the title of a record, with what it names."""
    said = spoken(record.title)
    return said % record.named if record.named else said


@register.filter
def remarks(notes: tuple[str, ...]) -> str:
    """Give the remarks on a value, on one line."""
    return ", ".join(map(spoken, notes))
