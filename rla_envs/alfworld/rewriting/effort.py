"""How much a game asks of an agent that has to search: a rough guide for the size of a rewrite.

It decides how many edits a proposal has, never whether a rewrite is accepted: that is measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from rla_envs.alfworld.engine import Receptacle, Scene
from rla_envs.alfworld.rewriting.rooms import fits, in_sight, needed, place_of, targets

CLUTTER = 0.1
"""Commands that a thing which is not wanted costs, where something may have to be searched."""


def effort(scene: Scene, plan_length: int, hint: str | None = None) -> float:
    """Return the expected number of commands of an agent that looks into places in random order.

    With N places that may hold the thing and k that do, the first is found after (N + 1) / (k + 1)
    places on average; a closed one costs a command more. The shortest plan is added.

    Args:
        scene: The game.
        plan_length: Commands of the shortest plan.
        hint: Level of the hint in the instruction, if there is one.
    """
    found = [place_of(scene, item) for item in targets(scene)]
    places = _possible(scene, found, hint)
    if not places or not found:
        return float(plan_length)
    holding = len({place.id for place in found})
    looks = min(len(places), needed(scene) * (len(places) + 1) / (holding + 1)) - needed(scene)
    cost = sum(1 if in_sight(place) else 2 for place in places) / len(places)
    searched = {place.id for place in places}
    others = sum(
        item.type != scene.goal.object_type and not searched.isdisjoint(item.receptacles)
        for item in scene.items
    )
    return plan_length + max(0.0, looks) * cost + CLUTTER * others


def _possible(scene: Scene, found: Sequence[Receptacle], hint: str | None) -> list[Receptacle]:
    places = [place for place in scene.receptacles if fits(scene, place, scene.goal.object_type)]
    if hint is None or not found:
        return places
    told = found[: needed(scene)]
    if hint == "place":
        return [place for place in places if place in told]
    if hint == "type":
        return [place for place in places if place.type in {there.type for there in told}]
    return [place for place in places if in_sight(place) in {in_sight(there) for there in told}]
