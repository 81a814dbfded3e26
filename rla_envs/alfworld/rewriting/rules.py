"""The rule-based rewriter: picks the transform that answers what the negative votes were about."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from rla_task_sets.alfworld.rewrites import keeps_intention

from rla_envs.alfworld.engine import Scene, game_of
from rla_envs.alfworld.rewriting.edits import TRANSFORMS, Edit, edited, edits_of, rewritten
from rla_envs.alfworld.rewriting.topics import main_reason, topic_shares
from rla_envs.alfworld.rewriting.transform import Transform
from rla_envs.alfworld.rewriting.wording import HINT_LEVELS
from rla_envs.types import Direction, ErrorSummary, Rewrite, Task

FLOOR = 0.1
"""Weight of a transform that answers no error, against 1 for one that answers them all."""

LONGEST = 6
"""Edits a rewrite has at most: beyond that a game has little left of its root."""


class RuleRewriter:
    """Proposes root + edits: one edit more than the task has, or one of the other direction less.

    A transform's weight is FLOOR plus the share of negative votes about its topics, times the share
    of its trials that were accepted so far ((accepted + 1) / (decided + 2)).

    Args:
        targeted: Whether transforms are weighted so; otherwise any is as likely as any other of the
            wanted direction (the control).
    """

    def __init__(self, *, targeted: bool = True) -> None:
        self.targeted = targeted

    def propose(
        self, task: Task, *, root: Task, direction: Direction, summary: ErrorSummary, seed: int
    ) -> Rewrite | None:
        """Return the first candidate, in a random order by weight, that can be won."""
        rng = random.Random(seed)
        scene = game_of(root).scene
        done = edits_of(task)
        transforms = [t for t in TRANSFORMS.values() if t.direction == direction]
        weights = self._weights(transforms, summary)
        for transform in _weighted_order(transforms, weights, rng):
            for edits in _continuations(scene, done, transform, rng):
                new = _winnable(root, scene, edits, task)
                if new is not None:
                    reason = main_reason(summary.reasons, transform.topics)
                    return Rewrite(
                        task=new,
                        direction=direction,
                        transform=transform.name,
                        reason=reason if self.targeted else "at random",
                    )
        for edits in _withdrawals(done, direction, rng):
            new = _winnable(root, scene, edits, task)
            if new is not None:
                return Rewrite(
                    task=new, direction=direction, transform="withdraw", reason="nothing else fits"
                )
        return None

    def _weights(self, transforms: Sequence[Transform], summary: ErrorSummary) -> list[float]:
        if not self.targeted:
            return [1.0] * len(transforms)
        shares = topic_shares(summary.reasons)
        weights: list[float] = []
        for transform in transforms:
            accepted, decided = summary.tried.get(transform.name, (0, 0))
            about = FLOOR + sum(shares.get(topic, 0.0) for topic in transform.topics)
            weights.append(about * (accepted + 1) / (decided + 2))
        return weights


def _winnable(root: Task, scene: Scene, edits: Sequence[Edit], task: Task) -> Task | None:
    after = edited(scene, edits)
    if after is None or not keeps_intention(scene.goal, after.goal):
        return None
    return rewritten(root, edits, task_id=f"{task.id}+", parent_id=task.id)


def _withdrawals(
    done: Sequence[Edit], direction: Direction, rng: random.Random
) -> list[tuple[Edit, ...]]:
    """Return edit lists without one edit of the other direction, in random order.

    The last one stays: without it the task would be its own parent again.
    """
    found = [
        (*done[:i], *done[i + 1 :])
        for i, edit in enumerate(done[:-1])
        if edit.transform.direction != direction
    ]
    return rng.sample(found, len(found))


def _continuations(
    scene: Scene, done: Sequence[Edit], transform: Transform, rng: random.Random
) -> Iterator[tuple[Edit, ...]]:
    """Yield edit lists that go one step on by transform, in random order."""
    now = edited(scene, done)
    if now is None or len(done) >= LONGEST:
        return
    options = list(transform.options(now))
    if transform.name == "hint":
        told = max((HINT_LEVELS.index(e.args[0]) for e in done if e.name == "hint"), default=-1)
        options = options[told + 1 :]
    rng.shuffle(options)
    for args in options:
        yield (*done, Edit(transform.name, args))


def _weighted_order(
    transforms: Sequence[Transform], weights: Sequence[float], rng: random.Random
) -> list[Transform]:
    """Return transforms in random order; each comes first with probability ~ its weight."""
    keys = [rng.expovariate(weight) for weight in weights]
    return [t for _, t in sorted(zip(keys, transforms, strict=True), key=lambda pair: pair[0])]
