"""What the reference of the API adds to the pages' tags (PL-9)."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def marked(text: str) -> SafeString:
    """Show what stands between backticks as code, and escape all of it."""
    parts = (
        format_html("<code>{}</code>" if index % 2 else "{}", part)
        for index, part in enumerate(text.split("`"))
    )
    return format_html_join("", "{}", ((part,) for part in parts))
