"""A workspace in which context assembly is on, and an agent's code in it."""

from pathlib import Path
from typing import Any

import pytest

from tests import factories
from tests.api import InProcess
from tests.assembly.graphs import Story
from workspaces.types import Caller, WorkspaceRef


@pytest.fixture
def home(aurora: WorkspaceRef) -> WorkspaceRef:
    """A workspace in which context assembly is on."""
    factories.switch(aurora, "context", on=True)
    return aurora


@pytest.fixture
def api(home: WorkspaceRef) -> InProcess:
    """An agent's code with a key of the scope `context`."""
    return InProcess(factories.make_key(home, "context"))


@pytest.fixture
def story(api: InProcess) -> Story:
    """A new conversation, of which nothing is recorded yet."""
    return Story(api)


@pytest.fixture
def own_store(tmp_path: Path, settings: Any) -> Path:
    """A blob store of this test's own, so that it may look at every file."""
    payloads = settings.STORAGES["payloads"]
    options = {**payloads["OPTIONS"], "location": str(tmp_path)}
    settings.STORAGES = {**settings.STORAGES, "payloads": {**payloads, "OPTIONS": options}}
    return tmp_path


@pytest.fixture
def caller(home: WorkspaceRef) -> Caller:
    """A source that records and asks by the services themselves."""
    return factories.make_caller(home, scopes=("context",))
