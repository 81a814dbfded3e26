from __future__ import annotations

from collections import deque
from random import Random
from typing import get_args

import pytest
import rla_task_sets

from rla_envs.alfworld import expert_actions
from rla_envs.alfworld.engine import (
    Game,
    Goal,
    Item,
    Receptacle,
    Scene,
    TaskType,
    World,
    game_of,
    name_entities,
)
from rla_envs.alfworld.engine.planner import distance, plan
from rla_envs.errors import TaskError
from rla_envs.types import Task

TASK_TYPES = get_args(TaskType)
TREATED = {
    "pick_clean_then_place_in_recep": "SinkBasin",
    "pick_heat_then_place_in_recep": "Microwave",
    "pick_cool_then_place_in_recep": "Fridge",
}


def state_of(world: World):
    return (
        world.at,
        world.holding,
        frozenset(world.opened),
        tuple(tuple(items) for items in world.contents.values()),
        *(frozenset(s) for s in (world.clean, world.hot, world.cool, world.toggled)),
    )


def blind_distance(world: World, limit: int = 20_000) -> int | None:
    """Shortest number of commands by breadth-first search; -1 when limit states are too few."""
    frontier, seen = deque([(world, 0)]), {state_of(world)}
    while frontier:
        here, steps = frontier.popleft()
        if here.won:
            return steps
        if len(seen) > limit:
            return -1
        for command in here.admissible():
            if command.startswith(("examine", "look", "inventory", "help", "slice")):
                continue
            there = here.copy()
            there.step(command)
            state = state_of(there)
            if state not in seen:
                seen.add(state)
                frontier.append((there, steps + 1))
    return None


def tiny_scene(task_type: str, rng: Random) -> Scene:
    """Four receptacles, some closed, some at one spot; three things, some in two places."""
    kinds = ["Shelf", "Cabinet", TREATED.get(task_type, "Drawer"), rng.choice(["Cabinet", "Desk"])]
    numbers = {kind: iter(range(9)) for kind in kinds}
    ids = [
        f"Sink_bar_{next(numbers[k])}_bar_SinkBasin"
        if k == "SinkBasin"
        else f"{k}_bar_{next(numbers[k])}"
        for k in kinds
    ]
    things = ["Mug", rng.choice(["Mug", "Apple"]), rng.choice(["Mug", "Apple"])]
    if task_type == "look_at_obj_in_light":
        things[2] = "DeskLamp"
    item_ids = [f"{thing}_bar_{number}" for number, thing in enumerate(things)]
    names = name_entities(ids + item_ids)
    receptacles = tuple(
        Receptacle(
            id=id_,
            name=names[id_],
            type=kind,
            location=f"loc_bar_{rng.randint(1, 4)}",
            openable=kind in ("Cabinet", "Fridge", "Microwave", "Drawer"),
            opened=kind == "Cabinet" and rng.random() < 0.3,
        )
        for id_, kind in zip(ids, kinds, strict=True)
    )
    items = tuple(
        Item(
            id=id_,
            name=names[id_],
            type=thing,
            location=None,
            receptacles=tuple(rng.sample(ids, 2 if rng.random() < 0.2 else 1)),
            pickupable=thing != "DeskLamp",
            toggleable=thing == "DeskLamp",
            cleanable=True,
            heatable=True,
            coolable=True,
            states=frozenset({"cool"} if rng.random() < 0.2 else ()),
        )
        for id_, thing in zip(item_ids, things, strict=True)
    )
    is_look = task_type == "look_at_obj_in_light"
    mugs = [i.id for i in items if i.type == "Mug"]
    fits = {(k, t) for k in kinds for t in ("Mug", "Apple") if t == "Mug" or rng.random() < 0.5}
    return Scene(
        receptacles=receptacles,
        items=items,
        agent_location=f"loc_bar_{rng.randint(0, 4)}",
        goal=Goal(
            task_type=task_type,
            object_type="Mug",
            receptacle_type=None if is_look else "Cabinet",
            lamp_type="DeskLamp" if is_look else None,
            item_id=rng.choice([None, mugs[0]]),
        ),
        instruction="test.",
        can_contain=frozenset(fits),
    )


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_distance_on_tiny_scenes_equals_blind_search_from_any_state(task_type):
    for seed in range(12):
        rng = Random(f"{task_type}{seed}")
        world = World(Game(scene=tiny_scene(task_type, rng)))
        for _ in range(rng.randint(0, 12)):
            world.step(rng.choice(world.admissible()))
        expected = blind_distance(world)
        assert expected != -1
        assert distance(world) == expected, (seed, world.game.scene, state_of(world))


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_plan_wins_with_its_last_command_from_any_state(task_type):
    tasks = rla_task_sets.load("alfworld/generated", n=20, seed=5, task_types=[task_type])
    for number, task in enumerate(tasks):
        rng = Random(number)
        world = World(game_of(task))
        for _ in range(rng.randint(0, 15)):
            if not world.won:
                world.step(rng.choice(world.admissible()))
        commands = plan(world)
        assert commands is not None
        assert len(commands) == distance(world)
        for place, command in enumerate(commands):
            assert not world.won, commands[:place]
            assert world.resolve(command) == command
            world.step(command)
        assert world.won


def test_state_without_a_way_to_the_goal_has_no_plan():
    task = rla_task_sets.load("alfworld/generated", n=1, seed=0)[0]
    scene = game_of(task).scene
    goal = Goal(task_type="pick_and_place_simple", object_type="Mug", receptacle_type="Throne")
    world = World(Game(scene=Scene(**{f: getattr(scene, f) for f in FIELDS} | {"goal": goal})))
    assert plan(world) is None
    assert distance(world) is None


def test_expert_of_an_impossible_task_names_it():
    task = rla_task_sets.load("alfworld/generated", n=1, seed=0)[0]
    goal = [*task.payload["scene"]["goal"]]
    goal[2] = "Throne"
    broken = Task(
        id="broken",
        domain="alfworld",
        instruction="",
        payload={"scene": {**task.payload["scene"], "goal": goal}},
    )
    with pytest.raises(TaskError, match="broken"):
        expert_actions(broken)


def test_won_state_has_the_empty_plan():
    task = rla_task_sets.load("alfworld/generated", n=1, seed=0)[0]
    world = World(game_of(task))
    for command in expert_actions(task):
        world.step(command)
    assert plan(world) == []
    assert distance(world) == 0


@pytest.mark.official
def test_every_official_game_is_solved_as_fast_as_by_its_walkthrough(official_root):
    for split in ("valid_seen", "valid_train"):
        for task in rla_task_sets.load("alfworld/official", root=official_root, split=split):
            world = World(game_of(task))
            for command in expert_actions(task):
                assert not world.won
                world.step(command)
            assert world.won, task.id
            walked = World(game_of(task))
            needed = 0
            for command in task.payload["walkthrough"]:
                if not walked.won:
                    walked.step(command)
                    needed += 1
            assert walked.won
            assert len(expert_actions(task)) <= needed, task.id


FIELDS = ("receptacles", "items", "agent_location", "goal", "instruction", "can_contain")
