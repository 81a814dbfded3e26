from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
import rla_task_sets
from rla_verifiers.alfworld import REASONS, goal_reached, label_steps, step_reasons

from rla_envs.alfworld.engine import (
    Goal,
    Item,
    Receptacle,
    Scene,
    World,
    game_of,
    name_entities,
    scene_to_payload,
)
from rla_envs.alfworld.engine.knowledge import Knowledge, explorer_action
from rla_envs.alfworld.engine.planner import distance, estimate
from rla_envs.types import Task

PLACES = {
    # type: (id, fits)
    "CounterTop": ("CounterTop_bar_99", "Mug Apple"),
    "Cabinet": ("Cabinet_bar_99", "Mug"),
    "Drawer": ("Drawer_bar_99", "Fork"),
    "Shelf": ("Shelf_bar_99", "Mug Apple"),
    "SinkBasin": ("Sink_bar_99_bar_SinkBasin", "Mug Apple Fork"),
    "Desk": ("Desk_bar_99", "Mug"),
}


def kitchen(where_is_mug: str = "Cabinet", **goal: str) -> Task:
    """One place of each type, each at its own spot; an apple on the shelf, a fork in the drawer."""
    things = {"Mug": where_is_mug, "Apple": "Shelf", "Fork": "Drawer"}
    names = name_entities([id_ for id_, _ in PLACES.values()] + [f"{t}_bar_99" for t in things])
    scene = Scene(
        receptacles=tuple(
            Receptacle(
                id=id_,
                name=names[id_],
                type=type_,
                location=f"loc_bar_{number}",
                openable=type_ in ("Cabinet", "Drawer"),
                opened=False,
            )
            for number, (type_, (id_, _)) in enumerate(PLACES.items(), 1)
        ),
        items=tuple(
            Item(
                id=f"{thing}_bar_99",
                name=names[f"{thing}_bar_99"],
                type=thing,
                location=None,
                receptacles=(PLACES[place][0],),
                cleanable=True,
            )
            for thing, place in things.items()
        ),
        agent_location="loc_bar_0",
        goal=Goal(
            **{
                "task_type": "pick_clean_then_place_in_recep",
                "object_type": "Mug",
                "receptacle_type": "Desk",
            }
            | goal
        ),
        instruction="put a clean mug in desk.",
        can_contain=frozenset((t, o) for t, (_, fits) in PLACES.items() for o in fits.split()),
    )
    return task_of(scene)


def task_of(scene: Scene) -> Task:
    return Task(
        id="kitchen",
        domain="alfworld",
        instruction=scene.instruction,
        payload={"scene": scene_to_payload(scene), "task_type": scene.goal.task_type},
    )


def check(task: Task, script: list[tuple[str, str]]) -> None:
    commands = [command for command, _ in script]
    expected = [reason for _, reason in script]
    assert list(zip(commands, step_reasons(task, commands), strict=True)) == script
    assert label_steps(task, commands) == [REASONS[reason] == 1 for reason in expected]


def test_unlucky_search_is_good_and_searching_again_is_bad():
    check(
        kitchen(),
        [
            ("go to countertop 1", "searches a new place"),
            ("go to shelf 1", "searches a new place"),
            ("go to countertop 1", "searches an old place"),
            ("look", "wastes a step"),
            ("examine countertop 1", "searches an old place"),
            ("go to drawer 1", "searches a useless place"),  # no mug fits a drawer
            ("open drawer 1", "opens a useless place"),
            ("close drawer 1", "closes a place"),
            ("go to cabinet 1", "searches a new place"),
            ("open cabinet 1", "searches a new place"),
            ("take mug 1 from cabinet 1", "takes the right thing"),
            ("go to sinkbasin 1", "moves toward the goal"),
            ("clean mug 1 with sinkbasin 1", "changes the right thing"),
            ("go to desk 1", "moves toward the goal"),
            ("move mug 1 to desk 1", "puts it in the right place"),
        ],
    )


def test_estimates_are_those_worked_out_by_hand_in_the_docs():
    world, knowledge = World(game_of(kitchen())), Knowledge()
    assert estimate(world, knowledge) == 12  # half commands: go, take, go, clean, go, move
    for command, after, then in (
        ("go to countertop 1", 10, 12),
        ("go to shelf 1", 10, 12),
        ("go to countertop 1", 12, 12),
        ("go to drawer 1", 12, 12),
        ("go to cabinet 1", 11, 11),
        ("open cabinet 1", 10, 10),
        ("take mug 1 from cabinet 1", 8, 8),
    ):
        world.step(command)
        shown = knowledge.shows(world, command)
        assert estimate(world, knowledge, just=[shown] if shown else []) == after, command
        knowledge.update(world, command)
        assert estimate(world, knowledge) == then, command


def test_full_information_calls_unlucky_search_bad():
    commands = ["go to countertop 1", "go to cabinet 1", "open cabinet 1"]
    assert label_steps(kitchen(), commands, rule="distance") == [False, True, True]
    assert label_steps(kitchen(), commands) == [True, True, True]


def test_closed_place_must_be_opened_before_walking_on_to_another_closed_one():
    task = kitchen()
    twin = replace(game_of(task).scene.receptacles[1], id="Cabinet_bar_98", location="loc_bar_9")
    scene = game_of(task).scene
    names = name_entities([*(r.id for r in scene.receptacles), twin.id])
    scene = replace(scene, receptacles=(*scene.receptacles, replace(twin, name=names[twin.id])))
    check(
        task_of(scene),
        [
            ("go to cabinet 2", "searches a new place"),
            ("go to cabinet 1", "leaves a place unsearched"),
            ("go to cabinet 2", "leaves a place unsearched"),
            ("open cabinet 2", "searches a new place"),
            ("go to cabinet 1", "searches a new place"),
        ],
    )


