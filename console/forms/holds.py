"""Legal holds (PR-16)."""

from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from console.forms.base import ProblemForm, ReasonField, UnkeptInput


class EndField(forms.DateField):
    """The last day of something, as the moment at which it has passed where the person is."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            label=_("Until the end of"),
            widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
            help_text=_("At most 30 years from now. It can be lifted before."),
            **kwargs,
        )

    def clean(self, value: Any) -> Any:
        day = super().clean(value)
        if day is None:
            return None
        if not 1970 <= day.year < 2200:
            raise forms.ValidationError(_("This is not a day on which a hold can end."))
        return datetime.combine(day + timedelta(days=1), time(), timezone.get_current_timezone())


class ProfileHoldForm(ProblemForm):
    ends_at = EndField()
    reason = ReasonField()


class HoldForm(ProblemForm):
    """A hold on what somebody names: a person by a handle or a pseudonym, or a conversation or task by its id."""

    target = forms.ChoiceField(
        label=_("On what"),
        choices=[
            ("profile", _("a person, by a handle or pseudonym")),
            ("conversation", _("a conversation, by its id")),
            ("task", _("a task, by its id")),
        ],
    )
    named = forms.CharField(
        label=_("Handle, pseudonym or id"),
        max_length=512,
        help_text=_("It is kept only as a keyed hash."),
        widget=UnkeptInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    ends_at = EndField()
    reason = ReasonField()
