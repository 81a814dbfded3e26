"""Transforms that should make a game harder."""

from __future__ import annotations

from dataclasses import replace

from rla_envs.alfworld.engine import Receptacle, Scene, TaskType
from rla_envs.alfworld.rewriting.rooms import (
    FLAGS,
    KNIVES,
    TOOLS,
    add_items,
    add_places,
    counts,
    fits,
    move,
    needed,
    place_named,
    place_of,
    set_opened,
    targets,
)
from rla_envs.alfworld.rewriting.transform import Args, Topic, Transform
from rla_envs.alfworld.rewriting.wording import with_goal

MORE = 3
"""Distractors added at a time."""

STATES: dict[str, TaskType] = {
    "clean": "pick_clean_then_place_in_recep",
    "heat": "pick_heat_then_place_in_recep",
    "cool": "pick_cool_then_place_in_recep",
}
"""What can be asked to be done to a thing -> the task type that asks it."""


def other_objects(scene: Scene) -> list[str]:
    """Return the types of things that could take the place of the goal's object."""
    goal = scene.goal
    flag = FLAGS.get(goal.task_type)
    return sorted(
        {
            item.type
            for item in scene.items
            if item.pickupable
            and item.receptacles
            and item.type != goal.object_type
            and (flag is None or getattr(item, flag))
            and (
                goal.receptacle_type is None
                or (goal.receptacle_type, item.type) in scene.can_contain
            )
            and counts(scene)[item.type] >= needed(scene)
        }
    )


def set_object(scene: Scene, args: Args) -> Scene:
    """Ask for another type of thing."""
    return with_goal(scene, replace(scene.goal, object_type=args[0], item_id=None))


def set_receptacle(scene: Scene, args: Args) -> Scene:
    """Ask for another type of destination."""
    return with_goal(scene, replace(scene.goal, receptacle_type=args[0]))


def other_receptacles(scene: Scene) -> list[str]:
    """Return the types of receptacles that could be the destination instead."""
    goal = scene.goal
    if goal.receptacle_type is None:
        return []
    avoided = {goal.receptacle_type, *TOOLS.get(goal.task_type, ())}
    return sorted(
        {
            place.type
            for place in scene.receptacles
            if place.type not in avoided and fits(scene, place, goal.object_type)
        }
    )


def openable_types(scene: Scene) -> set[str]:
    """Return the types of receptacles with a door."""
    return {place.type for place in scene.receptacles if place.openable}


def move_targets(scene: Scene, args: Args) -> Scene:
    """Put everything that could fulfil the goal into one place; close it if it has a door."""
    place = place_named(scene, args[0])
    assert place is not None
    return set_opened(move(scene, targets(scene), place), {place.id}, False)


def elsewhere(scene: Scene) -> list[Receptacle]:
    """Return where the goal's object fits, destinations left out, in order of their names."""
    goal = scene.goal
    return sorted(
        (
            place
            for place in scene.receptacles
            if place.type != goal.receptacle_type and fits(scene, place, goal.object_type)
        ),
        key=lambda place: place.name,
    )


def _hiding_places(scene: Scene) -> list[Args]:
    held = {item.receptacles for item in targets(scene)}
    return [
        (place.name,)
        for place in elsewhere(scene)
        if place.openable and held and held != {(place.id,)}
    ]


def _unusual_places(scene: Scene) -> list[Args]:
    found = targets(scene)
    usual = {place_of(scene, item).type for item in found}
    return [
        (place.name,)
        for place in elsewhere(scene)
        if found and not place.openable and place.type not in usual
    ]


def _rarer(scene: Scene) -> list[Args]:
    number = counts(scene)
    now = number[scene.goal.object_type]
    return [(type_,) for type_ in other_objects(scene) if number[type_] <= now]


def _worse_destinations(scene: Scene) -> list[Args]:
    goal = scene.goal
    closed = openable_types(scene)
    number = {
        type_: sum(place.type == type_ for place in scene.receptacles)
        for type_ in (*other_receptacles(scene), goal.receptacle_type)
    }
    return [
        (type_,)
        for type_ in other_receptacles(scene)
        if type_ in closed or number[type_] <= number[goal.receptacle_type]
    ]


def _may_ask_two(scene: Scene) -> list[Args]:
    goal = scene.goal
    simple = goal.task_type == "pick_and_place_simple" and goal.item_id is None
    return [()] if simple and len(targets(scene)) > 1 else []


def _ask_two(scene: Scene, args: Args) -> Scene:
    return with_goal(scene, replace(scene.goal, task_type="pick_two_obj_and_place"))


