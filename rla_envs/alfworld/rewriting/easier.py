"""Transforms that should make a game easier."""

from __future__ import annotations

from dataclasses import replace

from rla_envs.alfworld.engine import Receptacle, Scene
from rla_envs.alfworld.rewriting.harder import (
    elsewhere,
    openable_types,
    other_objects,
    other_receptacles,
    set_object,
    set_receptacle,
)
from rla_envs.alfworld.rewriting.rooms import (
    KNIVES,
    TOOLS,
    add_items,
    counts,
    in_sight,
    move,
    needed,
    place_named,
    place_of,
    set_opened,
    targets,
    without_items,
    without_places,
)
from rla_envs.alfworld.rewriting.transform import Args, Topic, Transform
from rla_envs.alfworld.rewriting.wording import HINT_LEVELS, with_goal, with_hint

COPIES = 2
"""More of the wanted thing added at a time."""

FEWEST_PLACES = 5
"""Receptacles that stay at least."""

SHARES = {"half": 2, "all": 1}
"""How much of what could go is removed: every second one, or every one."""


def _may_open(scene: Scene) -> list[Args]:
    return [()] if any(p.openable and not p.opened for p in scene.receptacles) else []


def _open_all(scene: Scene, args: Args) -> Scene:
    return set_opened(scene, {place.id for place in scene.receptacles}, True)


def _may_open_holder(scene: Scene) -> list[Args]:
    return [()] if any(not in_sight(place_of(scene, i)) for i in targets(scene)) else []


def _open_holder(scene: Scene, args: Args) -> Scene:
    return set_opened(scene, {place_of(scene, item).id for item in targets(scene)}, True)


def _near_places(scene: Scene) -> list[Args]:
    """Places in sight; those where the agent has to go anyway come first."""
    goal, found = scene.goal, targets(scene)
    if not found or all(in_sight(place_of(scene, item)) for item in found):
        return []
    tools = TOOLS.get(goal.task_type, frozenset())
    wanted = {
        place.location
        for place in scene.receptacles
        if place.type == goal.receptacle_type or place.type in tools
    }
    places = [place for place in elsewhere(scene) if in_sight(place)]
    return [(place.name,) for place in sorted(places, key=lambda p: p.location not in wanted)]


def _move_nearer(scene: Scene, args: Args) -> Scene:
    place = place_named(scene, args[0])
    assert place is not None
    hidden = sorted(targets(scene), key=lambda item: in_sight(place_of(scene, item)))
    return move(scene, hidden[: needed(scene)], place)


def _commoner(scene: Scene) -> list[Args]:
    number = counts(scene)
    now = number[scene.goal.object_type]
    return [(type_,) for type_ in other_objects(scene) if number[type_] > now]


def _better_destinations(scene: Scene) -> list[Args]:
    closed = openable_types(scene)
    if scene.goal.receptacle_type not in closed:
        return []
    return [(type_,) for type_ in other_receptacles(scene) if type_ not in closed]


def _has_state(scene: Scene) -> list[Args]:
    return [()] if scene.goal.task_type in TOOLS else []


def _is_two(scene: Scene) -> list[Args]:
    return [()] if needed(scene) > 1 else []


def _ask_simple(scene: Scene, args: Args) -> Scene:
    return with_goal(scene, replace(scene.goal, task_type="pick_and_place_simple"))


def _is_specific(scene: Scene) -> list[Args]:
    return [()] if scene.goal.item_id is not None else []


def _ask_any(scene: Scene, args: Args) -> Scene:
    return with_goal(scene, replace(scene.goal, item_id=None))


def _may_copy(scene: Scene) -> list[Args]:
    few = scene.goal.item_id is None and 0 < len(targets(scene)) < 5
    return [()] if few and _copy_places(scene) else []


def _copy_places(scene: Scene) -> list[Receptacle]:
    return [place for place in elsewhere(scene) if in_sight(place)][:COPIES]


def _add_copies(scene: Scene, args: Args) -> Scene:
    return add_items(scene, targets(scene)[0], _copy_places(scene))


def _other_things(scene: Scene) -> list[str]:
    goal = scene.goal
    kept = {goal.object_type, goal.lamp_type, *KNIVES}
    return sorted(i.id for i in scene.items if i.pickupable and i.type not in kept)


def _spare_places(scene: Scene) -> list[str]:
    goal = scene.goal
    used = {place for item in scene.items for place in item.receptacles}
    kept = {goal.receptacle_type, *(type_ for tools in TOOLS.values() for type_ in tools)}
    spare = [p.id for p in scene.receptacles if p.id not in used and p.type not in kept]
    return sorted(spare)[: max(0, len(scene.receptacles) - FEWEST_PLACES)]


def _may_thin_things(scene: Scene) -> list[Args]:
    return [(word,) for word in SHARES] if len(_other_things(scene)) > 1 else []


def _may_thin_places(scene: Scene) -> list[Args]:
    return [(word,) for word in SHARES] if len(_spare_places(scene)) > 1 else []


def _thin_things(scene: Scene, args: Args) -> Scene:
    return without_items(scene, _other_things(scene)[:: SHARES[args[0]]])


def _thin_places(scene: Scene, args: Args) -> Scene:
    return without_places(scene, _spare_places(scene)[:: SHARES[args[0]]])


def _hints(scene: Scene) -> list[Args]:
    return [(level,) for level in HINT_LEVELS] if len(targets(scene)) >= needed(scene) else []


def _hint(scene: Scene, args: Args) -> Scene:
    return with_hint(scene, args[0])


def _easier(name: str, topics: set[Topic], text: str) -> Transform:
    options, apply = _FUNCTIONS[name]
    return Transform(
        name=name,
        direction="easier",
        topics=frozenset(topics),
        help=text,
        options=options,
        apply=apply,
    )


_FUNCTIONS = {
    "hint": (_hints, _hint),
    "open_all": (_may_open, _open_all),
    "open_holder": (_may_open_holder, _open_holder),
    "move_nearer": (_near_places, _move_nearer),
    "common_object": (_commoner, set_object),
    "open_destination": (_better_destinations, set_receptacle),
    "drop_state": (_has_state, _ask_simple),
    "one_object": (_is_two, _ask_simple),
    "any_item": (_is_specific, _ask_any),
    "add_copies": (_may_copy, _add_copies),
    "remove_things": (_may_thin_things, _thin_things),
    "remove_places": (_may_thin_places, _thin_places),
}

EASIER = (
    _easier("hint", {"search", "progress"}, "say where the thing is: LEVEL kind, type or place"),
    _easier("open_all", {"search", "progress"}, "open everything that has a door"),
    _easier("open_holder", {"search"}, "open the places that hold what is wanted"),
    _easier("move_nearer", {"search", "progress"}, "put a hidden wanted thing in PLACE, in sight"),
    _easier("common_object", {"thing", "search"}, "ask for a TYPE of thing that is commoner"),
    _easier("open_destination", {"place"}, "ask to put it in a TYPE of place without a door"),
    _easier("drop_state", {"change", "progress"}, "do not ask to clean, heat or cool it"),
    _easier("one_object", {"place", "progress"}, "ask for one thing instead of two"),
    _easier("any_item", {"thing"}, "accept any thing of the type"),
    _easier("add_copies", {"thing", "search"}, f"add {COPIES} more wanted things in sight"),
    _easier("remove_things", {"thing"}, "remove half or all of the things that are not wanted"),
    _easier("remove_places", {"search"}, "remove half or all of the empty places"),
)
"""All transforms that should make a game easier."""
