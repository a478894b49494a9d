"""The fields and forms that others are made of."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from workspaces.types import FieldProblem

MAX_REASON_LENGTH = 500
HANDLE_TITLES = {
    "phone_e164": _("phone number"),
    "wa_id": _("WhatsApp number (wa_id)"),
    "wa_jid": _("WhatsApp address (JID)"),
    "wa_lid": _("WhatsApp hidden address (LID)"),
    "wa_bsuid": _("WhatsApp business-scoped id"),
    "email": _("e-mail address"),
    "gov_id_hmac": _("hash of a government id"),
    "app_user_id": _("user id of an app"),
    "system_id": _("id in another system"),
    "org_registry_hmac": _("hash of a company's registry number"),
    "email_domain": _("e-mail domain"),
    "anon_id": _("anonymous id"),
}


class ReasonField(forms.CharField):
    """Why something is done. It is kept in the audit log."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            label=_("Reason"),
            max_length=MAX_REASON_LENGTH,
            widget=forms.Textarea(attrs={"rows": 2}),
            help_text=_("Shown in the audit log. Name no person and write no personal data."),
            **kwargs,
        )


class LinesField(forms.CharField):
    """A list, one item a line."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea(attrs={"rows": 2}), **kwargs)

    def clean(self, value: Any) -> tuple[str, ...]:
        text = super().clean(value)
        return tuple(line.strip() for line in text.splitlines() if line.strip())


class UnkeptInput(forms.TextInput):
    """A box whose text is never shown again: a handle would stand in the browser's history (CO-3)."""

    def format_value(self, value: Any) -> None:
        return None


class ProblemForm(forms.Form):
    """A form that can show the problems that a rule found behind it."""

    def add_problems(self, problems: tuple[FieldProblem, ...], *, otherwise: str) -> None:
        """Show each problem at its field, or at the top where the form has no such field."""
        for problem in problems:
            name = problem.pointer.strip("/").split("/")[0]
            self.add_error(name if name in self.fields else None, gettext(problem.detail))
        if not problems:
            self.add_error(None, otherwise)


class ReasonForm(ProblemForm):
    """A change that asks for nothing but why."""

    reason = ReasonField()


class ConfirmForm(forms.Form):
    """A confirmation that asks for nothing more."""
