"""A workspace's first hour: from nothing to a first write that arrived (CO-8)."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.pages import workspace_page
from console.presenters.start import first_hour


@require_safe
@workspace_page()
def start(request: Any) -> HttpResponse:
    """Show what is done, what is next and who may do it; the page looks by itself whether the write arrived."""
    return render(request, "console/start.html", {"hour": first_hour(request)})
