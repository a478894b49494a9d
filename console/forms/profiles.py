"""Finding a customer (CO-3)."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.forms.base import HANDLE_TITLES
from console.refusals import in_words
from workspaces.errors import InvalidInput
from workspaces.rules.handles import HANDLE_TYPES, canonical


class FindForm(forms.Form):
    kind = forms.ChoiceField(
        label=_("Kind of handle"),
        required=False,
        choices=[("", _("any")), *((name, HANDLE_TITLES[name]) for name in HANDLE_TYPES)],
    )
    handle = forms.CharField(
        label=_("Handle or pseudonym"),
        max_length=512,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    namespace = forms.CharField(label=_("Namespace"), required=False, max_length=256)

    def clean(self) -> dict[str, Any]:
        """Hold a handle to the kind that was chosen; a pseudonym has none."""
        cleaned = super().clean() or self.cleaned_data
        handle, kind = cleaned.get("handle", ""), cleaned.get("kind")
        if kind and not handle.startswith("p_"):
            try:
                canonical(kind, handle, cleaned.get("namespace"))
            except InvalidInput as error:
                raise forms.ValidationError(in_words(error)) from error
        return cleaned
