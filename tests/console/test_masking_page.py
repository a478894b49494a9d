"""The masking document's page tries a value: what would be kept of it, and nothing of it stays (PR-5, CO-12)."""

import logging
from typing import Any

import pytest
from django.test import Client

from tests.console.conftest import SignedIn
from workspaces import access
from workspaces.models import AuditEntry, Person
from workspaces.types import WorkspaceRef

MAIL = "ana.souza@example.com"
CARD = "4111 1111 1111 1111"
TRIED = [
    ("a kind", MAIL, "email", "a***@example.com", [("email", 1)]),
    ("a kind that is redacted", "Ana Souza", "name", "[redacted:name]", [("name", 1)]),
    ("personal without a kind", f"ask {MAIL}", "true", "[redacted:text]a***@example.com", [("email", 1), ("text", 1)]),
    ("not declared", f"ask {MAIL}, card {CARD}", "", f"ask {MAIL}, card [redacted:card]", [("card", 1)]),
    ("dropped", "123", "cvv", None, [("cvv", 1)]),
    ("nothing to mask", "order 4839201746", "", "order 4839201746", []),
    ("blank", "", "true", "", []),
]  # fmt: skip


@pytest.fixture
def client(security: Person, signed_in: SignedIn) -> Client:
    return signed_in(security)


def address(workspace: WorkspaceRef, *, preview: bool) -> str:
    return f"/console/w/{workspace.slug}/documents/masking/{'preview/' if preview else ''}"


@pytest.mark.parametrize("row", TRIED, ids=lambda row: row[0])
def test_preview_shows_what_would_be_kept(aurora: WorkspaceRef, client: Client, row: tuple[Any, ...]) -> None:
    """PR-5, PR-7: by the document in force, for a kind, for `pii: true`, and for a field that is not declared."""
    _, value, declared, text, counts = row
    answer = client.post(address(aurora, preview=True), {"value": value, "declared": declared})
    assert answer.status_code == 200
    kept = answer.context["kept"]
    assert (kept.text, kept.counts, kept.unchanged) == (text, counts, text == value)


def test_preview_leaves_nothing_behind(
    aurora: WorkspaceRef, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """PR-5, CO-12: no entry in the audit, no word in a log, no value in an address, and no cache may keep the page."""
    with access.bound(aurora.id):
        before = AuditEntry.objects.count()
        with caplog.at_level(logging.DEBUG):
            answer = client.post(address(aurora, preview=True), {"value": MAIL, "declared": "email"})
        assert AuditEntry.objects.count() == before
    assert MAIL not in caplog.text
    assert "no-store" in answer["Cache-Control"]
    assert f'action="{address(aurora, preview=True)}#try"' in answer.content.decode()
    assert client.get(address(aurora, preview=True), {"value": MAIL}).status_code == 405


def test_hashes_of_the_preview_are_examples(aurora: WorkspaceRef, client: Client) -> None:
    """PR-5: the preview never makes a hash of the workspace, with which guesses could be tried against stored ones."""
    form = {"value": "529.982.247-25", "declared": "gov_id"}
    shown = [client.post(address(aurora, preview=True), form).context["kept"].text for _ in range(2)]
    assert all(text.startswith("[hash:gov_id:") for text in shown)
    assert shown[0] != shown[1]


def test_form_stands_only_beside_the_document_in_force(aurora: WorkspaceRef, client: Client) -> None:
    """PR-5: the masking document's page has the form; other documents have none."""
    assert b"Show what is kept" in client.get(address(aurora, preview=False)).content
    other = address(aurora, preview=False).replace("masking", "retention")
    assert b"Show what is kept" not in client.get(other).content
