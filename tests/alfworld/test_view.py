"""The compact view: what it says, how short it is, and that it never tells what was not shown."""

import random
from dataclasses import replace

import pytest
import rla_task_sets

from rla_envs.alfworld.engine import Game, Goal, World, game_of, load_game
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.alfworld.view import EpisodeMemory, compact_view, words
from rla_envs.types import Task


def play(game, *commands):
    """Return the view after commands, each of which may be inadmissible."""
    return views(game, commands)[-1]


def views(game, commands):
    world = World(game)
    memory = EpisodeMemory(world)
    seen = [compact_view(memory)]
    for command in commands:
        happened = world.resolve(command) is not None
        world.step(command)
        memory.update(command, happened=happened)
        seen.append(compact_view(memory))
    return seen


def part(view, name):
    parts = dict(text.split(" : ", 1) for text in view.split(" | "))
    return parts.get(name)


def test_first_view_names_places_and_no_contents(kitchen_game):
    assert play(kitchen_game) == (
        "task : put a clean mug in cabinet . | at : middle | hand : empty | tool : sinkbasin 1 "
        "| goal : cabinet 1 2 | new : cabinet 1 2 , countertop 1 , shelf 1 , sinkbasin 1"
    )


def test_a_closed_place_stays_new_until_it_is_opened(kitchen_game):
    closed = play(kitchen_game, "go to cabinet 1")
    assert part(closed, "at") == "cabinet 1 closed"
    assert "cabinet 1 2" in part(closed, "new")
    opened = play(kitchen_game, "go to cabinet 1", "open cabinet 1")
    assert part(opened, "at") == "cabinet 1 open : mug 1"
    assert part(opened, "seen") == "mug 1 in cabinet 1"


def test_nothing_is_new_while_the_thing_needed_is_known(kitchen_game, solution):
    assert part(play(kitchen_game, "go to countertop 1"), "new") is not None
    for commands in range(2, 7):
        assert part(play(kitchen_game, *solution[:commands]), "new") is None


def test_hand_shows_the_states_the_agent_caused(kitchen_game, solution):
    assert part(play(kitchen_game, *solution[:3]), "hand") == "mug 1"
    assert part(play(kitchen_game, *solution[:5]), "hand") == "mug 1 clean"


def test_only_the_clean_mug_in_a_cabinet_is_done(kitchen_game, solution):
    dirty = play(kitchen_game, *solution[:3], "move mug 1 to cabinet 1")
    assert part(dirty, "done") is None
    assert part(dirty, "seen") == "mug 1 in cabinet 1"
    assert part(play(kitchen_game, *solution), "done") == "mug 1 clean in cabinet 1"


def test_a_place_beside_the_one_gone_to_is_unknown_until_examined(kitchen_game):
    arrived = play(kitchen_game, "go to sinkbasin 1")
    assert part(arrived, "at") in ("sinkbasin 1 : empty ; shelf 1", "shelf 1 ; sinkbasin 1 : empty")
    assert "mug 2" not in arrived
    assert "shelf 1" in part(arrived, "new")
    examined = play(kitchen_game, "go to sinkbasin 1", "examine shelf 1")
    assert part(examined, "seen") == "mug 2 in shelf 1"


def test_a_command_without_effect_says_so(kitchen_game):
    view = play(kitchen_game, "open cabinet 1")
    assert part(view, "last") == "open cabinet 1 : nothing happens"
    assert part(play(kitchen_game, "look"), "last") == "look"


def test_states_that_were_never_told_are_not_shown(kitchen):
    mug, *others = kitchen.items
    cool = replace(kitchen, items=(replace(mug, states=frozenset({"cool"})), *others))
    commands = ("go to cabinet 1", "open cabinet 1", "take mug 1 from cabinet 1")
    assert part(play(Game(scene=cool), *commands), "hand") == "mug 1"
    assert part(play(Game(scene=cool), *commands, "examine mug 1"), "hand") == "mug 1 cool"


def test_only_the_named_thing_matters_when_the_goal_names_one(kitchen):
    second = next(item for item in kitchen.items if item.name == "mug 2")
    goal = replace(kitchen.goal, item_id=second.id)
    view = play(Game(scene=replace(kitchen, goal=goal)), "go to cabinet 1", "open cabinet 1")
    assert part(view, "seen") is None
    assert part(view, "new") is not None


def test_two_things_are_done_in_one_place_only(kitchen):
    goal = Goal(task_type="pick_two_obj_and_place", object_type="Mug", receptacle_type="CounterTop")
    game = Game(scene=replace(kitchen, goal=goal))
    first = (
        "go to shelf 1",
        "take mug 2 from shelf 1",
        "go to countertop 1",
        "move mug 2 to countertop 1",
    )
    view = play(game, *first)
    assert part(view, "done") == "mug 2 in countertop 1"
    assert part(view, "new") == "cabinet 1 2 , sinkbasin 1"


def test_large_rooms_list_four_numbers_a_kind(kitchen):
    cabinet = kitchen.receptacles[1]
    many = tuple(
        replace(cabinet, id=f"Cabinet_bar_{n + 90}", name=f"cabinet {n}", location=f"loc_{n + 10}")
        for n in range(3, 12)
    )
    view = play(Game(scene=replace(kitchen, receptacles=(*kitchen.receptacles, *many))))
    assert part(view, "goal") == "cabinet 1 2 3 4"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Put a Clean mug in/on cabinet12.", "put a clean mug in / on cabinet 12 ."),
        ("  look \n", "look"),
        ("", ""),
    ],
)
def test_words_and_numbers_are_separate_tokens(text, expected):
    assert words(text) == expected


