"""The test of WM-18 sees what it is for: breaches of WM-20 are caught, the real steps with as wide windows are not.

Reads stand against few writes here, since a marker keeps readers from the hot store; flushes make them fill it.
"""

from typing import Any

import pytest

from tests.linearizability.chaos import HOT_STORE_FLUSHED, WRITER_LOST
from tests.linearizability.world import Game, World

GAMES, SECONDS = 8, 12
MANY_READS: dict[str, Any] = {"states": 1, "reads": 300}
FLUSHED: dict[str, Any] = {
    **MANY_READS,
    "seconds": SECONDS,
    "weights": {HOT_STORE_FLUSHED: 1},
    "gap_seconds": (0.02, 0.25),
}
# Here many writes: one of them is to have committed, and not to publish any more.
LOST: dict[str, Any] = {"states": 1, "seconds": 6, "weights": {WRITER_LOST: 1}, "gap_seconds": (0.4, 0.8)}
PLAYED = {"unmarked": FLUSHED, "tokenless": FLUSHED}


def play(world: World, variant: str, how: dict[str, Any], *, seeds: range, until_caught: bool) -> list[Game]:
    """Play games on an application, up to the first that shows a problem where one is enough."""
    games: list[Game] = []
    with world.web(f"tests.linearizability.broken.{variant}:application") as web:
        for seed in seeds:
            games.append(world.play(web, seed=seed, **how))
            if until_caught and games[-1].problems():
                break
    return games


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("variant", PLAYED)
def test_a_broken_protocol_is_caught(world: World, variant: str) -> None:
    """WM-18, WM-20: a write without a marker, or a fill without a token, shows within some games.

    A marker lifted too early (`broken.hasty`) has shown in none: publications and cold readers clean up behind it. That
    it is not lifted early is shown step by step in tests/hotstore.
    """
    games = play(world, variant, PLAYED[variant], seeds=range(GAMES), until_caught=True)
    assert "it is stale" in "\n".join(games[-1].problems())


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [FLUSHED, LOST], ids=["flushed", "lost"])
def test_wide_windows_alone_show_nothing(world: World, how: dict[str, Any]) -> None:
    """WM-18, WM-20: the same games on the real steps, as slow, with as many mishaps."""
    for game in play(world, "sound", how, seeds=range(GAMES), until_caught=False):
        assert not game.problems(), "\n".join(game.problems())
