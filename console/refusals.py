"""Refusals in the reader's words: services and rules say them in English, for whoever calls the API (CO-11)."""

from django.conf import settings
from django.utils.translation import get_language, gettext

from workspaces.errors import Problem


def in_words(problem: Problem) -> str:
    """Say what was refused: the sentence of this case where it has one, or else that of its kind."""
    return detail_in_words(problem) or gettext(problem.title)


def detail_in_words(problem: Problem) -> str:
    """Say the sentence of this case; nothing where it has none, or names a value and so was never translated."""
    said = gettext(problem.detail)
    is_left_english = said == problem.detail and get_language() != settings.LANGUAGE_CODE
    return "" if is_left_english else said
