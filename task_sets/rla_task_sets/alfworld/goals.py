"""Which goals make sense in which room, how they are worded, and which are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from rla_envs.alfworld.engine import Goal, TaskType

from .vocabulary import (
    FITS,
    FLAGS,
    LAMPS,
    ROOM_ITEMS,
    ROOM_KINDS,
    UNSEEN_VARIANTS,
    VARIANTS,
    Variant,
)

HELD_OUT_SHARE = 4
"""One in this many pairs of object and destination is kept for valid_unseen."""

TREATMENTS = {
    "pick_clean_then_place_in_recep": ("c", "SinkBasin", "clean", "clean"),
    "pick_heat_then_place_in_recep": ("h", "Microwave", "heat", "hot"),
    "pick_cool_then_place_in_recep": ("k", "Fridge", "cool", "cool"),
}
"""Task type -> flag of the object, receptacle that does it, verb, adjective."""

_NO_DESTINATION = frozenset({"CoffeeMachine", "Toaster"})
"""Too small for two things."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalChoice:
    """A goal and the room in which it is to be reached."""

    variant: Variant
    goal: Goal


def is_held_out(object_type: str, target_type: str) -> bool:
    """Return whether this pair of object and destination (or lamp) is kept for valid_unseen.

    The rule is a hash of the two names, the same for every task type: a pair that is held out is in
    no goal of train or valid_seen.
    """
    digest = blake2b(f"{object_type}|{target_type}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") % HELD_OUT_SHARE == 0


@lru_cache(maxsize=16)
def goal_choices(unseen: bool, task_type: TaskType) -> Sequence[Sequence[GoalChoice]]:
    """Return all goals of a task type, one non-empty sequence a kind of room."""
    variants = UNSEEN_VARIANTS if unseen else VARIANTS
    by_kind = [
        tuple(
            GoalChoice(variant=variant, goal=goal)
            for variant in variants
            if variant.kind == kind
            for goal in _goals(variant, task_type)
            if is_held_out(goal.object_type, _target(goal)) == unseen
        )
        for kind in ROOM_KINDS
    ]
    return tuple(choices for choices in by_kind if choices)


def instruction_of(goal: Goal, *, second_wording: bool = False) -> str:
    """Return the task sentence in one of the two official wordings of its type."""
    thing, place = goal.object_type.lower(), _target(goal).lower()
    if goal.task_type in TREATMENTS:
        _, _, verb, adjective = TREATMENTS[goal.task_type]
        if second_wording:
            return f"{verb} some {thing} and put it in {place}."
        return f"put a {adjective} {thing} in {place}."
    first, second = {
        "pick_and_place_simple": (f"put a {thing} in {place}.", f"put some {thing} on {place}."),
        "pick_two_obj_and_place": (
            f"put two {thing} in {place}.",
            f"find two {thing} and put them in {place}.",
        ),
        "look_at_obj_in_light": (
            f"look at {thing} under the {place}.",
            f"examine the {thing} with the {place}.",
        ),
    }[goal.task_type]
    return second if second_wording else first


def _target(goal: Goal) -> str:
    return goal.receptacle_type or goal.lamp_type or ""


def _goals(variant: Variant, task_type: TaskType) -> list[Goal]:
    flag, appliance, _, _ = TREATMENTS.get(task_type, ("", "", "", ""))
    if appliance and appliance not in variant.furniture:
        return []
    goals: list[Goal] = []
    for object_type in ROOM_ITEMS[variant.kind]:
        homes = [r for r in variant.furniture if object_type in FITS[r]]
        if flag not in FLAGS.get(object_type, "") and flag:
            continue
        if task_type == "look_at_obj_in_light":
            goals += [
                Goal(task_type=task_type, object_type=object_type, lamp_type=lamp)
                for lamp, stands in LAMPS.items()
                if homes
                and any(stand in variant.furniture for stand in stands)
                and (lamp == "FloorLamp") == (variant.kind == "livingroom")
                and variant.kind in ("bedroom", "livingroom")
            ]
            continue
        for home in homes:
            elsewhere = [r for r in homes if r not in (home, appliance)]
            crowded = task_type == "pick_two_obj_and_place" and home in _NO_DESTINATION
            if elsewhere and home != appliance and not crowded:
                goals.append(
                    Goal(task_type=task_type, object_type=object_type, receptacle_type=home)
                )
    return goals
