"""The embedded engine against TextWorld itself: every text, every command list, every verdict.

A seeded player walks both at once. It prefers commands that change things, and now and then says
something that was possible a moment ago.
"""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import rla_task_sets

from rla_envs.alfworld.engine import Game, World, game_from_json, game_of, load_game
from rla_envs.alfworld.engine.textworld import RealWorld
from rla_envs.errors import MissingExtra, TaskError, TaskUnavailable, WorkerCrashed

pytestmark = [pytest.mark.textworld, pytest.mark.slow]

OFFICIAL_GAMES, GENERATED_GAMES, STEPS = 10, 3, 30
DULL = {"go": 1.0, "examine": 1.5, "look": 1.5, "inventory": 0.5, "help": 0.2}
BUSY = 8.0


@pytest.fixture(scope="module")
def real(require_textworld: None) -> Iterator[RealWorld]:
    """One process for all games: the imports and the planner's library cost seconds."""
    seed = Game(scene=_smallest())
    with RealWorld(seed) as world:
        yield world


def _smallest():
    from rla_envs.alfworld.engine import Goal, Item, Receptacle, Scene

    desk = Receptacle(
        id="Desk_bar_1",
        name="desk 1",
        type="Desk",
        location="loc_bar_1",
        openable=False,
        opened=False,
    )
    pen = Item(
        id="Pen_bar_1", name="pen 1", type="Pen", location="loc_bar_1", receptacles=("Desk_bar_1",)
    )
    return Scene(
        receptacles=(desk,),
        items=(pen,),
        agent_location="loc_bar_0",
        goal=Goal(task_type="pick_and_place_simple", object_type="Pen", receptacle_type="Desk"),
        instruction="put a pen on the desk.",
        can_contain=frozenset({("Desk", "Pen")}),
    )


def assert_same(real: RealWorld, world: World, said: Sequence[str]) -> None:
    assert world.feedback == real.feedback, said
    assert world.admissible() == real.admissible(), said
    assert world.won == real.won, said


def follow(real: RealWorld, world: World, commands: Sequence[str]) -> None:
    assert_same(real, world, [])
    for number, command in enumerate(commands):
        world.step(command)
        real.step(command)
        assert_same(real, world, commands[: number + 1])


def wander(real: RealWorld, world: World, *, steps: int, seed: int) -> None:
    rng = random.Random(seed)
    said: list[str] = []
    before: list[str] = []
    assert_same(real, world, said)
    for _ in range(steps):
        now = world.admissible()
        options = before if before and rng.random() < 0.1 else now
        weights = [DULL.get(command.partition(" ")[0], BUSY) for command in options]
        command = rng.choices(options, weights)[0]
        before = now
        said.append(command)
        world.step(command)
        real.step(command)
        assert_same(real, world, said)


@pytest.mark.official
@pytest.mark.parametrize("number", range(OFFICIAL_GAMES))
def test_official_games_are_played_alike(real: RealWorld, official_root: Path, number: int) -> None:
    paths = sorted(official_root.glob("*/*/*/game.tw-pddl"))
    path = random.Random(11).sample(paths, OFFICIAL_GAMES)[number]
    game = load_game(path)
    real.load(path)
    world = World(game)
    if number % 2:
        follow(real, world, game.walkthrough or ())
    wander(real, world, steps=STEPS, seed=number)


@pytest.mark.official
@pytest.mark.parametrize("number", range(GENERATED_GAMES))
def test_games_written_by_us_are_played_alike(
    real: RealWorld, official_root: Path, number: int
) -> None:
    """The same rooms in our own domain and grammar, in both syntaxes."""
    paths = sorted(official_root.glob("*/*/*/game.tw-pddl"))
    game = load_game(random.Random(12).sample(paths, GENERATED_GAMES)[number])
    if number % 3 == 2:
        game = replace(game, syntax="put", walkthrough=None)
    real.load(game)
    wander(real, World(game), steps=STEPS, seed=number)


@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_generated_games_are_played_alike(real: RealWorld, size: str) -> None:
    """Games from the project's own generator, won and then played on."""
    tasks = rla_task_sets.load("alfworld/generated", n=6, seed=7, split="train", size=size)
    chosen = {task.payload["task_type"]: task for task in tasks}
    for seed, task in enumerate(list(chosen.values())[:2]):
        game = game_of(task)
        real.load(game)
        world = World(game)
        follow(real, world, task.payload["walkthrough"])
        assert real.won
        wander(real, world, steps=10, seed=seed)


