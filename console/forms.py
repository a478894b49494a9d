"""The forms of the console: shape only."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.contrib.auth.password_validation import validate_password
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from workspaces.errors import InvalidInput
from workspaces.masking.policy import KINDS
from workspaces.rules.handles import HANDLE_TYPES, canonical
from workspaces.rules.rights import KEY_SCOPES, PERMISSIONS, ROLE_TITLES
from workspaces.types import FieldProblem

MAX_REASON_LENGTH = 500
MAX_DOCUMENT_LENGTH = 1_000_000
MAX_TRIED_LENGTH = 2_000
REGIONS = (
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
)
ZONES = ("UTC", *sorted(zone for zone in available_timezones() if zone.partition("/")[0] in REGIONS))
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


class ProblemForm(forms.Form):
    """A form that can show the problems that a rule found behind it."""

    def add_problems(self, problems: tuple[FieldProblem, ...], *, otherwise: str) -> None:
        """Show each problem at its field, or at the top where the form has no such field."""
        for problem in problems:
            name = problem.pointer.strip("/").split("/")[0]
            self.add_error(name if name in self.fields else None, problem.detail)
        if not problems:
            self.add_error(None, otherwise)


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


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password1"].label = _("New password")
        self.fields["new_password1"].help_text = _("At least 12 characters, and not a common password.")
        self.fields["new_password2"].label = _("New password again")
        self.fields["new_password2"].help_text = ""


class FeatureForm(forms.Form):
    version = forms.IntegerField(widget=forms.HiddenInput)
    reason = ReasonField()


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
                raise forms.ValidationError(error.title) from error
        return cleaned


class KeyForm(ProblemForm):
    source = forms.CharField(
        label=_("Source"),
        max_length=120,
        help_text=_("The system that calls the API, such as the chat backend."),
    )
    name = forms.CharField(label=_("Name"), max_length=120, help_text=_("What this key is for."))
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        choices=[(scope, f"{scope}: {effect}") for scope, effect in KEY_SCOPES.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    agents = LinesField(label=_("Agents"), help_text=_("One a line; empty: all agents."))
    networks = LinesField(label=_("Networks"), help_text=_("One a line, such as 10.0.0.0/8; empty: any."))
    expires = forms.IntegerField(label=_("Days until it expires"), min_value=1, max_value=730, initial=90)
    resend = forms.BooleanField(
        label=_("Recognize a compare-and-swap that is sent again"),
        required=False,
        help_text=_("For clients that send no Idempotency-Key. Not for two workers that share the key."),
    )
    reason = ReasonField()


class RotateForm(ProblemForm):
    overlap = forms.IntegerField(
        label=_("Hours in which both secrets work"), min_value=0, max_value=24 * 30, initial=24
    )
    reason = ReasonField()


class RevokeForm(ProblemForm):
    name = forms.CharField(
        label=_("Type the name of the key"),
        max_length=120,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    reason = ReasonField()


class PackageForm(forms.Form):
    reason = ReasonField()


class InviteForm(ProblemForm):
    email = forms.EmailField(
        label=_("E-mail address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    roles = forms.MultipleChoiceField(
        label=_("Roles"), choices=list(ROLE_TITLES.items()), widget=forms.CheckboxSelectMultiple
    )
    reason = ReasonField()


class WithdrawForm(forms.Form):
    reason = ReasonField()


class RolesForm(ProblemForm):
    roles = forms.MultipleChoiceField(
        label=_("Roles"),
        required=False,
        choices=list(ROLE_TITLES.items()),
        widget=forms.CheckboxSelectMultiple,
    )
    reason = ReasonField()
    step = forms.CharField(widget=forms.HiddenInput, required=False, initial="choose")


class ZoneSelect(forms.Select):
    """A select of hundreds of options, drawn in one go: Django's own renders a template for each."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        options = format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            ((zone, " selected" if zone == value else "", title) for zone, title in self.choices),
        )
        given = flatatt(self.build_attrs(self.attrs, {**(attrs or {}), "name": name}))
        return format_html("<select{}>{}</select>", given, options)


class MeForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=120)
    time_zone = forms.ChoiceField(
        label=_("Time zone"), choices=[(zone, zone.replace("_", " ")) for zone in ZONES], widget=ZoneSelect
    )


class TokenForm(ProblemForm):
    name = forms.CharField(label=_("Name"), max_length=120, help_text=_("What the token is for."))
    permissions = forms.MultipleChoiceField(label=_("May"), widget=forms.CheckboxSelectMultiple)
    expires = forms.IntegerField(label=_("Days until it expires"), min_value=1, max_value=90, initial=30)
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        help_text=_("Asked again, since a token acts as you."),
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, held: frozenset[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(name, title) for name, title in PERMISSIONS.items() if name in held]
        self.fields["permissions"].choices = choices  # type: ignore[attr-defined]


class ConfirmForm(forms.Form):
    """A confirmation that asks for nothing more."""
