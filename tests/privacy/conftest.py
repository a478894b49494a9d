"""The people who change documents, by what they may."""

import pytest

from tests import factories
from tests.api import InProcess
from workspaces.rules.rights import ROLES
from workspaces.types import WorkspaceRef


def signed(workspace: WorkspaceRef, role: str) -> InProcess:
    """Give a client with a personal token of a new member who holds one role."""
    person = factories.make_person_quietly(workspace, role, name=role)
    return InProcess(factories.make_token(workspace, person, *ROLES[role]))


@pytest.fixture
def security(aurora: WorkspaceRef) -> InProcess:
    """Aurora's security person: proposes and publishes everything."""
    return signed(aurora, "security")


@pytest.fixture
def engineer(aurora: WorkspaceRef) -> InProcess:
    """Aurora's engineer: proposes all but `features`, and publishes nothing."""
    return signed(aurora, "engineer")


@pytest.fixture
def owner(aurora: WorkspaceRef) -> InProcess:
    """Aurora's owner: publishes all but `features`, and proposes nothing."""
    return signed(aurora, "owner")
