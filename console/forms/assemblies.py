"""Asking why a model did not see a record (CA-17)."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.forms.base import ProblemForm

RECORD_TITLES = {
    "message": _("message"),
    "tool_memory": _("memory"),
    "tool_artifact": _("artifact: the result of a call"),
    "tool_call": _("call of a tool"),
    "skill_state": _("loaded skills"),
    "checkpoint": _("checkpoint"),
    "run_finished": _("final state of a run"),
}
"""What a model can be shown, in people's words."""


class WhyForm(ProblemForm):
    """The record that somebody asks about: its type and its id, which are names."""

    type = forms.ChoiceField(label=_("What kind of record"), choices=list(RECORD_TITLES.items()))
    id = forms.RegexField(
        r"\A[A-Za-z0-9_.:-]{1,64}\Z",
        label=_("Its id"),
        help_text=_("As your own system named it when it was recorded, such as mem-42."),
        error_messages={
            "invalid": _("An id has 1 to 64 letters, digits and the characters _ . : and - in it.")
        },
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.use_required_attribute = True
