"""A new password, by a link that is mailed (PL-4)."""

from typing import Any

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.contrib.auth.views import (
    INTERNAL_RESET_SESSION_TOKEN,
    PasswordResetCompleteView,
    PasswordResetConfirmView,
    PasswordResetDoneView,
    PasswordResetView,
)
from django.forms import Form
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse_lazy
from django.utils import timezone

from console.forms.session import LinkForm, NewPasswordForm
from workspaces.models import Person
from workspaces.services.mails import may_mail_link
from workspaces.services.people import choose_password


class AskForLink(PasswordResetView):
    """Mails the link, and answers alike whether or not somebody has the address."""

    form_class = LinkForm
    template_name = "console/password_reset.html"
    email_template_name = "email/password_reset.txt"
    subject_template_name = "email/password_reset_subject.txt"
    success_url = reverse_lazy("console:password_reset_done")
    # Not the host of the request: whoever asks for the link would choose where it leads.
    extra_email_context = {"base_url": settings.LASTRO_BASE_URL}

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        """Mail the link, but few to one address and few for one network: a stranger fills nobody's mailbox."""
        origin: Any = self.request.origin  # type: ignore[attr-defined]
        if may_mail_link(email=form.cleaned_data["email"], address=origin.address):
            return super().form_valid(form)
        return HttpResponseRedirect(self.get_success_url())

    def form_invalid(self, form: Form) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


class ChooseNew(PasswordResetConfirmView):
    """Takes the new password, once, and writes it to the audit."""

    form_class = NewPasswordForm
    template_name = "console/password_reset_confirm.html"
    success_url = reverse_lazy("console:password_reset_complete")

    def form_valid(self, form: "SetPasswordForm[Person]") -> HttpResponse:
        """Save by our service, which writes the audit entry in the same transaction (PR-24)."""
        origin: Any = self.request.origin  # type: ignore[attr-defined]
        password = form.cleaned_data["new_password1"]
        choose_password(person=form.user, password=password, origin=origin, now=timezone.now())
        del self.request.session[INTERNAL_RESET_SESSION_TOKEN]
        return HttpResponseRedirect(self.get_success_url())

    def form_invalid(self, form: "SetPasswordForm[Person]") -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


password_reset = AskForLink.as_view()
password_reset_done = PasswordResetDoneView.as_view(template_name="console/password_reset_done.html")
password_reset_confirm = ChooseNew.as_view()
password_reset_complete = PasswordResetCompleteView.as_view(
    template_name="console/password_reset_complete.html"
)
