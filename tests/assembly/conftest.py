"""What the tests of the runtime graph may ask for."""

from pathlib import Path
from typing import Any

import pytest

from assembly.models import Graph
from tests import factories
from tests.api import InProcess
from tests.assembly import artifacts
from workspaces.types import WorkspaceRef


@pytest.fixture
def fjord(db: None, _deployment_key: None) -> WorkspaceRef:
    """A workspace in which context assembly is on."""
    return artifacts.make_workspace("Fjord")


@pytest.fixture
def key(fjord: WorkspaceRef) -> str:
    """The key of the source that records in Fjord."""
    return factories.make_key(fjord, "context")


@pytest.fixture
def host(key: str) -> InProcess:
    """The source that records in Fjord."""
    return InProcess(key)


@pytest.fixture
def graph(fjord: WorkspaceRef) -> Graph:
    """The graph of a conversation in Fjord."""
    return artifacts.make_graph(fjord)


@pytest.fixture
def own_store(tmp_path: Path, settings: Any) -> Path:
    """A blob store of this test's own, so that it may look at every file."""
    payloads = settings.STORAGES["payloads"]
    options = {**payloads["OPTIONS"], "location": str(tmp_path)}
    settings.STORAGES = {**settings.STORAGES, "payloads": {**payloads, "OPTIONS": options}}
    return tmp_path
