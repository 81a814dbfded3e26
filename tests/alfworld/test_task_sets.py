from __future__ import annotations

import json
import math
from collections import Counter

import pytest
import rla_task_sets
from rla_task_sets.alfworld import write_games
from rla_task_sets.alfworld.generated import SIZES, SPLITS, TASK_TYPES
from rla_task_sets.alfworld.goals import goal_choices, is_held_out
from rla_task_sets.alfworld.vocabulary import FITS, ROOM_ITEMS, UNSEEN_VARIANTS, VARIANTS
from rla_task_sets.fingerprints import fingerprint
from rla_verifiers.alfworld import goal_reached

from rla_envs.alfworld import expert_actions
from rla_envs.alfworld.engine import (
    World,
    game_from_json,
    game_of,
    game_to_json,
    load_game,
    name_entities,
)
from rla_envs.errors import ConfigError, TaskError, TaskUnavailable
from rla_envs.types import Task


def games(n: int = 48, **options) -> list[Task]:
    return list(rla_task_sets.load("alfworld/generated", n=n, **{"seed": 0} | options))


def pair(task: Task) -> tuple[str, str]:
    goal = game_of(task).scene.goal
    return goal.object_type, goal.receptacle_type or goal.lamp_type or ""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("split", SPLITS)
def test_every_game_is_unsolved_at_first_and_won_by_its_walkthrough(size, split):
    for task in games(size=size, split=split):
        world = World(game_of(task))
        assert not world.won
        assert world.game.scene.instruction == task.instruction
        for command in task.payload["walkthrough"]:
            assert not world.won
            assert command in world.admissible()
            world.step(command)
        assert world.won
        assert task.difficulty == len(task.payload["walkthrough"]) == len(expert_actions(task))
        assert goal_reached(task, expert_actions(task))


@pytest.mark.parametrize("size", SIZES)
def test_a_game_survives_its_payload_and_its_game_file_unchanged(size):
    for task in games(size=size, split="valid_unseen"):
        game = game_of(task)
        payload = json.loads(json.dumps(dict(task.payload)))
        assert game_of(Task(id="x", domain="alfworld", instruction="", payload=payload)) == game
        assert game_from_json(json.loads(json.dumps(game_to_json(game)))) == game


def test_same_seed_gives_same_games_and_more_games_begin_with_fewer():
    assert games(12) == games(24)[:12]
    assert games(12, seed=1) != games(12)
    assert len({fingerprint(task) for task in games(200)}) == 200


def test_task_types_take_turns():
    assert Counter(task.payload["task_type"] for task in games(24)) == dict.fromkeys(TASK_TYPES, 4)
    only = games(5, task_types=["pick_two_obj_and_place"])
    assert {task.payload["task_type"] for task in only} == {"pick_two_obj_and_place"}


@pytest.mark.parametrize(
    ("size", "receptacles", "items"),
    [("small", (5, 8), (5, 9)), ("medium", (7, 16), (10, 18)), ("large", (7, 40), (10, 35))],
)
def test_rooms_have_their_size(size, receptacles, items):
    scenes = [game_of(task).scene for split in SPLITS for task in games(split=split, size=size)]
    for scene in scenes:
        assert receptacles[0] <= len(scene.receptacles) <= receptacles[1]
        assert items[0] <= len(scene.items) <= items[1]


def test_splits_share_no_game():
    seen: dict[str, str] = {}
    for split in SPLITS:
        for seed in (0, 1):
            for task in games(150, split=split, seed=seed):
                assert seen.setdefault(fingerprint(task), split) == split
                assert f"/{split}/" in task.id


def test_in_domain_splits_are_disjoint_by_rule_and_not_by_luck():
    from rla_task_sets.alfworld.generated import _is_in

    for task in games(60):
        scene = game_of(task).scene
        assert _is_in("train", scene)
        assert not _is_in("valid_seen", scene)


def test_out_of_domain_rooms_and_pairs_occur_in_no_training_goal():
    assert {v.name for v in VARIANTS}.isdisjoint(v.name for v in UNSEEN_VARIANTS)
    seen = games(300) + games(300, split="valid_seen")
    unseen = games(300, split="valid_unseen")
    assert {pair(task) for task in seen}.isdisjoint(pair(task) for task in unseen)
    assert {t.payload["room"] for t in seen}.isdisjoint(t.payload["room"] for t in unseen)
    for unseen_split, tasks in ((False, seen), (True, unseen)):
        assert all(is_held_out(*pair(task)) == unseen_split for task in tasks)


def test_every_task_type_has_goals_on_both_sides_in_more_than_a_handful():
    for task_type in TASK_TYPES:
        for unseen in (False, True):
            assert sum(map(len, goal_choices(unseen, task_type))) >= 10, (task_type, unseen)


