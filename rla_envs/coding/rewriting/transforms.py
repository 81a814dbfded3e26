"""What can be done to a generated problem: each transform lists the specifications it leads to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from rla_task_sets.coding.operations import OPERATIONS, Step, fits
from rla_task_sets.coding.specification import PUBLIC, Specification

from rla_envs.types import Direction

CONSTRAINTS = frozenset({"unique", "keep above", "keep below", "keep multiples", "keep positive"})
"""Operations that read like a condition on what counts: "no number twice", "only above 3"."""

LONGEST_PLAN = 6
"""Steps a rewritten plan has at most."""

LONGEST_ARGUMENT = 16
"""Items of an argument after the largest enlargement."""

LARGEST_NUMBER = 36
"""Largest number in an argument after the largest enlargement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """One kind of edit.

    Attributes:
        name: As it is counted.
        direction: What it promises.
        topics: Kinds of failure it answers: "crash" (no program, an exception, a limit) and
            "answer" (a wrong result).
        options: Specification -> the specifications that one edit gives.
    """

    name: str
    direction: Direction
    topics: frozenset[str]
    options: Callable[[Specification], list[Specification]]


def _inserted(now: Specification, *, constraints: bool) -> list[Specification]:
    if len(now.steps) >= LONGEST_PLAN:
        return []
    found: list[Specification] = []
    for place in range(len(now.steps) + 1):
        for step in _steps(now):
            if (step[0] in CONSTRAINTS) != constraints:
                continue
            steps = (*now.steps[:place], step, *now.steps[place:])
            if fits(now.kind, steps):
                hints = tuple(hint + (hint >= place) for hint in now.hints)
                found.append(replace(now, steps=steps, hints=hints))
    return found


def _compose(now: Specification) -> list[Specification]:
    return _inserted(now, constraints=False)


def _constrain(now: Specification) -> list[Specification]:
    return _inserted(now, constraints=True)


def _enlarge(now: Specification) -> list[Specification]:
    found: list[Specification] = []
    if now.length < LONGEST_ARGUMENT:
        found.append(replace(now, length=min(LONGEST_ARGUMENT, now.length + 2)))
    if now.kind == "numbers" and not now.negative:
        found.append(replace(now, negative=True))
    if now.kind == "numbers" and now.largest < LARGEST_NUMBER:
        found.append(replace(now, largest=min(LARGEST_NUMBER, now.largest * 2)))
    return found


def _withhold(now: Specification) -> list[Specification]:
    found = [
        replace(now, hints=(*now.hints[:i], *now.hints[i + 1 :])) for i in range(len(now.hints))
    ]
    if now.examples:
        found.append(replace(now, examples=now.examples - 1))
    return found


def _shorten(now: Specification) -> list[Specification]:
    found: list[Specification] = []
    for place in range(len(now.steps)):
        steps = (*now.steps[:place], *now.steps[place + 1 :])
        if steps and fits(now.kind, steps):
            hints = tuple(h - (h > place) for h in now.hints if h != place)
            found.append(replace(now, steps=steps, hints=hints))
    return found


def _shrink(now: Specification) -> list[Specification]:
    found: list[Specification] = []
    if now.length > 3:
        found.append(replace(now, length=now.length - 1))
    if now.kind == "numbers" and now.negative:
        found.append(replace(now, negative=False))
    if now.kind == "numbers" and now.largest > 9:
        found.append(replace(now, largest=max(9, now.largest // 2)))
    return found


def _example(now: Specification) -> list[Specification]:
    return [replace(now, examples=now.examples + 1)] if now.examples < PUBLIC else []


def _hint(now: Specification) -> list[Specification]:
    free = [place for place in range(len(now.steps)) if place not in now.hints]
    return [replace(now, hints=tuple(sorted((*now.hints, place)))) for place in free]


TRANSFORMS: Mapping[str, Transform] = MappingProxyType(
    {
        transform.name: transform
        for transform in (
            Transform(
                name="compose",
                direction="harder",
                topics=frozenset({"crash"}),
                options=_compose,
            ),
            Transform(
                name="constrain",
                direction="harder",
                topics=frozenset({"answer"}),
                options=_constrain,
            ),
            Transform(
                name="enlarge",
                direction="harder",
                topics=frozenset({"answer"}),
                options=_enlarge,
            ),
            Transform(
                name="withhold",
                direction="harder",
                topics=frozenset({"answer", "crash"}),
                options=_withhold,
            ),
            Transform(
                name="shorten",
                direction="easier",
                topics=frozenset({"answer", "crash"}),
                options=_shorten,
            ),
            Transform(
                name="shrink",
                direction="easier",
                topics=frozenset({"answer"}),
                options=_shrink,
            ),
            Transform(
                name="example",
                direction="easier",
                topics=frozenset({"answer"}),
                options=_example,
            ),
            Transform(
                name="hint",
                direction="easier",
                topics=frozenset({"crash", "answer"}),
                options=_hint,
            ),
        )
    }
)
"""Name -> transform."""


def _steps(now: Specification) -> list[Step]:
    return [
        (operation.name, constant)
        for operation in OPERATIONS[now.kind].values()
        for constant in (operation.constants or (None,))
    ]