def _states(scene: Scene) -> list[Args]:
    if scene.goal.task_type != "pick_and_place_simple":
        return []
    types = {place.type for place in scene.receptacles}
    return [
        (word,)
        for word, kind in STATES.items()
        if TOOLS[kind] & types and any(getattr(item, FLAGS[kind]) for item in targets(scene))
    ]


def _add_state(scene: Scene, args: Args) -> Scene:
    return with_goal(scene, replace(scene.goal, task_type=STATES[args[0]]))


def _specific(scene: Scene) -> list[Args]:
    if scene.goal.item_id is not None or needed(scene) > 1:
        return []
    found = targets(scene)
    return [(item.name,) for item in found] if len(found) > 1 else []


def _ask_specific(scene: Scene, args: Args) -> Scene:
    item = next(item for item in targets(scene) if item.name == args[0])
    return with_goal(scene, replace(scene.goal, item_id=item.id))


def _more_places(scene: Scene) -> list[Args]:
    goal = scene.goal
    # A basin's id belongs to its sink, so another basin cannot be named.
    return [
        (type_,)
        for type_ in sorted({p.type for p in scene.receptacles if "basin" not in p.id.lower()})
        if type_ != goal.receptacle_type
        and (type_, goal.object_type) in scene.can_contain
        and not any(type_ in tools for tools in TOOLS.values())
        and sum(place.type == type_ for place in scene.receptacles) < 20
    ]


def _add_places(scene: Scene, args: Args) -> Scene:
    like = next(place for place in scene.receptacles if place.type == args[0])
    return add_places(scene, like, MORE)


def _more_things(scene: Scene) -> list[Args]:
    goal, number = scene.goal, counts(scene)
    special = {goal.object_type, goal.lamp_type, *KNIVES}
    return [
        (type_,)
        for type_ in sorted(number)
        if type_ not in special and number[type_] < 6 and _spots(scene, type_)
    ]


def _spots(scene: Scene, type_: str) -> list[Receptacle]:
    """Return where distractors go: first where the goal's objects are, then anywhere they fit."""
    holding = {place for item in targets(scene) for place in item.receptacles}
    places = [place for place in scene.receptacles if fits(scene, place, type_)]
    return sorted(places, key=lambda place: (place.id not in holding, place.name))[:MORE]


def _add_things(scene: Scene, args: Args) -> Scene:
    like = next(i for i in scene.items if i.type == args[0] and i.pickupable)
    return add_items(scene, like, _spots(scene, args[0]))


def _may_close(scene: Scene) -> list[Args]:
    return [()] if any(place.opened for place in scene.receptacles) else []


def _close_all(scene: Scene, args: Args) -> Scene:
    return set_opened(scene, {place.id for place in scene.receptacles}, False)


def _harder(name: str, topics: set[Topic], text: str) -> Transform:
    options, apply = _FUNCTIONS[name]
    return Transform(
        name=name,
        direction="harder",
        topics=frozenset(topics),
        help=text,
        options=options,
        apply=apply,
    )


_FUNCTIONS = {
    "rarer_object": (_rarer, set_object),
    "hide_object": (_hiding_places, move_targets),
    "move_farther": (_unusual_places, move_targets),
    "two_objects": (_may_ask_two, _ask_two),
    "add_state": (_states, _add_state),
    "specific_item": (_specific, _ask_specific),
    "swap_receptacle": (_worse_destinations, set_receptacle),
    "add_places": (_more_places, _add_places),
    "add_things": (_more_things, _add_things),
    "close_all": (_may_close, _close_all),
}

HARDER = (
    _harder("rarer_object", {"search", "thing"}, "ask for a TYPE of thing that is not commoner"),
    _harder("hide_object", {"search"}, "put the wanted things into the closed PLACE"),
    _harder("move_farther", {"search"}, "put the wanted things in PLACE, where none is expected"),
    _harder("two_objects", {"place", "progress"}, "ask for two things instead of one"),
    _harder("add_state", {"change", "progress"}, "ask to clean, heat or cool the thing first"),
    _harder("specific_item", {"thing"}, "ask for this ITEM, not any of its type"),
    _harder("swap_receptacle", {"place"}, "ask to put it in a TYPE of place with a door or rarer"),
    _harder("add_places", {"search"}, f"add {MORE} empty places of TYPE to search"),
    _harder("add_things", {"thing", "search"}, f"add {MORE} things of TYPE that are not wanted"),
    _harder("close_all", {"search"}, "close everything that has a door"),
)
"""All transforms that should make a game harder."""
