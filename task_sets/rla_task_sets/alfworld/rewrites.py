"""Static checks of rewritten ALFWorld games: what needs no episode to be refused."""

from __future__ import annotations

import re
from collections.abc import Collection

from rla_envs.alfworld.engine import Game, Goal, Scene, World, game_of, game_to_json
from rla_envs.errors import TaskError, TaskUnavailable
from rla_envs.types import Task
from rla_task_sets.fingerprints import fingerprint

STATE_WORDS = {
    "pick_clean_then_place_in_recep": frozenset({"clean"}),
    "pick_heat_then_place_in_recep": frozenset({"heat", "hot"}),
    "pick_cool_then_place_in_recep": frozenset({"cool", "cold"}),
    "pick_two_obj_and_place": frozenset({"two"}),
}
"""Task type -> words of which its instruction, and no other type's, has one."""


def check_rewrite(root: Task, old: Task, new: Task, known: Collection[str]) -> str | None:
    """Return why new is no valid rewrite of old, or None.

    "malformed": the payload is no game that both engines can load. "stale instruction": the
    sentence does not say what the goal wants. "intention lost": see keeps_intention. "duplicate":
    the same game as old or one that was tried. "solved at start": nothing is left to do.
    "unsolvable": the planner finds no plan, or the walkthrough does not win.

    Args:
        root: The task whose intention must be kept.
        old: The task that new may replace.
        new: The candidate.
        known: Fingerprints of every task that was ever served or tried.
    """
    try:
        game = game_of(new)
        before, origin = game_of(old), game_of(root)
        game_to_json(game)
    except (TaskError, TaskUnavailable):
        return "malformed"
    if new.instruction != game.scene.instruction or not says_goal(game.scene):
        return "stale instruction"
    if not keeps_intention(origin.scene.goal, game.scene.goal):
        return "intention lost"
    if fingerprint(new) in known or game.scene in (before.scene, origin.scene):
        return "duplicate"
    if World(game).won:
        return "solved at start"
    return None if _is_certified(game) else "unsolvable"


def keeps_intention(root: Goal, goal: Goal) -> bool:
    """Return whether goal is still about what root was about.

    Putting things somewhere stays that, looking at something under a light stays that, and the
    thing or the place (the light) is still the root's: one of the two may change, not both.
    """
    looks = root.task_type == "look_at_obj_in_light"
    if looks != (goal.task_type == "look_at_obj_in_light"):
        return False
    place, new_place = (
        (root.lamp_type, goal.lamp_type) if looks else (root.receptacle_type, goal.receptacle_type)
    )
    return root.object_type == goal.object_type or place == new_place


def says_goal(scene: Scene) -> bool:
    """Return whether the task sentence names thing, place and state of the goal, and no other.

    What follows the first full stop are hints.
    """
    goal = scene.goal
    words = set(re.findall(r"[a-z]+|[0-9]+", scene.instruction.split(".")[0].lower()))
    place = goal.lamp_type or goal.receptacle_type or ""
    if not {goal.object_type.lower(), place.lower()} <= words:
        return False
    if goal.item_id is not None:
        named = next((item.name for item in scene.items if item.id == goal.item_id), None)
        if named is None or not set(named.split()) <= words:
            return False
    return all(bool(words & said) == (kind == goal.task_type) for kind, said in STATE_WORDS.items())


def _is_certified(game: Game) -> bool:
    """Return whether the walkthrough wins, or, without one, whether a plan exists."""
    from rla_envs.alfworld.engine.planner import plan

    world = World(game)
    commands = game.walkthrough if game.walkthrough is not None else plan(world)
    if commands is None:
        return False
    for command in commands:
        world.step(command)
    return world.won