def test_once_the_thing_is_seen_other_places_are_a_detour():
    check(
        kitchen("CounterTop"),
        [
            ("go to countertop 1", "searches a new place"),
            ("go to cabinet 1", "moves away from the goal"),
            ("open cabinet 1", "opens a useless place"),
            ("go to countertop 1", "moves toward the goal"),
        ],
    )


def test_wrong_thing_in_hand_and_its_removal():
    check(
        kitchen(),
        [
            ("go to shelf 1", "searches a new place"),
            ("take apple 1 from shelf 1", "takes the wrong thing"),
            ("clean apple 1 with sinkbasin 1", "nothing happens"),
            # The apple can be left at the sink, and the mug may be there: one walk for both.
            ("go to sinkbasin 1", "moves toward the goal"),
            ("clean apple 1 with sinkbasin 1", "changes the wrong thing"),
            ("move apple 1 to sinkbasin 1", "frees the hand"),
            ("take apple 1 from sinkbasin 1", "takes the wrong thing"),
            # The mug may be on the desk, but with the apple in hand it could not be taken there.
            ("go to desk 1", "moves away from the goal"),
            ("go to countertop 1", "moves toward the goal"),
            ("move apple 1 to countertop 1", "frees the hand"),
            ("go to cabinet 1", "searches a new place"),
        ],
    )


def test_destination_before_the_change_is_reported_as_such():
    check(
        kitchen("CounterTop"),
        [
            ("go to countertop 1", "searches a new place"),
            ("take mug 1 from countertop 1", "takes the right thing"),
            ("go to desk 1", "forgets to change it"),
            ("move mug 1 to desk 1", "forgets to change it"),
            ("take mug 1 from desk 1", "takes the right thing"),
        ],
    )


def test_thing_set_down_and_taken_up_gives_one_bad_and_one_good_step():
    check(
        kitchen("CounterTop"),
        [
            ("go to countertop 1", "searches a new place"),
            ("take mug 1 from countertop 1", "takes the right thing"),
            ("move mug 1 to countertop 1", "puts it in the wrong place"),
            ("take mug 1 from countertop 1", "takes the right thing"),
        ],
    )


def test_place_of_the_goal_is_not_searched_if_a_thing_there_would_have_won():
    task = kitchen(task_type="pick_and_place_simple")
    assert step_reasons(task, ["go to desk 1"]) == ["searches a useless place"]


def test_hint_narrows_the_search():
    scene = replace(
        game_of(kitchen()).scene, instruction="put a clean mug in desk. a mug is in cabinet 1."
    )
    commands = ["go to countertop 1", "go to cabinet 1"]
    assert label_steps(task_of(scene), commands) == [False, True]


def test_steps_after_the_goal_are_not_good():
    task = kitchen("SinkBasin")
    commands = [
        "go to sinkbasin 1",
        "take mug 1 from sinkbasin 1",
        "clean mug 1 with sinkbasin 1",
        "go to desk 1",
        "move mug 1 to desk 1",
    ]
    assert label_steps(task, [*commands, "look", "nonsense"]) == [True] * 5 + [False] * 2
    assert goal_reached(task, commands)
    assert goal_reached(task, [*commands, "take mug 1 from desk 1"])  # the episode ended before
    assert not goal_reached(task, commands[:-1])


def test_numbers_and_the_other_syntax_mean_the_same_commands():
    task = kitchen("SinkBasin")
    world = World(game_of(task))
    first = world.admissible().index("go to sinkbasin 1")
    words = ["go to sinkbasin 1", "take mug 1 from sinkbasin 1", "put mug 1 in/on sinkbasin 1"]
    assert label_steps(task, [f"[{first}]", *words[1:]]) == label_steps(task, words)
    assert step_reasons(task, ["999"]) == ["nothing happens"]


def test_estimate_is_twice_the_distance_when_everything_was_shown():
    for number, task in enumerate(rla_task_sets.load("alfworld/generated", n=60, seed=8)):
        rng = Random(number)
        world = World(game_of(task))
        knowledge = Knowledge(revealed={r.id for r in world.game.scene.receptacles})
        for _ in range(10):
            true = distance(world)
            assert true is not None
            assert estimate(world, knowledge) == 2 * true
            world.step(rng.choice(world.admissible()))


@pytest.mark.parametrize("size", ["small", "large"])
def test_explorer_without_noise_takes_good_steps_only_and_wins(size):
    tasks = rla_task_sets.load("alfworld/generated", n=60, seed=2, size=size)
    for number, task in enumerate(tasks):
        commands = explore(task, Random(number), noise=0.0)
        assert goal_reached(task, commands)
        assert all(label_steps(task, commands)), step_reasons(task, commands)


def test_reasons_have_the_sign_of_the_label_and_most_of_them_occur():
    seen: Counter[str] = Counter()
    tasks = rla_task_sets.load("alfworld/generated", n=90, seed=4)
    for number, task in enumerate(tasks):
        commands = explore(task, Random(number), noise=0.5)
        reasons = step_reasons(task, commands)
        seen.update(reasons)
        assert [REASONS[reason] == 1 for reason in reasons] == label_steps(task, commands)
    assert set(REASONS) - set(seen) <= {"nothing happens"}  # the explorer knows what is possible


def explore(task: Task, rng: Random, *, noise: float) -> list[str]:
    world, knowledge = World(game_of(task)), Knowledge()
    commands: list[str] = []
    while not world.won and len(commands) < 120:
        command = explorer_action(world, knowledge, rng, noise=noise)
        world.step(command)
        knowledge.update(world, command)
        commands.append(command)
    return commands