def test_out_of_domain_games_use_no_word_that_training_games_never_have():
    def words(tasks: list[Task]) -> set[str]:
        return {
            entity.name.split()[0]
            for task in tasks
            for entity in (*game_of(task).scene.receptacles, *game_of(task).scene.items)
        }

    new = words(games(300, split="valid_unseen", size="large")) - words(games(300, size="large"))
    assert new <= {"cart", "laundryhamper", "ottoman"}


def test_every_thing_lies_where_it_may_lie_and_names_follow_from_ids():
    for task in games(split="valid_unseen", size="large"):
        scene = game_of(task).scene
        types = {r.id: r.type for r in scene.receptacles}
        for item in scene.items:
            for place in item.receptacles:
                assert item.toggleable or (types[place], item.type) in scene.can_contain
        entities = [*scene.receptacles, *scene.items]
        assert name_entities([e.id for e in entities]) == {e.id: e.name for e in entities}


def test_tables_name_only_things_that_have_a_home():
    things = {thing for room in ROOM_ITEMS.values() for thing in room}
    assert things == {thing for fits in FITS.values() for thing in fits}
    assert {t for v in (*VARIANTS, *UNSEEN_VARIANTS) for t in v.furniture} == set(FITS)


@pytest.mark.parametrize(
    "options",
    [{"n": -1}, {"split": "test"}, {"size": "huge"}, {"task_types": ["cook"]}, {"task_types": []}],
)
def test_impossible_options_are_refused(options):
    with pytest.raises(ConfigError):
        games(**options)


def test_unknown_set_names_the_known_ones():
    with pytest.raises(TaskUnavailable, match="alfworld/generated"):
        rla_task_sets.load("alfworld/nothing")
    assert {"alfworld/generated", "alfworld/official"} <= set(rla_task_sets.names())


def test_written_games_come_back_through_the_official_loader(tmp_path):
    tasks = games(18, split="valid_seen")
    files = write_games(tasks, tmp_path)
    assert [load_game(file).scene for file in files] == [game_of(task).scene for task in tasks]
    back = rla_task_sets.load("alfworld/official", root=tmp_path, split="valid_seen")
    assert Counter(task.instruction for task in back) == Counter(t.instruction for t in tasks)
    for task in back:
        split, game, trial = task.id.split("/")
        assert split == "valid_seen"
        assert game.startswith(task.payload["task_type"] + "-")
        assert trial.startswith("trial_")
        assert goal_reached(task, expert_actions(task))
        assert task.difficulty == len(expert_actions(task))
        described = json.loads((tmp_path / task.id / "traj_data.json").read_text())
        assert described["task_type"] == task.payload["task_type"]
        assert described["pddl_params"]["object_target"] in game


def test_two_tasks_in_one_folder_are_refused(tmp_path):
    task = games(1)[0]
    with pytest.raises(TaskError, match="both"):
        write_games([task, task], tmp_path)


def test_listing_official_games_opens_none_of_them(tmp_path):
    for number in range(20):
        folder = tmp_path / "json_2.1.1" / "train" / f"pick-Mug-None-Desk-{number}" / "trial_T1"
        folder.mkdir(parents=True)
        (folder / "game.tw-pddl").write_text("no JSON")
    (tmp_path / "json_2.1.1/train/pick-Mug-movable-Desk-1/trial_T1").mkdir(parents=True)
    tasks = rla_task_sets.load("alfworld/official", root=tmp_path)
    assert len(tasks) == 20
    assert tasks.ids[0] == "train/pick-Mug-None-Desk-0/trial_T1"
    with pytest.raises(TaskError, match="trial_T1"):
        _ = tasks[3]


def test_missing_official_games_name_the_folder_and_the_way_out(tmp_path, monkeypatch):
    with pytest.raises(TaskUnavailable, match=r"alfworld-download"):
        rla_task_sets.load("alfworld/official", root=tmp_path, split="train")
    with pytest.raises(ConfigError, match="valid_seen"):
        rla_task_sets.load("alfworld/official", root=tmp_path, split="test")
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    with pytest.raises(TaskUnavailable, match="ALFWORLD_DATA"):
        rla_task_sets.load("alfworld/official")


@pytest.mark.official
def test_official_games_have_their_sentence_type_and_plan(official_root, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(official_root))
    tasks = rla_task_sets.load("alfworld/official", split="valid_seen")
    assert len(tasks) == 100
    assert list(tasks.ids) == sorted(tasks.ids) == [task.id for task in tasks]
    for task in tasks:
        assert task.instruction == game_of(task).scene.instruction
        assert task.payload["task_type"] == game_of(task).scene.goal.task_type
        assert math.isclose(task.difficulty or 0, len(task.payload["walkthrough"]))
