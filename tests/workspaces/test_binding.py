"""The database is told the bound workspace for one transaction, never for a connection (PL-1)."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.utils import timezone

from tests import factories
from workspaces import access
from workspaces.models import Document, Profile
from workspaces.types import WorkspaceRef

SEEN = "SELECT DISTINCT workspace_id FROM workspaces_document"


@pytest.fixture
def pair(committed: None) -> Iterator[tuple[WorkspaceRef, WorkspaceRef]]:
    """Two workspaces, over a connection that is not inside a transaction of the test."""
    connection.close()
    yield factories.make_workspace(), factories.make_workspace()
    assert told() == ""


def told() -> str:
    """Give what the database holds now, asked past everything that would tell it something."""
    assert connection.connection is not None
    return (
        connection.connection.execute("SELECT current_setting('lastro.workspace', true)").fetchone()[0] or ""
    )


def seen() -> list[Any]:
    """Give whose rows a statement sees that names no workspace."""
    with connection.cursor() as cursor:
        cursor.execute(SEEN)
        return [row[0] for row in cursor.fetchall()]


def test_a_statement_alone_is_a_transaction_of_its_own(pair: tuple[WorkspaceRef, WorkspaceRef]) -> None:
    """PL-1: outside a transaction each statement is bound, and leaves the connection unbound."""
    for workspace in pair:
        with access.bound(workspace.id):
            assert seen() == [workspace.id]
            assert told() == ""
    assert seen() == []


def test_the_binding_ends_with_its_transaction(pair: tuple[WorkspaceRef, WorkspaceRef]) -> None:
    """PL-1: neither a commit nor a rollback leaves a binding on the connection, which is used again."""
    first, _ = pair
    for is_kept in (True, False):
        with access.bound(first.id), transaction.atomic():
            assert seen() == [first.id]
            assert told() == str(first.id)
            transaction.set_rollback(not is_kept)
        assert told() == ""
        assert seen() == []


def test_two_workspaces_in_one_transaction(pair: tuple[WorkspaceRef, WorkspaceRef]) -> None:
    """PL-1: a nested binding holds for its own statements, and the outer one again after it; then none."""
    first, second = pair
    with transaction.atomic():
        with access.bound(first.id):
            assert seen() == [first.id]
            with access.bound(second.id):
                assert seen() == [second.id]
            assert seen() == [first.id]
        assert seen() == []


def test_a_savepoint_that_is_rolled_back_takes_its_binding_along(
    pair: tuple[WorkspaceRef, WorkspaceRef],
) -> None:
    """PL-1: after a rollback to a savepoint statements run under the workspace that is bound then."""
    first, second = pair
    with access.bound(first.id), transaction.atomic():
        assert seen() == [first.id]
        with access.bound(second.id), transaction.atomic():
            assert seen() == [second.id]
            transaction.set_rollback(True)
        assert seen() == [first.id]
        with access.bound(second.id), transaction.atomic():
            assert seen() == [second.id]
        assert seen() == [first.id]
    with transaction.atomic():
        point = transaction.savepoint()
        with access.bound(second.id):
            assert seen() == [second.id]
        transaction.savepoint_rollback(point)
        assert seen() == []


def test_a_statement_that_fails_leaves_no_binding(pair: tuple[WorkspaceRef, WorkspaceRef]) -> None:
    """PL-1: after an error, alone or inside a savepoint, the next statement runs under its own workspace."""
    first, second = pair
    with access.bound(first.id):
        with pytest.raises(Exception, match="division by zero"), connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
        assert seen() == [first.id]
    with transaction.atomic():
        with access.bound(first.id):
            assert seen() == [first.id]
        with (
            pytest.raises(Exception, match="division by zero"),
            transaction.atomic(),
            access.bound(second.id),
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT 1 / 0")
        with access.bound(second.id):
            assert seen() == [second.id]


def profile() -> Profile:
    now = timezone.now()
    return Profile(pseudonym=f"p_{uuid4().hex[:20]}", created_at=now, last_seen_at=now)


@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "in a transaction"])
def test_every_way_to_ask_is_bound(pair: tuple[WorkspaceRef, WorkspaceRef], is_alone: Any) -> None:
    """PL-1: rows made in bulk, rows read in chunks, one statement with many values, values with a per cent sign."""
    first, _ = pair
    with access.bound(first.id):
        with nullcontext() if is_alone else transaction.atomic():
            Profile.objects.bulk_create([profile() for _ in range(5)])
            assert len(list(Profile.objects.iterator(chunk_size=2))) == 5
            with connection.cursor() as cursor:
                insert = "UPDATE workspaces_profile SET pseudonym = %s WHERE pseudonym = %s"
                names = list(Profile.objects.values_list("pseudonym", flat=True))
                cursor.executemany(insert, [(f"p_%{name[3:]}", name) for name in names])
                cursor.execute("SELECT count(*) FROM workspaces_profile WHERE pseudonym LIKE %s", [r"p\_\%%"])
                assert cursor.fetchone() == (5,)
            assert Profile.objects.filter(pseudonym__contains="%").update(last_seen_at=timezone.now()) == 5
            assert Document.objects.exists()
        Profile.objects.all().delete()


def test_a_new_connection_knows_nothing(pair: tuple[WorkspaceRef, WorkspaceRef]) -> None:
    """PL-1: after a connection was lost the next one is told anew."""
    first, _ = pair
    with access.bound(first.id):
        assert seen() == [first.id]
        connection.close()
        assert seen() == [first.id]
    connection.close()
    assert seen() == []
