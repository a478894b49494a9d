"""Freeing a session whose worker has stopped (HI-5)."""

from django import forms
from django.utils.translation import gettext_lazy as _

from console.forms.base import ProblemForm, ReasonField


class RecoverForm(ProblemForm):
    """Freeing a session: `reservation` names the decision that the page showed."""

    reservation = forms.UUIDField(widget=forms.HiddenInput)
    stopped = forms.BooleanField(
        label=_("The worker has stopped"),
        help_text=_("Look at its process first: two workers that decide at once spoil a conversation."),
    )
    reason = ReasonField()
