"""WM-18 under attack: many clients on few states, while servers and stores die, stand still and forget."""

from typing import Any

import pytest

from tests.linearizability.web import Web
from tests.linearizability.world import World

MIN_ANSWERED_PER_SECOND = 3


def seeds(count: int, *, seconds: int, quick: int, quick_seconds: int) -> list[Any]:
    """List games: a few short ones for every run, and long ones."""
    short = [pytest.param(seed, quick_seconds, id=f"{seed}-short") for seed in range(quick)]
    marks = (pytest.mark.long, pytest.mark.timeout(600))
    return short + [pytest.param(seed, seconds, id=f"{seed}", marks=marks) for seed in range(count)]


@pytest.mark.parametrize(("seed", "seconds"), seeds(20, seconds=60, quick=2, quick_seconds=10))
def test_every_answer_is_explained_by_one_order(world: World, sound: Web, seed: int, seconds: int) -> None:
    """WM-18, WM-15, WM-16, WM-9: what clients were told of a state is what one state, one at a time, would tell."""
    game = world.play(sound, seed=seed, seconds=seconds)
    found = game.problems()
    assert not found, "\n".join([*found, "Mishaps:", game.told_mishaps()])
    assert game.answered >= MIN_ANSWERED_PER_SECOND * seconds
    assert game.mishaps
