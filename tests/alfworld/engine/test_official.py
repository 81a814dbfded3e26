"""Official games load, are won by their own walkthroughs and survive being written again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rla_envs.alfworld.engine import World, game_from_json, game_to_json, load_game
from rla_envs.alfworld.engine.payload import scene_from_payload, scene_to_payload

pytestmark = pytest.mark.official


@pytest.fixture(scope="module")
def games(official_root: Path):
    return {path: load_game(path) for path in sorted(official_root.glob("*/*/*/game.tw-pddl"))}


def test_all_task_types_are_read(games) -> None:
    assert Counter(game.scene.goal.task_type for game in games.values()) == {
        "pick_and_place_simple": 40,
        "pick_clean_then_place_in_recep": 32,
        "pick_cool_then_place_in_recep": 27,
        "pick_two_obj_and_place": 26,
        "pick_heat_then_place_in_recep": 19,
        "look_at_obj_in_light": 16,
    }
    for path, game in games.items():
        assert path.parent.parent.name.startswith(game.scene.goal.task_type)


def test_every_walkthrough_wins_with_its_last_command(games) -> None:
    for path, game in games.items():
        world = World(game)
        assert not world.won, path
        assert game.walkthrough
        for command in game.walkthrough:
            assert not world.won, path
            assert command in world.admissible(), (path, command)
            world.step(command)
        assert world.won, path


def test_some_games_are_won_without_putting_anything_down(games) -> None:
    """A thing that is in two receptacles at once can be won by treating or taking it."""
    placing = [g for g in games.values() if g.scene.goal.task_type != "look_at_obj_in_light"]
    unplaced = [g for g in placing if not g.walkthrough[-1].startswith("move ")]
    in_two = [g for g in games.values() if any(len(i.receptacles) > 1 for i in g.scene.items)]
    assert (len(placing), len(unplaced), len(in_two)) == (144, 3, 61)
    for game in unplaced:
        assert any(
            len(item.receptacles) > 1
            for item in game.scene.items
            if item.type == game.scene.goal.object_type
        )


def test_written_again_they_are_the_same_games(games) -> None:
    for path, game in games.items():
        assert game_from_json(game_to_json(game)) == game, path
        assert scene_from_payload(scene_to_payload(game.scene)) == game.scene, path
