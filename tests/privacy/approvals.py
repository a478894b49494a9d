"""Workspaces in which four eyes hold, and people who decide there."""

from workspaces import access
from workspaces.models import FourEyes, Person
from workspaces.selectors import approvals as requests
from workspaces.selectors.people import permissions_of
from workspaces.services.people import actor_of
from workspaces.types import Decider, Origin, WorkspaceRef

__all__ = ["as_decider", "four_eyes_on", "requests"]


def four_eyes_on(workspace: WorkspaceRef, *kinds: str) -> None:
    """Let four eyes hold for exactly these kinds."""
    with access.bound(workspace.id):
        FourEyes.objects.update(kinds=list(kinds))


def as_decider(workspace: WorkspaceRef, person: Person) -> Decider:
    """Give a person as the console does: with all that they may do."""
    fresh = Person.objects.get(id=person.id)
    return Decider(person.id, permissions_of(fresh, workspace), actor_of(person, Origin()))
