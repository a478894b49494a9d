"""Deciding a request, and where four eyes hold (PR-2b)."""

from django import forms
from django.utils.translation import gettext_lazy as _

from console.forms.base import ReasonField


class DecisionForm(forms.Form):
    """A decision about a change; `seen` names the content that it is about."""

    seen = forms.CharField(max_length=64, widget=forms.HiddenInput)
    reason = ReasonField()


class FourEyesForm(forms.Form):
    version = forms.IntegerField(widget=forms.HiddenInput)
    kinds = forms.MultipleChoiceField(
        label=_("A second person approves"),
        required=False,
        choices=[
            ("features", _("Features")),
            ("object-types", _("Object types")),
            ("masking", _("Masking")),
            ("retention", _("Retention")),
            ("assembly-policy", _("Assembly policy")),
            ("erasure", _("Erasures")),
        ],
        widget=forms.CheckboxSelectMultiple,
    )
    reason = ReasonField()