def shuffled(scene, rng):
    """Return the scene with every thing somewhere else, states changed too."""
    places = [place.id for place in scene.receptacles]
    items = tuple(
        replace(item, receptacles=(rng.choice(places),), states=frozenset({"clean"}))
        for item in scene.items
    )
    return replace(scene, items=items)


def test_unseen_contents_never_change_the_view(kitchen):
    # Two rooms that differ in nothing the agent has been told must look the same.
    rng = random.Random(0)
    told = ("go to cabinet 1", "go to cabinet 2", "open countertop 1", "look", "inventory", "help")
    for _ in range(50):
        commands = [rng.choice(told) for _ in range(6)]
        assert views(Game(scene=kitchen), commands) == views(
            Game(scene=shuffled(kitchen, rng)), commands
        )


@pytest.mark.official
def test_official_games_never_leak_and_stay_short(official_root):
    paths = sorted(official_root.glob("valid_seen/*/*/game.tw-pddl"))[::10]
    lengths = []
    rng = random.Random(0)
    for path in paths:
        game = load_game(path)
        for view in told_only(game, rng):
            lengths.append(len(view.split()))
    assert max(lengths) <= 130
    assert sum(lengths) / len(lengths) <= 80


def told_only(game, rng):
    """Walk at random and check each thing in the view against the text read so far."""
    world = World(game)
    memory = EpisodeMemory(world)
    read = world.feedback
    names = {item.name for item in game.scene.items}
    for _ in range(30):
        view = compact_view(memory)
        yield view
        _, rest = view.split(" | ", 1)
        shown = {" ".join(pair) for pair in zip(rest.split(), rest.split()[1:], strict=False)}
        for name in names & shown:
            assert f" {name}" in read, f"{name} was never shown; {view}"
        command = rng.choice(world.admissible())
        # A "take" names a thing that the list of commands told, not the text.
        read += f"\n{command}\n{world.step(command)}"
        memory.update(command)


def test_the_agent_knows_where_it_put_a_thing_even_in_a_place_it_never_read(kitchen_game):
    commands = ("go to sinkbasin 1", "take mug 2 from shelf 1", "move mug 2 to shelf 1")
    assert part(play(kitchen_game, *commands), "seen") == "mug 2 in shelf 1"


@pytest.mark.parametrize(("size", "longest", "mean"), [("small", 70, 50), ("large", 100, 60)])
def test_views_along_a_solution_are_short(size, longest, mean):
    lengths = [
        len(view.split())
        for task in rla_task_sets.load("alfworld/generated", n=30, seed=1, size=size)
        for view in views(game_of(task), task.payload["walkthrough"])
    ]
    assert max(lengths) <= longest
    assert sum(lengths) / len(lengths) <= mean


def names(grouped):
    """Return ["cabinet 1", "cabinet 2", "safe 1"] for "cabinet 1 2 , safe 1"."""
    found = []
    for group in grouped.split(" , ") if grouped else ():
        kind, *numbers = group.split()
        found += [f"{kind} {number}" for number in numbers]
    return found


def by_rules(view):
    """Return the command of somebody who reads one view and remembers nothing."""
    here = {}
    for text in part(view, "at").split(" ; "):
        place, _, content = text.partition(" : ")
        here[" ".join(place.split()[:2])] = (place.split()[2:], content)
    known = {}
    for text in (part(view, "seen") or "").split(" , "):
        if " in " in text:
            thing, place = text.split(" in ")
            known[" ".join(thing.split()[:2])] = (thing.split()[2:], place)
    hand = part(view, "hand").split()
    tools, goals, new = (names(part(view, name)) for name in ("tool", "goal", "new"))
    done = [text.split(" in ")[1] for text in (part(view, "done") or "").split(" , ") if text]
    lamps = {name: entry for name, entry in known.items() if "lamp" in name}
    things = {name: entry for name, entry in known.items() if name not in lamps}
    verb, state = {"sinkbasin": ("clean", "clean"), "microwave": ("heat", "hot")}.get(
        tools[0].split()[0] if tools else "", ("cool", "cool")
    )

    def at(place, command):
        if place not in here:
            return f"go to {place}"
        return f"open {place}" if "closed" in here[place][0] else command

    if hand != ["empty"]:
        held = " ".join(hand[:2])
        if tools and state not in hand:
            return f"{verb} {held} with {tools[0]}" if tools[0] in here else f"go to {tools[0]}"
        if goals:
            place = (done + [goal for goal in goals if goal in here] + goals)[0]
            return at(place, f"move {held} to {place}")
        if lamps:
            lamp, (_, place) = next(iter(lamps.items()))
            return f"use {lamp}" if place in here else f"go to {place}"
    elif things:
        thing, (_, place) = next(iter(things.items()))
        return at(place, f"take {thing} from {place}")
    unread = [place for place in here if place in new]
    place = (unread + new)[0]
    return at(place, f"examine {place}")


def solve(tasks, max_steps):
    """Let the rules play each task once; every action must be admissible."""
    env = AlfWorldEnv(tasks, view="compact", max_steps=max_steps)
    for task in tasks:
        view, info = env.reset(seed=0, options={"task": task})
        over = False
        while not over:
            action = by_rules(view)
            view, _, terminated, truncated, info = env.step(action)
            assert info["feedback_reason"] is None, (action, view)
            over = terminated or truncated
        assert info["won"], (task.id, view)


@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_rules_that_read_the_view_alone_solve_generated_tasks(size):
    solve(rla_task_sets.load("alfworld/generated", n=36, seed=3, size=size), 100)


@pytest.mark.official
def test_rules_that_read_the_view_alone_solve_official_tasks(official_root):
    tasks = [
        Task(id=str(path), domain="alfworld", instruction="", payload={"game_file": str(path)})
        for path in sorted(official_root.glob("valid_*/*/*/game.tw-pddl"))[::4]
    ]
    solve(tasks, 150)
