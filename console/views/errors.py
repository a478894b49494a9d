"""Pages for what goes wrong, which need no database."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  (Django names it)
    """Answer a form that was not ours, or that waited too long."""
    return render(request, "403_csrf.html", status=403)
