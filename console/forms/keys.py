"""Keys of sources (PL-3)."""

from django import forms
from django.utils.translation import gettext_lazy as _

from console.forms.base import LinesField, ProblemForm, ReasonField
from console.rights import scope_choices


class KeyForm(ProblemForm):
    source = forms.CharField(
        label=_("Source"),
        max_length=120,
        help_text=_("The system that calls the API, such as the chat backend."),
    )
    name = forms.CharField(label=_("Name"), max_length=120, help_text=_("What this key is for."))
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        choices=scope_choices,
        widget=forms.CheckboxSelectMultiple,
    )
    agents = LinesField(label=_("Agents"), help_text=_("One a line; empty: all agents."))
    networks = LinesField(label=_("Networks"), help_text=_("One a line, such as 10.0.0.0/8; empty: any."))
    expires = forms.IntegerField(label=_("Days until it expires"), min_value=1, max_value=730, initial=90)
    resend = forms.BooleanField(
        label=_("Recognize a compare-and-swap that is sent again"),
        required=False,
        help_text=_("For clients that send no Idempotency-Key. Not for two workers that share the key."),
    )
    reason = ReasonField()


class RotateForm(ProblemForm):
    overlap = forms.IntegerField(
        label=_("Hours in which both secrets work"), min_value=0, max_value=24 * 30, initial=24
    )
    reason = ReasonField()


class RevokeForm(ProblemForm):
    name = forms.CharField(
        label=_("Type the name of the key"),
        max_length=120,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    reason = ReasonField()
