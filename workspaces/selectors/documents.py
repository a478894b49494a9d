"""Versions of documents and their proposed changes."""

from django.db.models import QuerySet

from workspaces.models import Document


def versions(kind: str) -> QuerySet[Document]:
    """List the versions of a kind, newest first."""
    return Document.objects.filter(kind=kind).select_related("published_by").order_by("-version")
