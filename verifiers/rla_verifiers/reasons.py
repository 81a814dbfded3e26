"""Why a step in ALFWorld was good or bad, in words short enough for a small judge to write."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rla_envs.alfworld.engine import World
from rla_envs.alfworld.engine.knowledge import Knowledge
from rla_envs.alfworld.engine.planner import next_stop
from rla_envs.alfworld.engine.tables import Action
from rla_envs.types import Sign

REASONS: Mapping[str, Sign] = MappingProxyType(
    {
        "searches a new place": 1,
        "moves toward the goal": 1,
        "opens the right place": 1,
        "takes the right thing": 1,
        "changes the right thing": 1,
        "puts it in the right place": 1,
        "frees the hand": 1,
        "switches on the right lamp": 1,
        "nothing happens": -1,
        "wastes a step": -1,
        "searches an old place": -1,
        "searches a useless place": -1,
        "leaves a place unsearched": -1,
        "moves away from the goal": -1,
        "takes the wrong thing": -1,
        "puts it in the wrong place": -1,
        "forgets to change it": -1,
        "changes the wrong thing": -1,
        "opens a useless place": -1,
        "closes a place": -1,
    }
)
"""All reasons that step_reasons gives -> whether the step was good (+1) or bad (-1).

searches a new place: goes to, opens or examines a place that may hold what is still unseen.
moves toward the goal: goes where the thing, the appliance, the lamp or the destination is.
opens the right place: opens where the thing is known to be or has to go.
takes the right thing: takes what the goal is about.
changes the right thing: cleans, heats or cools the thing as asked.
puts it in the right place: puts the thing, as asked, where the goal wants it.
frees the hand: puts away what is not needed, so that the right thing can be taken.
switches on the right lamp: uses the lamp of the goal.
nothing happens: the command was not possible.
wastes a step: looks, asks or uses something to no avail.
searches an old place: goes to, opens or examines a place whose content is known and not needed.
searches a useless place: goes to or examines an unknown place that cannot hold what is needed.
leaves a place unsearched: walks on from a place that may hold the thing without looking inside.
moves away from the goal: walks away although it is known where to go on.
takes the wrong thing: takes what the goal is not about, or takes the thing back.
puts it in the wrong place: puts the thing where the goal does not want it.
forgets to change it: brings or puts the thing to its destination before it is clean, hot or cool.
changes the wrong thing: cleans, heats, cools or slices what need not be.
opens a useless place: opens an unknown place that cannot hold what is needed.
closes a place: closes a receptacle, which nothing needs.
"""


def reason_of(world: World, knowledge: Knowledge, command: str, *, good: bool) -> str:
    """Return why a possible command is good or bad.

    Args:
        world: The state before it.
        knowledge: What was shown before it.
        command: In canonical form.
        good: What the step oracle says of it.
    """
    action = world.tables.parse(command)
    assert action is not None, command
    if action.verb in ("go", "open", "examine"):
        return _reason_to_look(world, knowledge, action, good=good)
    if action.verb == "put":
        return _reason_to_put(world, action, good=good)
    return _GOOD.get(action.verb, "") if good else _BAD.get(action.verb, "wastes a step")


_GOOD = {
    "take": "takes the right thing",
    "use": "switches on the right lamp",
    **dict.fromkeys(("clean", "heat", "cool"), "changes the right thing"),
}
_BAD = {
    "take": "takes the wrong thing",
    "close": "closes a place",
    **dict.fromkeys(("clean", "heat", "cool", "slice"), "changes the wrong thing"),
}
_STATES = {
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "hot",
    "pick_cool_then_place_in_recep": "cool",
}


def _reason_to_look(world: World, knowledge: Knowledge, action: Action, *, good: bool) -> str:
    """Tell search from purposeful walking and opening."""
    place = action.first
    if place not in world.tables.receptacles:
        return "wastes a step"
    found = next_stop(world, knowledge)
    stop, hiding = found if found is not None else (None, [])
    if good:
        if place in hiding:
            return "searches a new place"
        return "moves toward the goal" if action.verb == "go" else "opens the right place"
    if action.verb == "go":
        if _is_unready(world) and place in world.tables.goal_receptacles:
            return "forgets to change it"
        if any(near in hiding for near in world.near):
            return "leaves a place unsearched"
        if stop is not None and not hiding:
            return "moves away from the goal"
    elif action.verb == "examine" and _is_closed(world, place):
        return "wastes a step"
    if place in knowledge.revealed:
        return "searches an old place"
    return "opens a useless place" if action.verb == "open" else "searches a useless place"


def _reason_to_put(world: World, action: Action, *, good: bool) -> str:
    right_thing = action.first in world.tables.of_type
    right_place = action.second in world.tables.goal_receptacles
    if good:
        return "puts it in the right place" if right_thing and right_place else "frees the hand"
    if right_place and _is_unready(world):
        return "forgets to change it"
    return "puts it in the wrong place"


def _is_unready(world: World) -> bool:
    """Return whether the hand holds the thing of the goal, but not yet clean, hot or cool."""
    state = _STATES.get(world.game.scene.goal.task_type)
    if state is None or world.holding not in world.tables.wanted:
        return False
    return world.holding not in getattr(world, state)


def _is_closed(world: World, place: str) -> bool:
    return world.tables.receptacles[place].openable and place not in world.opened
