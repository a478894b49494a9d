"""Switching a feature (PR-1)."""

from django import forms

from console.forms.base import ReasonField


class FeatureForm(forms.Form):
    version = forms.IntegerField(widget=forms.HiddenInput)
    reason = ReasonField()
