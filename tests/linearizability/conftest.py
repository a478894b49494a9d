"""The world of these tests: one for all of them in a process."""

from collections.abc import Iterator

import pytest

from tests.linearizability.web import Web
from tests.linearizability.world import World, made_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Services of these tests' own, since they are killed."""
    with made_world(tmp_path_factory.mktemp("linear")) as made:
        yield made


@pytest.fixture(scope="module")
def sound(world: World) -> Iterator[Web]:
    """The web servers as they are."""
    with world.web() as running:
        yield running
