"""Games of our own from a seed: a room, things in it, one of the six goals, and a solution."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b
from random import Random
from typing import Literal, get_args

from rla_envs.alfworld.engine import (
    Game,
    Scene,
    TaskType,
    World,
    scene_to_payload,
)
from rla_envs.alfworld.engine.planner import plan
from rla_envs.errors import ConfigError, TaskError
from rla_envs.types import Task

from .goals import GoalChoice, goal_choices
from .rooms import Size, furnish

Split = Literal["train", "valid_seen", "valid_unseen"]

TASK_TYPES: tuple[TaskType, ...] = get_args(TaskType)
SPLITS: tuple[Split, ...] = get_args(Split)
SIZES: tuple[Size, ...] = get_args(Size)

_ATTEMPTS = 1000

_SEEN_SHARE = 4
"""One in this many in-domain scenes can only be in valid_seen."""


def generate(
    *,
    n: int = 100,
    seed: int = 0,
    split: Split = "train",
    size: Size = "small",
    task_types: Collection[TaskType] | None = None,
) -> list[Task]:
    """Return n games, each certified by a plan that was carried out and won.

    The i-th game depends on seed, split, size, task_types and i only: a longer list begins with the
    shorter one. Task types take turns.

    Args:
        n: How many.
        seed: Any integer.
        split: "train" and "valid_seen" (in-domain) share kinds of rooms and pairs of object and
            destination but no game; "valid_unseen" (out-of-domain) has rooms and pairs that the
            others never have. See docs/task_sets.md.
        size: "small" (5-8 receptacles, 5-9 objects), "medium" (10-16, 10-18) or "large" (as in
            official games, up to about 40 and 35).
        task_types: Which of the six; all when None.

    Raises:
        ConfigError: an argument is out of range.
    """
    if n < 0:
        raise ConfigError(f"n must be >= 0, got {n}")
    for name, value, allowed in (("split", split, SPLITS), ("size", size, SIZES)):
        if value not in allowed:
            raise ConfigError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    wanted = TASK_TYPES if task_types is None else tuple(task_types)
    if not wanted or not set(wanted) <= set(TASK_TYPES):
        raise ConfigError(f"task_types must be some of {TASK_TYPES}, got {wanted}")
    return [
        _generate_one(seed, split, size, wanted[index % len(wanted)], index) for index in range(n)
    ]


def _generate_one(seed: int, split: Split, size: Size, task_type: TaskType, index: int) -> Task:
    rng = Random(f"{seed}/{split}/{size}/{task_type}/{index}")
    choices = goal_choices(split == "valid_unseen", task_type)
    for _ in range(_ATTEMPTS):
        choice = _draw(choices, rng)
        scene = furnish(choice, size, rng)
        if not _is_in(split, scene):
            continue
        world = World(Game(scene=scene))
        walkthrough = None if world.won else plan(world)
        if walkthrough and wins(world, walkthrough):
            return _task(scene, choice, walkthrough, f"{split}/{size}", f"s{seed}-{index:06d}")
    raise TaskError(f"no {task_type} game in {_ATTEMPTS} attempts (seed {seed}, index {index})")


def wins(world: World, commands: Sequence[str]) -> bool:
    """Carry out commands; return whether the goal holds after the last and not before."""
    for number, command in enumerate(commands, 1):
        world.step(command)
        if world.won:
            return number == len(commands)
    return False


def _is_in(split: Split, scene: Scene) -> bool:
    """Deal in-domain scenes out to train and valid_seen by hash, so that no game is in both."""
    if split == "valid_unseen":
        return True
    lying = [(item.id, item.receptacles) for item in scene.items]
    key = repr((scene.goal.task_type, scene.goal.object_type, scene.goal.receptacle_type, lying))
    digest = blake2b(key.encode(), digest_size=4).digest()
    return (digest[0] % _SEEN_SHARE == 0) == (split == "valid_seen")


def _draw(choices: Sequence[Sequence[GoalChoice]], rng: Random) -> GoalChoice:
    """Draw a kind of room, then a goal in it, so that big rooms do not crowd out small ones."""
    return rng.choice(rng.choice(choices))


def _task(
    scene: Scene, choice: GoalChoice, walkthrough: Sequence[str], folder: str, trial: str
) -> Task:
    goal = scene.goal
    target = goal.receptacle_type or goal.lamp_type
    return Task(
        id=f"generated/{folder}/{goal.task_type}-{goal.object_type}-None-{target}/{trial}",
        domain="alfworld",
        instruction=scene.instruction,
        payload={
            "scene": scene_to_payload(scene),
            "task_type": goal.task_type,
            "walkthrough": list(walkthrough),
            "room": choice.variant.name,
        },
        difficulty=float(len(walkthrough)),
    )
