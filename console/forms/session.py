"""Signing in, joining, a new password (PL-4)."""

from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.contrib.auth.password_validation import validate_password
from django.utils.translation import gettext_lazy as _

from console.forms.base import ProblemForm
from workspaces.languages import spoken_to


class SignInForm(ProblemForm):
    username = forms.EmailField(
        label=_("E-mail address"),
        widget=forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True}),
    )
    password = forms.CharField(
        label=_("Password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class JoinForm(ProblemForm):
    """For somebody without an account: a name and a new password, twice."""

    name = forms.CharField(
        label=_("Your name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    password1 = forms.CharField(
        label=_("Password"),
        strip=False,
        help_text=_("At least 12 characters, and not a common password."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    password2 = forms.CharField(
        label=_("Password again"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean_password1(self) -> str:
        password = str(self.cleaned_data["password1"])
        validate_password(password)
        return password

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("password1") and cleaned["password1"] != cleaned.get("password2"):
            self.add_error("password2", _("The two passwords differ."))
        return cleaned


class JoinAgainForm(ProblemForm):
    """For somebody who has an account: its password."""

    password1 = forms.CharField(
        label=_("The password of your account"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class LinkForm(PasswordResetForm):
    email = forms.EmailField(
        label=_("E-mail address"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )

    def send_mail(self, *args: Any, **kwargs: Any) -> None:
        """Write to a person in the language that they chose, or else in that of who asks."""
        context: dict[str, Any] = args[2]
        with spoken_to(context["user"]):
            super().send_mail(*args, **kwargs)


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password1"].label = _("New password")
        self.fields["new_password1"].help_text = _("At least 12 characters, and not a common password.")
        self.fields["new_password2"].label = _("New password again")
        self.fields["new_password2"].help_text = ""
