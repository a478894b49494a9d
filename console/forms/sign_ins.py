"""The forms of signing in beside the password, and of what a person signs in with: shape only."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.forms.base import ProblemForm, ReasonField
from console.forms.me import TokenForm

MAX_CODE_LENGTH = 40


class CodeField(forms.CharField):
    """A code of the app, or where `or_recovery` a recovery code in its place."""

    def __init__(self, *, or_recovery: bool = True, **kwargs: Any) -> None:
        shown = _("Code from your app, or a recovery code") if or_recovery else _("Code from your app")
        keys = {} if or_recovery else {"inputmode": "numeric"}
        super().__init__(
            label=shown,
            max_length=MAX_CODE_LENGTH,
            widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "spellcheck": "false", **keys}),
            **kwargs,
        )


class OwnPasswordField(forms.CharField):
    """The password of who is signed in already."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Your password"),
            strip=False,
            widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        )


class CodeForm(ProblemForm):
    code = CodeField()


class SetUpForm(ProblemForm):
    code = CodeField(or_recovery=False)
    password = OwnPasswordField()


class ProofForm(ProblemForm):
    password = OwnPasswordField()
    code = CodeField()


class ResetForm(ProblemForm):
    reason = ReasonField()


class ProvenTokenForm(TokenForm):
    """For a token of somebody who has a second factor (PL-3)."""

    code = CodeField()
