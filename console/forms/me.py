"""A person's own settings and tokens (PL-3)."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from console.forms.base import ProblemForm
from console.rights import permission_choices

REGIONS = (
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
)
ZONES = ("UTC", *sorted(zone for zone in available_timezones() if zone.partition("/")[0] in REGIONS))


class ZoneSelect(forms.Select):
    """A select of hundreds of options, drawn in one go: Django's own renders a template for each."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        options = format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            ((zone, " selected" if zone == value else "", title) for zone, title in self.choices),
        )
        given = flatatt(self.build_attrs(self.attrs, {**(attrs or {}), "name": name}))
        return format_html("<select{}>{}</select>", given, options)


class MeForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=120)
    language = forms.ChoiceField(
        label=_("Language"),
        required=False,
        choices=[("", _("As the browser asks")), *settings.LANGUAGES],
        help_text=_("Of the pages, and of the mails that you get."),
    )
    time_zone = forms.ChoiceField(
        label=_("Time zone"), choices=[(zone, zone.replace("_", " ")) for zone in ZONES], widget=ZoneSelect
    )


class TokenForm(ProblemForm):
    name = forms.CharField(label=_("Name"), max_length=120, help_text=_("What the token is for."))
    permissions = forms.MultipleChoiceField(label=_("May"), widget=forms.CheckboxSelectMultiple)
    expires = forms.IntegerField(label=_("Days until it expires"), min_value=1, max_value=90, initial=30)
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        help_text=_("Asked again, since a token acts as you."),
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, held: frozenset[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["permissions"].choices = permission_choices(held)  # type: ignore[attr-defined]
