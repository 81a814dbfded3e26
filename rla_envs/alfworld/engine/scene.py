"""The static description of one ALFRED room and of what is asked for in it.

A scene is what a game file says once names and facts are sorted out. The engine runs it, the
planner solves it, generators build it and rewriters change it (with ``dataclasses.replace``), so
that nobody edits PDDL text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TaskType = Literal[
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
]
"""The six official task types."""

ItemState = Literal["clean", "hot", "cool", "sliced", "toggled"]
"""What can be true of a thing; "toggled" means switched on once, which nothing undoes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receptacle:
    """A place that holds things: "cabinet 3".

    Attributes:
        id: PDDL name, e.g. ``Cabinet_bar__plus_00_dot_10_bar_...``.
        name: What the player reads and types, e.g. "cabinet 3"; it follows from the ids of the
            room, see ``grammar.name_entities``.
        type: ALFRED class without the suffix "Type", e.g. "Cabinet", "SinkBasin".
        location: PDDL name of the place to stand; several receptacles can share one.
        openable: Whether it can be closed.
        opened: Whether it is open at the start (False when not openable).
    """

    id: str
    name: str
    type: str
    location: str
    openable: bool
    opened: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A thing: "mug 1". Only what ALFRED calls an object; receptacles are separate.

    Attributes:
        id: PDDL name.
        name: What the player reads, e.g. "mug 1"; it follows from the ids of the room.
        type: ALFRED class without "Type", e.g. "Mug".
        location: PDDL location of ``objectAtLocation``, None if absent. Only slicing and ``look``
            depend on it.
        receptacles: ids of the receptacles it is in (official games list some in two or more).
        pickupable, cleanable, heatable, coolable, toggleable, sliceable: ALFRED flags.
        vessel: Whether ``examine`` describes what is inside it (``isReceptacleObject``).
        inside: ids of the items that ``examine`` lists as inside it; they never leave it.
        states: What is true of it at the start; official games know only "cool".
    """

    id: str
    name: str
    type: str
    location: str | None
    receptacles: tuple[str, ...]
    pickupable: bool = True
    cleanable: bool = False
    heatable: bool = False
    coolable: bool = False
    toggleable: bool = False
    sliceable: bool = False
    vessel: bool = False
    inside: tuple[str, ...] = ()
    states: frozenset[ItemState] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What has to hold at the end.

    Attributes:
        task_type: One of the six.
        object_type: ALFRED class of the thing to move or look at, e.g. "Mug".
        receptacle_type: Where it must end up; None for look_at_obj_in_light.
        lamp_type: The light to switch on for look_at_obj_in_light, e.g. "DeskLamp"; None otherwise.
        item_id: When set, this very item is meant, not any of its type (a rewrite; official goals
            leave it None). For two objects: this one and any other.
    """

    task_type: TaskType
    object_type: str
    receptacle_type: str | None = None
    lamp_type: str | None = None
    item_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One room with a goal.

    Attributes:
        receptacles: In the order of the game file. Descriptions are ordered by id, not by this.
        items: In the order of the game file.
        agent_location: PDDL location where the agent starts.
        goal: What has to hold.
        instruction: The task sentence as the player reads it, full stop included, without
            "Your task is to: ".
        can_contain: Pairs (receptacle type, object type) that may be put together.
    """

    receptacles: tuple[Receptacle, ...]
    items: tuple[Item, ...]
    agent_location: str
    goal: Goal
    instruction: str
    can_contain: frozenset[tuple[str, str]]
