"""A hand-made kitchen, small enough to follow every step by eye."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rla_envs.alfworld.engine import Game, Goal, Item, Receptacle, Scene, scene_to_payload
from rla_envs.types import Task


def entity_id(kind: str, number: int) -> str:
    """Return an id that makes the real engine call the thing by this number: it counts down."""
    tail = "_bar_SinkBasin" if kind == "SinkBasin" else ""
    return f"{kind.removesuffix('Basin')}_bar_{9 - number}{tail}"


def _place(kind: str, number: int, location: str, *, openable: bool = False) -> Receptacle:
    return Receptacle(
        id=entity_id(kind, number),
        name=f"{kind.lower()} {number}",
        type=kind,
        location=location,
        openable=openable,
        opened=False,
    )


def _mug(number: int, receptacle: str, location: str) -> Item:
    return Item(
        id=entity_id("Mug", number),
        name=f"mug {number}",
        type="Mug",
        location=location,
        receptacles=(receptacle,),
        cleanable=True,
        heatable=True,
        coolable=True,
    )


KITCHEN = Scene(
    receptacles=(
        _place("CounterTop", 1, "loc_1"),
        _place("Cabinet", 1, "loc_2", openable=True),
        _place("Cabinet", 2, "loc_3", openable=True),
        _place("SinkBasin", 1, "loc_4"),
        _place("Shelf", 1, "loc_4"),
    ),
    items=(
        _mug(1, entity_id("Cabinet", 1), "loc_2"),
        _mug(2, entity_id("Shelf", 1), "loc_4"),
        Item(
            id=entity_id("Plate", 1),
            name="plate 1",
            type="Plate",
            location="loc_1",
            receptacles=(entity_id("CounterTop", 1),),
            cleanable=True,
        ),
    ),
    agent_location="loc_0",
    goal=Goal(
        task_type="pick_clean_then_place_in_recep", object_type="Mug", receptacle_type="Cabinet"
    ),
    instruction="put a clean mug in cabinet.",
    can_contain=frozenset(
        (kind, thing)
        for kind in ("CounterTop", "Cabinet", "SinkBasin", "Shelf")
        for thing in ("Mug", "Plate")
    ),
)
"""A clean mug must go into a cabinet; mug 1 is in the closed cabinet 1, mug 2 on the shelf.

The shelf stands where the sink is, so whoever goes to the sink reads nothing about the shelf.
"""

SOLUTION = (
    "go to cabinet 1",
    "open cabinet 1",
    "take mug 1 from cabinet 1",
    "go to sinkbasin 1",
    "clean mug 1 with sinkbasin 1",
    "go to cabinet 1",
    "move mug 1 to cabinet 1",
)


@pytest.fixture
def kitchen() -> Scene:
    """Return the room."""
    return KITCHEN


@pytest.fixture
def kitchen_game(kitchen: Scene) -> Game:
    """Return the room as a game."""
    return Game(scene=kitchen, walkthrough=SOLUTION)


@pytest.fixture
def solution() -> tuple[str, ...]:
    """Return seven commands that win in the kitchen."""
    return SOLUTION


@pytest.fixture
def kitchen_task(kitchen: Scene) -> Task:
    """Return the room as a task."""
    return task_in(kitchen, "kitchen")


@pytest.fixture
def kitchen_tasks(kitchen: Scene) -> list[Task]:
    """Return five tasks whose sentences tell them apart."""
    return [
        task_in(replace(kitchen, instruction=f"put a clean mug in cabinet, take {i}."), f"k{i}")
        for i in range(5)
    ]


def task_in(scene: Scene, task_id: str) -> Task:
    """Return a scene as a task."""
    return Task(
        id=task_id,
        domain="alfworld",
        instruction=scene.instruction,
        payload={"scene": scene_to_payload(scene), "task_type": scene.goal.task_type},
    )
