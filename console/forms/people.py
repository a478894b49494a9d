"""People, invitations and roles (PL-2)."""

from django import forms
from django.utils.translation import gettext_lazy as _

from console.forms.base import ProblemForm, ReasonField
from console.rights import role_choices


class InviteForm(ProblemForm):
    email = forms.EmailField(
        label=_("E-mail address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    roles = forms.MultipleChoiceField(
        label=_("Roles"), choices=role_choices, widget=forms.CheckboxSelectMultiple
    )
    reason = ReasonField()


class WithdrawForm(forms.Form):
    reason = ReasonField()


class RolesForm(ProblemForm):
    roles = forms.MultipleChoiceField(
        label=_("Roles"),
        required=False,
        choices=role_choices,
        widget=forms.CheckboxSelectMultiple,
    )
    reason = ReasonField()
    step = forms.CharField(widget=forms.HiddenInput, required=False, initial="choose")
