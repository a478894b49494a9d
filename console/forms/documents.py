"""Drafts of documents, and a try of masking (PR-2)."""

from django import forms
from django.utils.translation import gettext_lazy as _

from console.forms.base import LinesField, ProblemForm, ReasonField
from workspaces.masking.policy import KINDS

MAX_DOCUMENT_LENGTH = 1_000_000
MAX_TRIED_LENGTH = 2_000


class DraftForm(ProblemForm):
    document = forms.CharField(
        label=_("The whole document"),
        max_length=MAX_DOCUMENT_LENGTH,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false", "class": "mono"}),
    )
    version = forms.IntegerField(widget=forms.HiddenInput)
    checked = forms.CharField(required=False, widget=forms.HiddenInput)
    reason = ReasonField(required=False)


class TypesDraftForm(DraftForm):
    drop = LinesField(
        label=_("Drop"),
        help_text=_(
            "One type.field a line; what states hold of it is removed. Fields that states hold go in no other way."
        ),
    )


class MaskingForm(forms.Form):
    """A value to try, and how the field would be declared that holds it."""

    value = forms.CharField(
        label=_("Value"),
        required=False,
        strip=False,
        max_length=MAX_TRIED_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
        help_text=_("Use an invented one. It is neither stored nor logged."),
    )
    declared = forms.ChoiceField(
        label=_("The field is declared"),
        required=False,
        choices=[
            ("", _("not as personal data")),
            ("true", "pii: true"),
            *((kind, f"pii: {kind}") for kind in sorted(KINDS)),
        ],
    )

    @property
    def pii(self) -> bool | str:
        """Give the declaration as a schema writes it."""
        declared = str(self.cleaned_data["declared"])
        return declared == "true" or (declared if declared else False)
