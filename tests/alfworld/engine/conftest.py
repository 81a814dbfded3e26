"""A small hand-made kitchen in which every action is possible."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from rla_envs.alfworld.engine import Game, Goal, Item, Receptacle, Scene, name_entities


def build(receptacles: list[Receptacle], items: list[Item], goal: Goal) -> Game:
    names = name_entities([entity.id for entity in (*receptacles, *items)])
    return Game(
        scene=Scene(
            receptacles=tuple(replace(r, name=names[r.id]) for r in receptacles),
            items=tuple(replace(i, name=names[i.id]) for i in items),
            agent_location="loc_bar_0",
            goal=goal,
            instruction="put a hot mug in the cabinet.",
            can_contain=frozenset(
                {
                    ("Cabinet", "Mug"),
                    ("CounterTop", "Mug"),
                    ("CounterTop", "Apple"),
                    ("CounterTop", "Knife"),
                    ("Fridge", "Apple"),
                    ("Shelf", "Mug"),
                }
            ),
        )
    )


def place(id_: str, location: str, *, openable: bool = False, opened: bool = False) -> Receptacle:
    type_ = "SinkBasin" if id_.endswith("SinkBasin") else id_.partition("_bar_")[0]
    return Receptacle(
        id=id_, name="", type=type_, location=location, openable=openable, opened=opened
    )


def thing(id_: str, location: str | None, *receptacles: str, **flags: object) -> Item:
    type_ = id_.partition("_bar_")[0]
    return Item(id=id_, name="", type=type_, location=location, receptacles=receptacles, **flags)


@pytest.fixture
def kitchen() -> Callable[..., Game]:
    """Return a maker of kitchens; arguments replace fields of the goal.

    Names: cabinet 1 (closed) and shelf 1 share a place; mug 2 and mug 1 are on countertop 1 and
    cup 1 in the cabinet; apple 1 and knife 1 are on the countertop, egg 1 in the fridge (closed);
    desklamp 1 stands on the shelf.
    """

    def make(**goal: str) -> Game:
        wanted = {
            "task_type": "pick_heat_then_place_in_recep",
            "object_type": "Mug",
            "receptacle_type": "Cabinet",
        }
        return build(
            [
                place("Cabinet_bar_1", "loc_bar_1", openable=True),
                place("Shelf_bar_1", "loc_bar_1"),
                place("CounterTop_bar_1", "loc_bar_2"),
                place("Microwave_bar_1", "loc_bar_3", openable=True),
                place("Fridge_bar_1", "loc_bar_4", openable=True),
                place("Sink_bar_1_bar_SinkBasin", "loc_bar_5"),
            ],
            [
                thing("Mug_bar_a", "loc_bar_2", "CounterTop_bar_1", vessel=True, heatable=True),
                thing("Mug_bar_b", "loc_bar_2", "CounterTop_bar_1", heatable=True, cleanable=True),
                thing("Cup_bar_1", "loc_bar_1", "Cabinet_bar_1"),
                thing(
                    "Apple_bar_1",
                    "loc_bar_2",
                    "CounterTop_bar_1",
                    heatable=True,
                    coolable=True,
                    cleanable=True,
                    sliceable=True,
                ),
                thing("Knife_bar_1", "loc_bar_2", "CounterTop_bar_1", cleanable=True),
                thing("Egg_bar_1", "loc_bar_4", "Fridge_bar_1", coolable=True),
                thing(
                    "DeskLamp_bar_1", "loc_bar_1", "Shelf_bar_1", pickupable=False, toggleable=True
                ),
                thing("Sink_bar_1", "loc_bar_5", pickupable=False),
            ],
            Goal(**(wanted | goal)),  # type: ignore[arg-type]
        )

    return make


@pytest.fixture(scope="session")
def require_textworld() -> None:
    """Skip without the real engine; in CI it must be there."""
    if importlib.util.find_spec("alfworld") and importlib.util.find_spec("textworld"):
        return
    if os.environ.get("CI") == "true":
        pytest.fail("the real engine is missing; CI must have it (pip install -e '.[alfworld]')")
    pytest.skip("the real engine is not installed")
