"""Versions of documents and their proposed changes."""

from django.db.models import QuerySet

from workspaces.models import Document, DocumentChange


def versions(kind: str) -> QuerySet[Document]:
    """List the versions of a kind, newest first."""
    return Document.objects.filter(kind=kind).select_related("published_by").order_by("-version")


def open_changes(kind: str) -> QuerySet[DocumentChange]:
    """List what is proposed and not published, newest first."""
    proposed = DocumentChange.objects.filter(kind=kind, status=DocumentChange.Status.PROPOSED)
    return proposed.select_related("author").order_by("-proposed_at")
