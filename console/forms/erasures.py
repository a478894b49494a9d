"""Asking for an erasure, and deciding about one (PR-9, PR-17)."""

from django import forms
from django.utils.translation import gettext_lazy as _

from console.forms.base import HANDLE_TITLES, ProblemForm, ReasonField, UnkeptInput
from workspaces.rules.handles import HANDLE_TYPES


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
