"""Programming problems of our own from a seed, with reference, tests and mutants."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b
from itertools import pairwise
from random import Random
from typing import Literal, get_args

from rla_envs.errors import ConfigError, TaskError
from rla_envs.types import Task

from .operations import OPERATIONS, Form, Kind, Step
from .specification import Specification, make_task

Split = Literal["train", "valid_seen", "valid_unseen"]
Size = Literal["small", "medium", "large"]

SPLITS: tuple[Split, ...] = get_args(Split)
SIZES: tuple[Size, ...] = get_args(Size)
KINDS: tuple[Kind, ...] = get_args(Kind)

_STEPS: dict[Size, tuple[int, int]] = {"small": (1, 2), "medium": (2, 3), "large": (3, 5)}
_BOUNDS: dict[Size, tuple[int, int, bool]] = {
    "small": (4, 9, False),
    "medium": (6, 9, True),
    "large": (12, 99, True),
}
"""Longest list, largest number, whether numbers below zero occur."""
_TEXT_LENGTH: dict[Size, int] = {"small": 6, "medium": 10, "large": 20}

_ATTEMPTS = 20_000
_SEEN_SHARE = 4
"""One in this many in-domain problems can only be in valid_seen."""
_UNSEEN_SHARE = 5
"""One in this many pairs of neighbouring operations occurs in valid_unseen only."""


def generate(
    *,
    n: int = 100,
    seed: int = 0,
    split: Split = "train",
    size: Size = "small",
    kinds: Collection[Kind] = KINDS,
) -> list[Task]:
    """Return n problems, no two with the same plan; a longer list begins with the shorter one.

    Args:
        n: How many.
        seed: Any integer.
        split: "train" and "valid_seen" (in-domain) share pairs of operations but no plan;
            "valid_unseen" (out-of-domain) has only plans with a pair of neighbouring operations
            that the others never have.
        size: "small" (1-2 steps, up to 4 numbers from 0 to 9), "medium" (2-3 steps, 6 numbers,
            also below zero) or "large" (3-5 steps, 12 numbers of two digits).
        kinds: Types of the argument, in turn: "numbers", "text".

    Raises:
        ConfigError: an argument is out of range.
        TaskError: there are not that many problems of this kind.
    """
    if n < 0:
        raise ConfigError(f"n must be >= 0, got {n}")
    for name, value, allowed in (("split", split, SPLITS), ("size", size, SIZES)):
        if value not in allowed:
            raise ConfigError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    wanted: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind in kinds)
    if not wanted or len(wanted) != len(set(kinds)):
        raise ConfigError(f"kinds must be some of {KINDS}, got {tuple(kinds)}")
    streams = {kind: Random(f"{seed}/{split}/{size}/{kind}") for kind in wanted}
    seen: set[tuple[Kind, tuple[Step, ...]]] = set()
    tasks: list[Task] = []
    for index in range(n):
        kind: Kind = wanted[index % len(wanted)]
        tasks.append(_new_task(kind, split, size, streams[kind], seen, f"s{seed}-{index:06d}"))
    return tasks


def _new_task(
    kind: Kind,
    split: Split,
    size: Size,
    rng: Random,
    seen: set[tuple[Kind, tuple[Step, ...]]],
    name: str,
) -> Task:
    length, largest, negative = _BOUNDS[size]
    for _ in range(_ATTEMPTS):
        steps = _draw_steps(kind, rng.randint(*_STEPS[size]), rng)
        if (kind, steps) in seen or split_of(kind, steps) != split:
            continue
        seen.add((kind, steps))
        specification = Specification(
            kind=kind,
            steps=steps,
            length=length if kind == "numbers" else _TEXT_LENGTH[size],
            largest=largest,
            negative=negative,
            examples=rng.choice((0, 0, 1)),
        )
        task = make_task(specification, task_id=f"generated/{split}/{size}/{kind}/{name}")
        if task is not None:
            return task
    raise TaskError(
        f"no new {size} problem on {kind} in {_ATTEMPTS} attempts; there are about {len(seen)}: "
        "ask for fewer, or for a larger size"
    )


def _draw_steps(kind: Kind, n: int, rng: Random) -> tuple[Step, ...]:
    """Draw n steps that fit together; operations with a constant are as likely as those without."""
    form: Form = "items"
    steps: list[Step] = []
    for _ in range(n):
        options = [op for op in OPERATIONS[kind].values() if op.takes == form]
        operation = rng.choice(options)
        constant = rng.choice(operation.constants) if operation.constants else None
        steps.append((operation.name, constant))
        form = operation.gives
    return tuple(steps)


def split_of(kind: Kind, steps: Sequence[Step]) -> Split:
    """Return the one split in which a plan may occur.

    Held out for valid_unseen: plans with a pair of neighbouring operations whose names hash to 0
    modulo 5. The rest is dealt out to valid_seen and train by a hash of the whole plan.
    """
    names = [name for name, _ in steps]
    if any(_digest(f"{kind}/{a}/{b}") % _UNSEEN_SHARE == 0 for a, b in pairwise(names)):
        return "valid_unseen"
    held_out = _digest(f"{kind}/{[list(step) for step in steps]}") % _SEEN_SHARE == 0
    return "valid_seen" if held_out else "train"


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big")
