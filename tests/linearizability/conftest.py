"""The world of these tests: one for all of them in a process."""

from collections.abc import Iterator

import pytest

from tests.linearizability.web import Web
from tests.linearizability.world import World, made_world


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of the world in one process of a parallel run: making one takes as long as a game."""
    for item in items:
        if "world" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("world"))


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