@pytest.mark.official
def test_games_of_the_installed_alfworld_are_played_alike(
    real: RealWorld, official_root: Path
) -> None:
    """alfworld-generate writes another grammar and domain than the official games have."""
    spec = importlib.util.find_spec("alfworld")
    assert spec is not None
    assert spec.origin is not None
    logic = Path(spec.origin).parent / "data"
    path = min(official_root.glob("*/*/*/game.tw-pddl"))
    official = json.loads(path.read_text())
    task = load_game(path).scene.instruction
    data = official | {
        "grammar": (logic / "alfred.twl2").read_text().replace("UNKNOWN GOAL.", task),
        "pddl_domain": (logic / "alfred.pddl").read_text(),
    }
    real.load(data)
    wander(real, World(game_from_json(data)), steps=STEPS, seed=9)


SCRIPT = """
look | go to countertop 1 | look | take knife 1 from countertop 1 | slice apple 1 with knife 1
slice mug 1 with knife 1 | examine knife 1 | move knife 1 to countertop 1
take apple 1 from countertop 1 | examine apple 1 | go to microwave 1 | heat apple 1 with microwave 1
examine apple 1 | go to sinkbasin 1 | clean apple 1 with sinkbasin 1 | examine apple 1
go to fridge 1 | cool apple 1 with fridge 1 | examine apple 1 | move apple 1 to fridge 1
open fridge 1 | move apple 1 to fridge 1 | take egg 1 from fridge 1 | examine egg 1 | inventory
close fridge 1 | cool egg 1 with fridge 1 | help | dance | go to fridge 1 | go to countertop 1
move egg 1 to countertop 1 | go to fridge 1 | open fridge 1 | take apple 1 from fridge 1
go to countertop 1 | move apple 1 to countertop 1 | take mug 1 from countertop 1 | go to shelf 1
use desklamp 1 | use desklamp 1 | look | move mug 1 to shelf 1 | take mug 1 from shelf 1
open cabinet 1 | move mug 1 to cabinet 1 | look | go to cabinet 1 | close cabinet 1 | look
examine cabinet 1 | take mug 1 from cabinet 1 | open cabinet 1 | take mug 1 from cabinet 1
examine mug 1 | go to countertop 1 | move mug 1 to countertop 1 | take mug 2 from countertop 1
examine mug 2 | go to shelf 1 | move mug 2 to shelf 1 | look | take cup 1 from cabinet 1
examine cup 1 | move cup 1 to shelf 1
"""


def test_every_action_and_oddity_is_the_same(real: RealWorld, kitchen: Callable[..., Game]) -> None:
    game = kitchen()
    real.load(game)
    follow(real, World(game), SCRIPT.replace("\n", " | ").strip(" |").split(" | "))


@pytest.mark.parametrize(
    "goal",
    [
        {"task_type": "pick_and_place_simple", "receptacle_type": "Shelf", "item_id": "Mug_bar_a"},
        {"task_type": "pick_two_obj_and_place", "receptacle_type": "Shelf"},
        {
            "task_type": "pick_two_obj_and_place",
            "receptacle_type": "CounterTop",
            "item_id": "Mug_bar_a",
        },
        {"task_type": "pick_clean_then_place_in_recep", "receptacle_type": "Shelf"},
        {
            "task_type": "pick_cool_then_place_in_recep",
            "object_type": "Apple",
            "receptacle_type": "CounterTop",
        },
    ],
)
def test_goals_are_judged_alike(
    real: RealWorld, kitchen: Callable[..., Game], goal: dict[str, str]
) -> None:
    """Things that start hot, sliced, in two places, or believed elsewhere are included."""
    scene = kitchen(**goal).scene
    first, second, cup, apple, *rest = scene.items
    items = (
        replace(first, receptacles=("CounterTop_bar_1", "Shelf_bar_1"), inside=("Cup_bar_1",)),
        replace(second, states=frozenset({"hot", "clean"})),
        cup,
        replace(apple, location="loc_bar_5", states=frozenset({"cool", "sliced"})),
        *rest,
    )
    game = Game(scene=replace(scene, items=items))
    real.load(game)
    wander(real, World(game), steps=STEPS, seed=5)


def test_what_the_engine_refuses_is_a_task_error(real: RealWorld, tmp_path: Path) -> None:
    with pytest.raises(TaskUnavailable, match="absent"):
        real.load(tmp_path / "absent.tw-pddl")
    with pytest.raises(TaskError, match="real engine refuses"):
        real.load({"grammar": "", "pddl_domain": "", "pddl_problem": ""})


def test_a_dead_process_is_reported(require_textworld: None) -> None:
    world = RealWorld(Game(scene=_smallest()))
    world._process.kill()
    with pytest.raises(WorkerCrashed, match="exit code"):
        world.step("look")
    world.close()
    with pytest.raises(WorkerCrashed):
        world.step("look")
    world.close()


def test_a_missing_extra_is_named(
    require_textworld: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "alfworld.py").write_text("raise ImportError('No module named alfworld')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(MissingExtra, match=r"pip install 'rla-envs\[alfworld\]'"):
        RealWorld(Game(scene=_smallest()))
