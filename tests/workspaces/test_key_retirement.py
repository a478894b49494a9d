"""Keys die after their content and never before it, though the two databases commit apart (PR-15)."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from agentstate.services.states import delete_state
from tests import factories
from tests.agentstate.rows import row_of
from tests.agentstate.threads import apart
from tests.parallel import at_once
from workspaces import access, encryption
from workspaces.models import RetiredKey, WrappedKey
from workspaces.scopes import scope_of
from workspaces.tasks import destroy_retired_keys
from workspaces.types import WorkspaceRef

PLACE = factories.scope("kept-or-gone")


@pytest.fixture
def workspace(committed: None) -> WorkspaceRef:
    """A workspace with one state, committed."""
    made = factories.make_ready_workspace()
    factories.make_state(made, scope=PLACE)
    return made


def key_of(workspace: WorkspaceRef) -> UUID:
    key_id = row_of(workspace, PLACE).data_key_id
    assert key_id is not None
    return key_id


def is_alive(workspace: WorkspaceRef, key_id: UUID) -> bool:
    with access.bound(workspace.id):
        return WrappedKey.objects.filter(id=key_id).exists()


def notes(workspace: WorkspaceRef) -> list[UUID]:
    with access.bound(workspace.id):
        return list(RetiredKey.objects.values_list("key_id", flat=True))


def delete(workspace: WorkspaceRef) -> None:
    caller = factories.make_caller(workspace)
    with access.bound(workspace.id):
        scope = scope_of(workspace, **PLACE)
        delete_state(caller=caller, scope=scope, agent="order-taker", if_version=None, now=timezone.now())


def die(*_: Any) -> None:
    raise SystemError("The process ended here.")


def test_a_key_dies_with_its_content(workspace: WorkspaceRef) -> None:
    """PR-15: once the content is gone for good its key goes at once, and nothing is left to do."""
    key = key_of(workspace)
    delete(workspace)
    assert not is_alive(workspace, key)
    assert notes(workspace) == []


def test_content_that_stays_keeps_its_key(workspace: WorkspaceRef) -> None:
    """PR-15: a deletion that is rolled back destroys no key."""
    key = key_of(workspace)
    with transaction.atomic():
        delete(workspace)
        assert is_alive(workspace, key)
        transaction.set_rollback(True)
    assert is_alive(workspace, key)
    assert notes(workspace) == []
    assert row_of(workspace, PLACE).data_key_id == key


def test_a_crash_before_the_key_is_destroyed(
    workspace: WorkspaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-15: with the content gone and the key not yet, the caller has its answer and a worker destroys the key."""
    key = key_of(workspace)
    with monkeypatch.context() as patch:
        patch.setattr(encryption, "destroy_keys", die)
        delete(workspace)
    assert is_alive(workspace, key)
    assert notes(workspace) == [key]
    destroy_retired_keys()
    assert not is_alive(workspace, key)
    assert notes(workspace) == []


def test_a_crash_after_the_key_is_destroyed(workspace: WorkspaceRef, monkeypatch: pytest.MonkeyPatch) -> None:
    """PR-15: with the key gone and the note of it not yet, the worker's second try does no harm."""
    key = key_of(workspace)
    with monkeypatch.context() as patch:
        patch.setattr(
            encryption, "destroy_retired", lambda place, keys: encryption.destroy_keys(place, *keys)
        )
        delete(workspace)
    assert not is_alive(workspace, key)
    assert notes(workspace) == [key]
    destroy_retired_keys()
    assert notes(workspace) == []


def test_keys_that_cannot_be_reached_do_not_undo_a_deletion(
    workspace: WorkspaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-15: the worker tries again until the database of the keys answers."""
    key = key_of(workspace)

    def refuse(*_: Any) -> None:
        raise DatabaseError

    with monkeypatch.context() as patch:
        patch.setattr(encryption, "destroy_keys", refuse)
        delete(workspace)
        with pytest.raises(DatabaseError):
            destroy_retired_keys()
    assert notes(workspace) == [key]
    destroy_retired_keys()
    assert not is_alive(workspace, key)


def test_a_new_key_is_there_before_its_content(workspace: WorkspaceRef) -> None:
    """PR-15: another process sees the key of content that is not committed yet; a rollback loses no content."""
    before = key_of(workspace)
    with transaction.atomic():
        factories.make_state(workspace, scope=PLACE, subject={"type": "anon_id", "value": "visitor"})
        after = key_of(workspace)
        (seen,) = at_once(
            1, lambda _: apart(lambda: (is_alive(workspace, after), is_alive(workspace, before)))
        )
        assert seen == (True, True)
        transaction.set_rollback(True)
    assert key_of(workspace) == before
    assert is_alive(workspace, before)


def test_two_workers_destroy_a_key_once(workspace: WorkspaceRef) -> None:
    """PR-15, PR-20: several workers share the notes; each is claimed by one, and none is left."""
    with access.bound(workspace.id):
        RetiredKey.objects.bulk_create(RetiredKey(key_id=uuid4()) for _ in range(20))
    assert at_once(3, lambda _: destroy_retired_keys()) == [None] * 3
    destroy_retired_keys()
    assert notes(workspace) == []


def test_a_retired_key_of_another_workspace_is_not_destroyed(workspace: WorkspaceRef) -> None:
    """PL-1: a note reaches the keys of its own workspace alone."""
    other = factories.make_workspace()
    key = key_of(workspace)
    with access.bound(other.id), transaction.atomic():
        encryption.retire_keys(other, key)
    assert is_alive(workspace, key)
