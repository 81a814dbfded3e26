"""What a goal and a hint read like: ALFWorld's own sentences, in words of its own vocabulary."""

from __future__ import annotations

from dataclasses import replace

from rla_envs.alfworld.engine import Goal, Item, Scene
from rla_envs.alfworld.rewriting.rooms import in_sight, needed, place_of, targets

HINT_LEVELS = ("kind", "type", "place")
"""What a hint gives away: in sight or closed away; the type of receptacle; which one."""

_ADJECTIVES = {
    "pick_clean_then_place_in_recep": "clean ",
    "pick_heat_then_place_in_recep": "hot ",
    "pick_cool_then_place_in_recep": "cool ",
}


def goal_sentence(scene: Scene, goal: Goal) -> str:
    """Return the task sentence of a goal, full stop included, e.g. "put a clean mug in desk."."""
    thing, place = goal.object_type.lower(), (goal.receptacle_type or "").lower()
    named = next((item.name for item in scene.items if item.id == goal.item_id), None)
    if goal.task_type == "look_at_obj_in_light":
        return f"look at {named or thing} under the {(goal.lamp_type or '').lower()}."
    if goal.task_type == "pick_two_obj_and_place":
        return f"put two {thing} in {place}."
    adjective = _ADJECTIVES.get(goal.task_type, "")
    article = "" if named else "a "
    return f"put {article}{adjective}{named or thing} in {place}."


def with_goal(scene: Scene, goal: Goal) -> Scene:
    """Return scene with another goal and the sentence that says so."""
    return replace(scene, goal=goal, instruction=goal_sentence(scene, goal))


def with_hint(scene: Scene, level: str) -> Scene:
    """Return scene with a hint after its task sentence: where the wanted thing is at the start."""
    hints = " ".join(_hint(scene, item, level) for item in targets(scene)[: needed(scene)])
    return replace(scene, instruction=f"{scene.instruction} {hints}")


def _hint(scene: Scene, item: Item, level: str) -> str:
    place = place_of(scene, item)
    if level == "kind":
        where = "in the open" if in_sight(place) else "in something closed"
    elif level == "type":
        where = f"in a {place.type.lower()}"
    else:
        where = f"in {place.name}"
    thing = item.name if scene.goal.item_id else f"a {item.type.lower()}"
    return f"{thing} is {where}."
