"""The rule-based rewriter of generated problems: answers what the failures were about."""

from __future__ import annotations

import random
from collections.abc import Mapping

from rla_task_sets.coding.generated import split_of
from rla_task_sets.coding.rewrites import keeps_plan
from rla_task_sets.coding.specification import Specification, make_task

from rla_envs.coding.rewriting.transforms import TRANSFORMS, Transform
from rla_envs.types import Direction, ErrorSummary, Rewrite, Task

FLOOR = 0.1
"""Weight of a transform that answers no failure, against 1 for one that answers them all."""

MOST_NEW = 3
"""Edits a proposal makes at most."""

TRIES = 12
"""Options of a transform that are looked at until one is a good problem."""

CRASHES = ("no program", "exception", "cpu limit", "wall limit", "memory limit", "output limit")
"""How a rationale begins that is about a program that gave no answer."""


class RuleRewriter:
    """Proposes the task with one to three edits of the wanted direction.

    Transforms are drawn by weight: FLOOR plus the share of failures that they answer, times the
    share of their trials that were accepted so far ((accepted + 1) / (decided + 2)). After
    trials that showed too little effect (push) a proposal makes more edits.

    Args:
        targeted: Otherwise transforms are drawn with equal chances (the control).
    """

    def __init__(self, *, targeted: bool = True) -> None:
        self.targeted = targeted

    def propose(
        self, task: Task, *, root: Task, direction: Direction, summary: ErrorSummary, seed: int
    ) -> Rewrite | None:
        """Return a candidate, or None: not a generated problem, or no edit applies any more."""
        if "specification" not in task.payload or "specification" not in root.payload:
            return None
        rng = random.Random(seed)
        origin = Specification.from_json(root.payload["specification"])
        now = Specification.from_json(task.payload["specification"])
        wanted = 1 + round(max(0.0, summary.push)) if self.targeted else rng.randint(1, 2)
        names: list[str] = []
        made: Task | None = None
        for _ in range(min(wanted, MOST_NEW)):
            step = self._one_edit(now, origin, task, direction, summary, rng, names)
            if step is None:
                break
            now, made, name = step
            names.append(name)
        if made is None:
            return None
        return Rewrite(
            task=made,
            direction=direction,
            transform="+".join(names),
            reason=_main_reason(summary.reasons) if self.targeted else "at random",
        )

    def _one_edit(
        self,
        now: Specification,
        origin: Specification,
        task: Task,
        direction: Direction,
        summary: ErrorSummary,
        rng: random.Random,
        names: list[str],
    ) -> tuple[Specification, Task, str] | None:
        transforms = [t for t in TRANSFORMS.values() if t.direction == direction]
        weights = [self._weight(transform, summary) for transform in transforms]
        keys = [rng.expovariate(weight) for weight in weights]
        for _, transform in sorted(zip(keys, transforms, strict=True), key=lambda pair: pair[0]):
            options = transform.options(now)
            rng.shuffle(options)
            for option in options[:TRIES]:
                if not keeps_plan(origin.steps, option.steps):
                    continue
                if split_of(option.kind, option.steps) != split_of(origin.kind, origin.steps):
                    continue
                made = make_task(
                    option,
                    task_id=f"{task.id}+",
                    parent_id=task.id,
                    root_id=task.root_id,
                    edits=(*task.payload.get("edits", ()), *names, transform.name),
                )
                if made is not None:
                    return option, made, transform.name
        return None

    def _weight(self, transform: Transform, summary: ErrorSummary) -> float:
        if not self.targeted:
            return 1.0
        shares = failure_shares(summary.reasons)
        accepted, decided = summary.tried.get(transform.name, (0, 0))
        about = FLOOR + sum(shares.get(topic, 0.0) for topic in transform.topics)
        return about * (accepted + 1) / (decided + 2)


def failure_shares(reasons: Mapping[str, int]) -> dict[str, float]:
    """Return the shares of "crash" (no program, an exception, a limit) and "answer" among reasons.

    Empty when there is no reason at all.
    """
    total = sum(reasons.values())
    if not total:
        return {}
    crashes = sum(n for reason, n in reasons.items() if reason.startswith(CRASHES))
    return {"crash": crashes / total, "answer": 1 - crashes / total}


def _main_reason(reasons: Mapping[str, int]) -> str:
    if not reasons:
        return "no failure was reported"
    return max(reasons, key=lambda reason: (reasons[reason], reason))
