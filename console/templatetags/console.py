"""What the pages share: icons, badges, sizes, times and query strings (CO-1, CO-4, CO-11)."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Protocol

from django import template
from django.http import HttpRequest
from django.template import Context
from django.template.defaultfilters import filesizeformat
from django.templatetags.static import static
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from console.kinds import kind_title

register = template.Library()


class Filter(Protocol):
    """What a filter of a list has at least."""

    value: str


CURSORS = ("newer", "older")

# Status = tone + icon + word, so that none of the three carries the meaning alone.
STATUSES: Mapping[str, tuple[str, str, Any]] = {
    "active": ("ok", "check", _("Active")),
    "on": ("ok", "check", _("On")),
    "live": ("ok", "check", _("Live")),
    "verified": ("ok", "check", _("Verified")),
    "success": ("ok", "check", _("Done")),
    "received": ("info", "clock", _("Received")),
    "running": ("info", "loader-circle", _("Running")),
    "stuck": ("warn", "triangle-alert", _("Running for long")),
    "idle": ("", "", _("Idle")),
    "free": ("ok", "check", _("Free")),
    "completed": ("ok", "check", _("Completed")),
    "late": ("bad", "triangle-alert", _("Late")),
    "due_soon": ("warn", "clock", _("Due soon")),
    "blocked": ("warn", "lock", _("Waits for a legal hold")),
    "unidentified": ("info", "clock", _("Identity not verified")),
    "unapproved": ("info", "clock", _("Waits for approval")),
    "standing": ("warn", "lock", _("Stands")),
    "lifted": ("", "", _("Lifted")),
    "ended": ("", "", _("Ended")),
    "pending": ("info", "clock", _("Waiting")),
    "proposed": ("info", "clock", _("Waiting")),
    "approved": ("ok", "check", _("Approved")),
    "scheduled": ("info", "clock", _("Scheduled")),
    "published": ("ok", "check", _("Published")),
    "denied": ("bad", "x", _("Denied")),
    "withdrawn": ("", "x", _("Withdrawn")),
    "failed": ("bad", "triangle-alert", _("Failed")),
    "ready": ("ok", "check", _("Ready")),
    "draft": ("info", "clock", _("Draft")),
    "held": ("warn", "lock", _("Legal hold")),
    "expiring": ("warn", "clock", _("Expires soon")),
    "expired": ("", "clock", _("Expired")),
    "refused": ("bad", "triangle-alert", _("Refused")),
    "failure": ("bad", "triangle-alert", _("Failed")),
    "broken": ("bad", "triangle-alert", _("Broken")),
    "revoked": ("bad", "triangle-alert", _("Revoked")),
    "breaking": ("bad", "triangle-alert", _("Breaking")),
    "there": ("ok", "check", _("Answers")),
    "missing": ("bad", "triangle-alert", _("Does not answer")),
    "never_seen": ("warn", "clock", _("Not seen yet")),
    "waiting": ("info", "clock", _("Waiting")),
    "off": ("", "", _("Off")),
    "never_used": ("", "", _("Never used")),
}

TONES: Mapping[str, str] = {"ok": "check", "info": "info", "warn": "triangle-alert", "bad": "triangle-alert"}
MESSAGE_TONES: Mapping[str, str] = {"success": "ok", "warning": "warn", "error": "bad"}
ENVIRONMENT_TONES: Mapping[str, str] = {"production": "bad", "staging": "warn"}


def moment_format(precision: str) -> str:
    """Name the format of the viewer's language for a day, a minute or a second."""
    if precision == "date":
        return str(formats.get_format("DATE_FORMAT"))
    minute = str(formats.get_format("DATETIME_FORMAT"))
    return minute.replace("H:i", "H:i:s") if precision == "second" else minute


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """Draw an icon of the sprite, hidden from screen readers unless it has a label."""
    href = f"{static('console/icons.svg')}#{name}"
    if label:
        return format_html('<svg class="i" role="img" aria-label="{}"><use href="{}"/></svg>', label, href)
    return format_html('<svg class="i" aria-hidden="true"><use href="{}"/></svg>', href)


@register.inclusion_tag("console/_badge.html")
def badge(status: str = "", *, tone: str = "", mark: str = "", text: str = "") -> dict[str, Any]:
    """Show a status as colour, icon and word; a status that is not known shows its own word."""
    known_tone, known_mark, word = STATUSES.get(status, ("", "", status))
    return {"tone": tone or known_tone, "mark": mark or known_mark, "text": text or word}


@register.inclusion_tag("console/_time.html")
def when(value: datetime | date | None, precision: str = "minute", empty: str = "") -> dict[str, Any]:
    """Show a moment in the viewer's zone, with UTC in the title (CO-11)."""
    if not isinstance(value, datetime):
        shown = formats.date_format(value, "DATE_FORMAT") if value else ""
        return {"iso": value.isoformat() if value else "", "utc": "", "shown": shown, "empty": empty}
    utc = value.astimezone(UTC)
    return {
        "iso": utc.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "utc": f"{utc:%Y-%m-%d %H:%M:%S} UTC",
        "shown": formats.date_format(timezone.localtime(value), moment_format(precision)),
        "empty": empty,
    }


@register.inclusion_tag("console/_bytes.html")
def size(value: int) -> dict[str, Any]:
    """Show a number of bytes in the largest unit that fits, with the exact number in the title."""
    return {"value": value, "exact": number(value), "shown": filesizeformat(value)}


@register.filter
def number(value: int | str) -> str:
    """Group the digits of a count as the viewer's language does; a capped count is text already."""
    if isinstance(value, str):
        return value
    return formats.number_format(value, use_l10n=True, force_grouping=True)


@register.filter
def kind(name: str) -> str:
    """Name a kind of object in the reader's words."""
    return kind_title(name)


@register.filter
def tone_icon(tone: str) -> str:
    """Name the icon that goes with a tone."""
    return TONES.get(tone, "info")


@register.filter
def message_tone(tags: str) -> str:
    """Name the tone of a message of Django's message framework."""
    return MESSAGE_TONES.get(tags.rpartition(" ")[2], "info")


@register.filter
def environment_tone(name: str) -> str:
    """Name the tone of the environment badge."""
    return ENVIRONMENT_TONES.get(name, "info")


@register.simple_tag(takes_context=True)
def without(context: Context, *names: str) -> str:
    """Give the query of this page without some parameters, back on its first page (CO-4)."""
    request: HttpRequest = context["request"]
    query = request.GET.copy()
    for name in (*names, *CURSORS):
        query.pop(name, None)
    return f"?{query.urlencode()}" if query else ""


@register.simple_tag(takes_context=True)
def turned(context: Context, *, newer: str = "", older: str = "") -> str:
    """Give the query of this page turned to a cursor, keeping its filters (CO-4)."""
    request: HttpRequest = context["request"]
    query = request.GET.copy()
    for name, cursor in zip(CURSORS, (newer, older), strict=True):
        query.pop(name, None)
        if cursor:
            query[name] = cursor
    return f"?{query.urlencode()}"


@register.filter
def set_filters(filters: Sequence[Filter]) -> list[Filter]:
    """Keep the filters that have a value, for the chips (CO-4)."""
    return [each for each in filters or () if each.value]
