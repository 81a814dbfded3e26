"""Every action, oddity and refusal of the embedded engine, on a hand-made kitchen."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace

import pytest

from rla_envs.alfworld.engine import (
    Game,
    World,
    game_from_json,
    game_of,
    game_to_json,
    load_game,
    name_entities,
    scene_from_payload,
    scene_to_payload,
    why_not,
)
from rla_envs.errors import TaskError, TaskUnavailable
from rla_envs.types import Task

Kitchen = Callable[..., Game]


def play(game: Game, *commands: str) -> World:
    world = World(game)
    for command in commands:
        assert world.step(command) != "Nothing happens.", (command, why_not(world, command))
    return world


def test_intro_lists_receptacles_and_states_the_task(kitchen: Kitchen) -> None:
    assert World(kitchen()).feedback == (
        "-= Welcome to TextWorld, ALFRED! =-\n\n"
        "You are in the middle of a room. Looking quickly around you, you see a cabinet 1, "
        "a countertop 1, a fridge 1, a microwave 1, a shelf 1, and a sinkbasin 1.\n\n"
        "Your task is to: put a hot mug in the cabinet."
    )


def test_look_in_the_middle_of_the_room_sees_nothing(kitchen: Kitchen) -> None:
    text = "You are in the middle of a room. Looking quickly around you, you see nothing."
    assert World(kitchen()).step("look") == text


def test_names_number_a_type_against_the_alphabet() -> None:
    ids = ["Mug_bar_a", "Mug_bar_b", "Sink_bar_1", "Sink_bar_1_bar_SinkBasin"]
    assert name_entities(ids) == {
        "Mug_bar_a": "mug 2",
        "Mug_bar_b": "mug 1",
        "Sink_bar_1": "sink 1",
        "Sink_bar_1_bar_SinkBasin": "sinkbasin 1",
    }


@pytest.mark.parametrize(
    ("commands", "feedback"),
    [
        (
            ["go to countertop 1"],
            "You arrive at countertop 1. On the countertop 1, you see a apple 1, a knife 1, "
            "a mug 2, and a mug 1.",
        ),
        (["go to cabinet 1"], "You arrive at cabinet 1. The cabinet 1 is closed."),
        (
            ["go to cabinet 1", "open cabinet 1"],
            "You open the cabinet 1. The cabinet 1 is open. In it, you see a cup 1.",
        ),
        (
            ["go to cabinet 1", "open cabinet 1", "close cabinet 1"],
            "You close the cabinet 1.",
        ),
        (
            ["go to cabinet 1", "look"],
            "You are facing the cabinet 1, and shelf 1. Next to it, you see nothing.",
        ),
        (
            ["go to countertop 1", "take mug 1 from countertop 1"],
            "You pick up the mug 1 from the countertop 1.",
        ),
        (
            ["go to countertop 1", "take mug 1 from countertop 1", "inventory"],
            "You are carrying: a mug 1.",
        ),
        (["inventory"], "You are not carrying anything."),
        (
            [
                "go to countertop 1",
                "take mug 1 from countertop 1",
                "go to microwave 1",
                "heat mug 1 with microwave 1",
            ],
            "You heat the mug 1 using the microwave 1.",
        ),
        (
            [
                "go to countertop 1",
                "take apple 1 from countertop 1",
                "go to fridge 1",
                "cool apple 1 with fridge 1",
            ],
            "You cool the apple 1 using the fridge 1.",
        ),
        (
            [
                "go to countertop 1",
                "take apple 1 from countertop 1",
                "go to sinkbasin 1",
                "clean apple 1 with sinkbasin 1",
            ],
            "You clean the apple 1 using the sinkbasin 1.",
        ),
        (
            [
                "go to countertop 1",
                "take knife 1 from countertop 1",
                "slice apple 1 with knife 1",
            ],
            "You sliced the apple 1 with the knife 1.",
        ),
        (["go to shelf 1", "use desklamp 1"], "You turn on the desklamp 1."),
        (["go to shelf 1", "use desklamp 1", "use desklamp 1"], "You turn on the desklamp 1."),
        (
            ["go to countertop 1", "take mug 2 from countertop 1", "examine mug 2"],
            "This is a normal mug 2. In it, you see nothing.",
        ),
    ],
)
def test_feedback(kitchen: Kitchen, commands: list[str], feedback: str) -> None:
    assert play(kitchen(), *commands).feedback == feedback


@pytest.mark.parametrize(
    ("treatments", "text"),
    [
        ([], "There's nothing special about apple 1."),
        (["heat"], "This is a hot apple 1."),
        (["cool"], "This is a cold apple 1."),
        (["clean"], "This is a clean apple 1."),
        (["clean", "heat"], "This is a hot and clean apple 1."),
        (["heat", "cool", "clean"], "This is a cool and clean apple 1."),
        (["slice"], "This is a sliced apple 1."),
        (["slice", "heat"], "This is a hot sliced apple 1."),
        (["slice", "cool"], "This is a cool sliced apple 1."),
        (["slice", "clean"], "This is a clean sliced apple 1."),
        (["slice", "clean", "cool", "heat"], "This is a hot and clean sliced apple 1."),
    ],
)
def test_examining_tells_the_states(kitchen: Kitchen, treatments: list[str], text: str) -> None:
    world = play(kitchen(), "go to countertop 1")
    if "slice" in treatments:
        for command in (
            "take knife 1 from countertop 1",
            "slice apple 1 with knife 1",
            "move knife 1 to countertop 1",
        ):
            world.step(command)
    world.step("take apple 1 from countertop 1")
    stations = {"heat": "microwave 1", "cool": "fridge 1", "clean": "sinkbasin 1"}
    for verb in treatments:
        if verb != "slice":
            world.step(f"go to {stations[verb]}")
            assert world.step(f"{verb} apple 1 with {stations[verb]}") != "Nothing happens."
    assert world.step("examine apple 1") == text


def test_thing_put_elsewhere_at_the_same_place_lies_next_to_it(kitchen: Kitchen) -> None:
    world = play(
        kitchen(),
        "go to countertop 1",
        "take mug 1 from countertop 1",
        "go to shelf 1",
        "move mug 1 to shelf 1",
        "take mug 1 from shelf 1",
        "open cabinet 1",
        "move mug 1 to cabinet 1",
    )
    assert world.step("look") == (
        "You are facing the cabinet 1, and shelf 1. Next to it, you see a mug 1."
    )


def test_game_is_won_exactly_while_the_goal_holds(kitchen: Kitchen) -> None:
    world = World(kitchen())
    won = []
    for command in (
        "go to countertop 1",
        "take mug 1 from countertop 1",
        "go to microwave 1",
        "heat mug 1 with microwave 1",
        "go to cabinet 1",
        "open cabinet 1",
        "move mug 1 to cabinet 1",
        "take mug 1 from cabinet 1",
    ):
        world.step(command)
        won.append(world.won)
    assert won == [False] * 6 + [True, False]


def test_two_things_must_be_in_one_receptacle(kitchen: Kitchen) -> None:
    game = kitchen(task_type="pick_two_obj_and_place", receptacle_type="Shelf")
    world = play(
        game,
        "go to countertop 1",
        "take mug 1 from countertop 1",
        "go to shelf 1",
        "move mug 1 to shelf 1",
    )
    assert not world.won
    for command in (
        "go to countertop 1",
        "take mug 2 from countertop 1",
        "go to shelf 1",
        "move mug 2 to shelf 1",
    ):
        world.step(command)
    assert world.won


def test_looking_in_the_light_needs_the_thing_in_hand_beside_the_lamp(kitchen: Kitchen) -> None:
    scene = kitchen().scene
    goal = replace(
        scene.goal, task_type="look_at_obj_in_light", receptacle_type=None, lamp_type="DeskLamp"
    )
    world = play(
        Game(scene=replace(scene, goal=goal)),
        "go to shelf 1",
        "use desklamp 1",
        "go to countertop 1",
        "take mug 1 from countertop 1",
    )
    assert not world.won
    world.step("go to cabinet 1")
    assert world.won


def test_a_named_item_must_be_that_item(kitchen: Kitchen) -> None:
    game = kitchen(task_type="pick_and_place_simple", receptacle_type="Shelf", item_id="Mug_bar_a")
    other = play(
        game,
        "go to countertop 1",
        "take mug 1 from countertop 1",
        "go to shelf 1",
        "move mug 1 to shelf 1",
    )
    assert not other.won
    right = play(
        game,
        "go to countertop 1",
        "take mug 2 from countertop 1",
        "go to shelf 1",
        "move mug 2 to shelf 1",
    )
    assert right.won


def test_a_thing_in_two_receptacles_stays_in_the_other_one_when_taken(kitchen: Kitchen) -> None:
    scene = kitchen(task_type="pick_and_place_simple", receptacle_type="CounterTop").scene
    cup = replace(scene.items[0], receptacles=("CounterTop_bar_1", "Shelf_bar_1"))
    game = Game(scene=replace(scene, items=(cup, *scene.items[1:])))
    world = play(game, "go to shelf 1", "take mug 2 from shelf 1")
    assert world.contents["CounterTop_bar_1"] == [
        "Apple_bar_1",
        "Knife_bar_1",
        "Mug_bar_a",
        "Mug_bar_b",
    ]
    assert world.won


def test_the_other_syntax_is_understood_and_answered_in_the_games_own(kitchen: Kitchen) -> None:
    world = play(kitchen(), "go to countertop 1", "take mug 1 from countertop 1", "go to shelf 1")
    assert world.resolve("put mug 1 in/on shelf 1") == "move mug 1 to shelf 1"
    assert world.copy().step("put mug 1 in/on shelf 1") == "You move the mug 1 to the shelf 1."
    old = play(
        replace(kitchen(), syntax="put"), "go to countertop 1", "take mug 1 from countertop 1"
    )
    assert "put mug 1 in/on countertop 1" in old.admissible()
    assert old.resolve("move mug 1 to countertop 1") == "put mug 1 in/on countertop 1"
    assert old.step("move mug 1 to countertop 1") == "You put the mug 1 in/on the countertop 1."


def test_old_syntax_arrives_at_a_location_and_has_no_help(kitchen: Kitchen) -> None:
    world = World(replace(kitchen(), syntax="put"))
    assert "help" not in world.admissible()
    assert world.step("help") == "Nothing happens."
    # loc_bar_0 ... loc_bar_5: numbered from the last, so loc_bar_2 is loc 4.
    assert world.step("go to countertop 1").startswith("You arrive at loc 4. On the countertop 1")


@pytest.mark.parametrize(
    ("commands", "refused", "reason"),
    [
        ([], "dance", "'dance' is no command"),
        ([], "go cabinet 1", "'go cabinet 1' has not the form 'go to (receptacle)'"),
        ([], "go to cabinet 9", "there is no receptacle 'cabinet 9' in this room"),
        ([], "go to mug 1", "there is no receptacle 'mug 1' in this room"),
        ([], "Go to cabinet 1", "'Go to cabinet 1' is no command"),
        (["go to cabinet 1"], "go to cabinet 1", "you are already at cabinet 1"),
        (["go to cabinet 1"], "go to shelf 1", "you are already at shelf 1"),
        ([], "open cabinet 1", "you are not at cabinet 1"),
        (["go to shelf 1"], "open shelf 1", "shelf 1 has no door"),
        (["go to cabinet 1", "open cabinet 1"], "open cabinet 1", "cabinet 1 is already open"),
        (["go to cabinet 1"], "close cabinet 1", "cabinet 1 is already closed"),
        (["go to cabinet 1"], "take cup 1 from cabinet 1", "cabinet 1 is closed"),
        (["go to cabinet 1"], "take mug 9 from cabinet 1", "cabinet 1 is closed"),
        (["go to shelf 1"], "take mug 3 from shelf 1", "there is no mug 3 here"),
        (["go to shelf 1"], "take mug 1 from shelf 1", "there is no mug 1 here"),
        (["go to shelf 1"], "take desklamp 1 from shelf 1", "desklamp 1 is fixed"),
        (
            ["go to countertop 1", "take mug 1 from countertop 1"],
            "take mug 2 from countertop 1",
            "your hands are full: you are carrying mug 1",
        ),
        (["go to countertop 1"], "examine mug 1", "you are not holding mug 1"),
        ([], "examine mug 9", "you are not holding mug 9"),
        ([], "move mug 1 to shelf 1", "you are not holding mug 1"),
        (
            ["go to countertop 1", "take apple 1 from countertop 1", "go to shelf 1"],
            "move apple 1 to shelf 1",
            "apple 1 does not belong in/on shelf 1",
        ),
        (
            ["go to countertop 1", "take apple 1 from countertop 1", "go to fridge 1"],
            "move apple 1 to fridge 1",
            "fridge 1 is closed",
        ),
        (
            ["go to countertop 1", "take apple 1 from countertop 1", "go to shelf 1"],
            "heat apple 1 with shelf 1",
            "shelf 1 cannot heat anything",
        ),
        (
            ["go to countertop 1", "take knife 1 from countertop 1", "go to microwave 1"],
            "heat knife 1 with microwave 1",
            "knife 1 cannot be heated",
        ),
        (["go to countertop 1"], "use mug 1", "mug 1 has no switch"),
        (["go to cabinet 1"], "use cup 1", "there is no cup 1 here to switch on"),
        (["go to countertop 1"], "slice apple 1 with knife 1", "you are not holding knife 1"),
    ],
)
def test_refusals_say_why(kitchen: Kitchen, commands: list[str], refused: str, reason: str) -> None:
    world = play(kitchen(), *commands)
    assert refused not in world.admissible()
    before = world.admissible()
    told = why_not(world, refused)
    assert told is not None
    assert told.startswith(reason)
    assert world.step(refused) == "Nothing happens."
    assert world.admissible() == before


def test_exactly_the_admissible_commands_are_carried_out(kitchen: Kitchen) -> None:
    """All commands that can be spelt in this room, in states along a path through all actions."""
    world = World(kitchen())
    names = list(world.tables.ids)
    pairs = [(a, b) for a in names for b in names]
    spelt = {"look", "inventory", "help"}
    spelt |= {f"{verb} {a}" for verb in ("go to", "open", "close", "examine", "use") for a in names}
    spelt |= {f"take {a} from {b}" for a, b in pairs} | {f"move {a} to {b}" for a, b in pairs}
    spelt |= {f"{v} {a} with {b}" for v in ("heat", "cool", "clean", "slice") for a, b in pairs}
    for command in (
        "go to countertop 1",
        "take knife 1 from countertop 1",
        "slice apple 1 with knife 1",
        "move knife 1 to countertop 1",
        "take apple 1 from countertop 1",
        "go to sinkbasin 1",
        "go to microwave 1",
        "go to fridge 1",
        "open fridge 1",
        "move apple 1 to fridge 1",
        "go to cabinet 1",
        "use desklamp 1",
    ):
        possible = sorted(c for c in spelt if world.copy().step(c) != "Nothing happens.")
        assert world.admissible() == possible
        assert possible == sorted(c for c in spelt if why_not(world, c) is None)
        world.step(command)


def test_blanks_around_a_command_do_not_matter(kitchen: Kitchen) -> None:
    assert World(kitchen()).step("  go to cabinet 1\n").startswith("You arrive at cabinet 1.")


def test_copies_do_not_share_state(kitchen: Kitchen) -> None:
    world = play(kitchen(), "go to countertop 1")
    twin = world.copy()
    twin.step("take mug 1 from countertop 1")
    assert world.holding is None
    assert "take mug 1 from countertop 1" in world.admissible()


def test_game_files_and_payloads_give_the_same_game_back(kitchen: Kitchen) -> None:
    goals = (
        {},
        {"task_type": "pick_and_place_simple", "item_id": "Mug_bar_b"},
        {"task_type": "pick_clean_then_place_in_recep"},
        {"task_type": "pick_cool_then_place_in_recep", "object_type": "Apple"},
        {"task_type": "pick_two_obj_and_place"},
        {"task_type": "pick_two_obj_and_place", "item_id": "Mug_bar_b"},
    )
    for goal in goals:
        game = replace(kitchen(**goal), walkthrough=("go to cabinet 1",))
        for version in (game, replace(game, syntax="put", walkthrough=None)):
            assert game_from_json(json.loads(json.dumps(game_to_json(version)))) == version
            assert pickle.loads(pickle.dumps(version)) == version
        payload = json.loads(json.dumps(scene_to_payload(game.scene)))
        assert scene_from_payload(payload) == game.scene


def test_game_of_reads_scenes_and_keeps_them(kitchen: Kitchen) -> None:
    payload = {
        "scene": scene_to_payload(kitchen().scene),
        "task_type": "pick_heat_then_place_in_recep",
        "walkthrough": ["look"],
    }
    task = Task(id="a", domain="alfworld", instruction="", payload=payload)
    assert game_of(task) == replace(kitchen(), walkthrough=("look",))
    assert game_of(task) is game_of(replace(task, id="b"))


def test_errors_name_the_way_out(kitchen: Kitchen, tmp_path) -> None:
    data = game_to_json(kitchen())
    with pytest.raises(TaskError, match='engine="textworld"'):
        game_from_json(data | {"grammar": data["grammar"].replace("You arrive", "You come")})
    with pytest.raises(TaskError, match='engine="textworld"'):
        game_from_json(
            data | {"pddl_domain": data["pddl_domain"].replace("FridgeType", "OvenType")}
        )
    problem = data["pddl_problem"].replace("(isHot ?o)", "(isSliced ?o)")
    with pytest.raises(TaskError, match="none of the six"):
        game_from_json(data | {"pddl_problem": problem})
    with pytest.raises(TaskError, match="pddl_problem"):
        game_from_json({"grammar": "", "pddl_domain": ""})
    with pytest.raises(TaskUnavailable, match="absent"):
        load_game(tmp_path / "absent.tw-pddl")
    (tmp_path / "broken.tw-pddl").write_text("{")
    with pytest.raises(TaskError, match=r"broken\.tw-pddl"):
        load_game(tmp_path / "broken.tw-pddl")
    scene = kitchen().scene
    marked = Game(scene=replace(scene, instruction="use #hash# tags."))
    with pytest.raises(TaskError, match="plain words"):
        game_to_json(marked)
    wrong = replace(scene.items[0], name="mug 7")
    misnamed = Game(scene=replace(scene, items=(wrong, *scene.items[1:])))
    with pytest.raises(TaskError, match="name_entities"):
        game_to_json(misnamed)
    with pytest.raises(TaskError, match="scene_to_payload"):
        scene_from_payload({"receptacles": []})
    with pytest.raises(TaskError, match="game_file"):
        game_of(Task(id="a", domain="alfworld", instruction="", payload={}))
