"""Desktop tasks of our own, from a seed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from random import Random
from typing import Any, get_args

from rla_envs.errors import ConfigError, TaskError
from rla_envs.types import Task
from rla_task_sets.osworld.families import FAMILIES, Params, Split

SPLITS: tuple[Split, ...] = get_args(Split)

_SEEN_SHARE = 4
"""One in this many parameter draws can only be in valid_seen."""
_ATTEMPTS = 1000


def generate(
    *,
    n: int = 40,
    seed: int = 0,
    split: Split = "train",
    families: Collection[str] | None = None,
) -> list[Task]:
    """Return n tasks; the families take turns.

    The i-th task depends on seed, split, families and i only: a longer list begins with the
    shorter one.

    Args:
        n: How many.
        seed: Any integer.
        split: "train" and "valid_seen" (in-domain) share words but no task; "valid_unseen"
            (out-of-domain) has names, files, folders and things that the others never have.
        families: Some of ``FAMILIES``; all when None.

    Raises:
        ConfigError: an argument is out of range.
    """
    if n < 0:
        raise ConfigError(f"n must be >= 0, got {n}")
    if split not in SPLITS:
        raise ConfigError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    names = tuple(FAMILIES) if families is None else tuple(families)
    if not names or not set(names) <= set(FAMILIES):
        raise ConfigError(f"families must be some of {tuple(FAMILIES)}, got {names}")
    return [_generate_one(names[index % len(names)], seed, split, index) for index in range(n)]


def make_task(family: str, params: Params, *, task_id: str) -> Task:
    """Return the root task that a family makes from params.

    Raises:
        TaskError: no such family, or params that describe no task.
    """
    if family not in FAMILIES:
        raise TaskError(f"no family {family!r}; there are {tuple(FAMILIES)}")
    plan = FAMILIES[family].plan(params)
    return Task(
        id=task_id,
        domain="osworld",
        instruction=plan.instruction,
        payload={
            "family": family,
            "params": dict(params),
            "config": list(plan.setup),
            "evaluator": dict(plan.evaluator),
            "expert": list(plan.expert),
            "goals": [{"name": goal.name, "evaluator": goal.evaluator} for goal in plan.goals],
        },
        difficulty=float(len(plan.expert)),
    )


def remade(task: Task, params: Params, *, task_id: str, parent_id: str) -> Task:
    """Return the task that the same family makes from other params, as a rewrite of task."""
    made = make_task(task.payload["family"], params, task_id=task_id)
    return replace(made, parent_id=parent_id, root_id=task.root_id)


def expert_actions(task: Task) -> Sequence[str]:
    """Return actions in the environment's short form that solve a generated task, "done" last.

    Raises:
        TaskError: the task is none of ours: OSWorld's have no expert.
    """
    if "expert" not in task.payload:
        raise TaskError(f"task {task.id} has no expert; only generated tasks have one")
    return [*task.payload["expert"], "done"]


def _generate_one(family: str, seed: int, split: Split, index: int) -> Task:
    rng = Random(f"{seed}/{split}/{family}/{index}")
    for _ in range(_ATTEMPTS):
        params = FAMILIES[family].draw(rng, split)
        if _is_in(split, params):
            return make_task(
                family, params, task_id=f"generated/{split}/{family}/s{seed}-{index:06d}"
            )
    raise TaskError(f"no {family} task for {split} in {_ATTEMPTS} attempts (seed {seed})")


def _is_in(split: Split, params: Mapping[str, Any]) -> bool:
    """Deal in-domain draws out to train and valid_seen by hash, so that no task is in both."""
    if split == "valid_unseen":
        return True
    digest = blake2b(json.dumps(params, sort_keys=True).encode(), digest_size=4).digest()
    return (digest[0] % _SEEN_SHARE == 0) == (split == "valid_seen")
