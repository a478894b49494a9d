"""The forms of erasures and legal holds: shape only."""

from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from console.forms import HANDLE_TITLES, ProblemForm, ReasonField
from workspaces.rules.handles import HANDLE_TYPES


class UnkeptInput(forms.TextInput):
    """A box whose text is never shown again: a handle would stand in the browser's history (CO-3)."""

    def format_value(self, value: Any) -> None:
        return None


class WhomForm(ProblemForm):
    """Whom or what an erasure is about: found by a handle, a pseudonym or an id, which are not kept."""

    kind = forms.ChoiceField(
        label=_("Kind of handle"),
        required=False,
        choices=[("", _("any")), *((name, HANDLE_TITLES[name]) for name in HANDLE_TYPES)],
    )
    handle = forms.CharField(
        label=_("Handle, pseudonym or id"),
        max_length=512,
        help_text=_("The id of an object looks like cart:shop:7 (type, namespace, id)."),
        widget=UnkeptInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    namespace = forms.CharField(
        label=_("Namespace"), required=False, max_length=256, help_text=_("For ids of another system.")
    )
    what = forms.ChoiceField(
        label=_("What goes"),
        choices=[
            ("profile", _("The whole person, with all handles")),
            ("handle", _("Only this handle and what came by it")),
            ("conversation", _("A conversation, by its id")),
            ("task", _("A task, by its id")),
            ("object", _("An object, by its id")),
        ],
        initial="profile",
        widget=forms.RadioSelect,
    )


class RecoverForm(ProblemForm):
    """Freeing a session: `reservation` names the decision that the page showed."""

    reservation = forms.UUIDField(widget=forms.HiddenInput)
    stopped = forms.BooleanField(
        label=_("The worker has stopped"),
        help_text=_("Look at its process first: two workers that decide at once spoil a conversation."),
    )
    reason = ReasonField()


class ErasureForm(ProblemForm):
    """What every request for an erasure says."""

    verified = forms.BooleanField(
        label=_("The identity of who asks was verified"),
        required=False,
        help_text=_("Without it the request waits until somebody notes that it was."),
    )
    reason = ReasonField()


class EraseForm(ErasureForm):
    typed = forms.CharField(
        label=_("Type the pseudonym"),
        max_length=40,
        help_text=_("An erasure cannot be undone."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    field_order = ("typed",)


class EraseScopeForm(ErasureForm):
    typed = forms.CharField(
        label=_("Type its id again"),
        max_length=512,
        help_text=_("An erasure cannot be undone. The id is kept only as a keyed hash."),
        widget=UnkeptInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    field_order = ("typed",)


class ReasonForm(ProblemForm):
    """A change that asks for nothing but why."""

    reason = ReasonField()


class RefuseForm(ProblemForm):
    refusal = forms.ChoiceField(
        label=_("Why it is refused"),
        choices=[
            ("no_match", _("no_match: it names nobody here")),
            ("legal_hold", _("legal_hold: the law asks for it to be kept")),
            ("identity_not_verified", _("identity_not_verified: who asks is not known to be who they say")),
            ("duplicate", _("duplicate: the same was asked for before")),
        ],
    )
    reason = ReasonField()


class EndField(forms.DateField):
    """The last day of something, as the moment at which it has passed where the person is."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            label=_("Until the end of"),
            widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
            help_text=_("At most 30 years from now. It can be lifted before."),
            **kwargs,
        )

    def clean(self, value: Any) -> Any:
        day = super().clean(value)
        if day is None:
            return None
        if not 1970 <= day.year < 2200:
            raise forms.ValidationError(_("This is not a day on which a hold can end."))
        return datetime.combine(day + timedelta(days=1), time(), timezone.get_current_timezone())


class ProfileHoldForm(ProblemForm):
    ends_at = EndField()
    reason = ReasonField()


class HoldForm(ProblemForm):
    """A hold on what somebody names: a person by a handle or a pseudonym, or a conversation or task by its id."""

    target = forms.ChoiceField(
        label=_("On what"),
        choices=[
            ("profile", _("a person, by a handle or pseudonym")),
            ("conversation", _("a conversation, by its id")),
            ("task", _("a task, by its id")),
        ],
    )
    named = forms.CharField(
        label=_("Handle, pseudonym or id"),
        max_length=512,
        help_text=_("It is kept only as a keyed hash."),
        widget=UnkeptInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    ends_at = EndField()
    reason = ReasonField()
