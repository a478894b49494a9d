"""Subject packages (PR-18)."""

from django import forms

from console.forms.base import ReasonField


class PackageForm(forms.Form):
    reason = ReasonField()
