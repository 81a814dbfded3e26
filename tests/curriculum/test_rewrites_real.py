"""Rewritten games in TextWorld itself: it says what our engine says, and the plan wins."""

import os
from importlib.util import find_spec

import pytest

from rla_envs.alfworld.engine import World, game_of
from rla_envs.alfworld.engine.textworld import RealWorld
from rla_envs.alfworld.rewriting import Edit, rewritten

pytestmark = [
    pytest.mark.textworld,
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("textworld") is None and os.environ.get("CI") != "true",
        reason="needs the real engine: pip install 'rla-envs[alfworld]'",
    ),
]

CHAINS = (
    [("specific_item", "mug 2"), ("add_places", "Cabinet"), ("hint", "place")],
    [("two_objects",), ("hide_object", "cabinet 2"), ("add_things", "Plate")],
    [("rarer_object", "Apple"), ("add_state", "heat"), ("open_all",), ("add_copies",)],
    [("remove_things", "all"), ("remove_places", "all"), ("move_farther", "sinkbasin 1")],
)


@pytest.mark.parametrize("chain", CHAINS)
def test_the_real_engine_plays_a_rewrite_to_the_letter(kitchen_task, chain):
    edits = [Edit(name, tuple(args)) for name, *args in chain]
    task = rewritten(kitchen_task, edits, task_id="room/kitchen~1", parent_id="room/kitchen")
    assert task is not None
    game = game_of(task)
    world = World(game)
    with RealWorld(game) as real:
        assert world.feedback == real.feedback
        for command in task.payload["walkthrough"]:
            assert world.admissible() == real.admissible()
            assert world.step(command) == real.step(command)
        assert world.won
        assert real.won
