"""A workspace in which history is on, and an agent's code in it."""

import pytest

from tests import factories
from tests.api import InProcess
from tests.history.clock import Clocked
from tests.history.talk import Talk
from workspaces.types import WorkspaceRef


@pytest.fixture
def home(aurora: WorkspaceRef) -> WorkspaceRef:
    """A workspace in which history is on."""
    factories.switch(aurora, "history", on=True)
    return aurora


@pytest.fixture
def api(home: WorkspaceRef) -> InProcess:
    """An agent's code with a key of the scope `history`."""
    return InProcess(factories.make_key(home, "history"))


@pytest.fixture
def talk(api: InProcess) -> Talk:
    """A new session."""
    return Talk(api)


@pytest.fixture
def clock(home: WorkspaceRef) -> Clocked:
    """A new session at noon, with a clock that the test moves."""
    return Clocked(home)
