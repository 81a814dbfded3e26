"""The rule-based rewriter: picks the transform that answers what the negative votes were about."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from rla_task_sets.alfworld.rewrites import keeps_intention

from rla_envs.alfworld.engine import Scene, game_of
from rla_envs.alfworld.rewriting.edits import TRANSFORMS, Edit, edited, edits_of, rewritten
from rla_envs.alfworld.rewriting.effort import effort
from rla_envs.alfworld.rewriting.topics import main_reason, topic_shares
from rla_envs.alfworld.rewriting.transform import Transform
from rla_envs.alfworld.rewriting.wording import HINT_LEVELS
from rla_envs.types import Direction, ErrorSummary, Rewrite, Task

FLOOR = 0.1
"""Weight of a transform that answers no error, against 1 for one that answers them all."""

LONGEST = 8
"""Edits a rewrite has at most: beyond that a game has little left of its root."""

MOST_NEW = 4
"""Edits a proposal adds at most."""

STEP = 1.5
"""Factor by which a proposal should change the effort; STEP ** (1 + push / 2) after trials that
showed too little effect (push > 0) or too much (push < 0), between its root and its cube."""


class RuleRewriter:
    """Proposes root + edits: some more than the task has, or one of the other direction less.

    Transforms are drawn by weight: FLOOR plus the share of negative votes about its topics, times
    the share of its trials that were accepted so far ((accepted + 1) / (decided + 2)). Edits that
    change the effort in the wanted direction are added until it has changed enough.

    Args:
        targeted: Otherwise one to three edits of the wanted direction are drawn, any as likely as
            any other and whatever the effort (the control).
    """

    def __init__(self, *, targeted: bool = True) -> None:
        self.targeted = targeted

    def propose(
        self, task: Task, *, root: Task, direction: Direction, summary: ErrorSummary, seed: int
    ) -> Rewrite | None:
        """Return a candidate that can be won, or None."""
        rng = random.Random(seed)
        now = _Draft.of(root, edits_of(task), task)
        if now is None:
            return None
        transforms = [t for t in TRANSFORMS.values() if t.direction == direction]
        if self.targeted:
            order = _weighted_order(transforms, _weights(transforms, summary), rng)
            step = STEP ** min(3.0, max(0.5, 1 + summary.push / 2))
            goal = now.effort * step if direction == "harder" else now.effort / step
            added = _extended(now, order, direction, goal, rng)
        else:
            order = rng.sample(transforms, len(transforms))
            added = _extended(now, order, direction, None, rng)
        if added is not now:
            chosen = added.edits[len(now.edits) :]
            topics = chosen[0].transform.topics
            return Rewrite(
                task=added.task,
                direction=direction,
                transform="+".join(edit.name for edit in chosen),
                reason=main_reason(summary.reasons, topics) if self.targeted else "at random",
            )
        for edits in _withdrawals(now.edits, direction, rng):
            draft = _Draft.of(root, edits, task)
            if draft is not None:
                return Rewrite(
                    task=draft.task,
                    direction=direction,
                    transform="withdraw",
                    reason="nothing else fits",
                )
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A list of edits, the game it gives, and what that asks of a searching agent."""

    root: Task
    parent: Task
    edits: tuple[Edit, ...]
    task: Task
    scene: Scene
    effort: float

    @classmethod
    def of(cls, root: Task, edits: Sequence[Edit], parent: Task) -> _Draft | None:
        """Return the draft, or None if it cannot be won or loses the root's intention."""
        scene = edited(game_of(root).scene, edits)
        if scene is None or not keeps_intention(game_of(root).scene.goal, scene.goal):
            return None
        task = rewritten(root, edits, task_id=f"{parent.id}+", parent_id=parent.id)
        if task is None:
            return None
        told = _told(edits)
        hint = HINT_LEVELS[told] if told >= 0 else None
        return cls(
            root=root,
            parent=parent,
            edits=tuple(edits),
            task=task,
            scene=scene,
            effort=effort(scene, int(task.difficulty or 0), hint),
        )


def _extended(
    now: _Draft,
    order: Sequence[Transform],
    direction: Direction,
    goal: float | None,
    rng: random.Random,
) -> _Draft:
    """Return now with more edits: until effort reaches goal, or, without one, one to three."""
    draft, most = now, MOST_NEW if goal is not None else rng.randint(1, 3)
    sign = 1 if direction == "harder" else -1
    for transform in order:
        added = len(draft.edits) - len(now.edits)
        if added >= most or len(draft.edits) >= LONGEST:
            break
        if goal is not None and sign * (draft.effort - goal) >= 0:
            break
        for edits in _continuations(draft, transform, rng):
            further = _Draft.of(now.root, edits, now.parent)
            if further is None:
                continue
            if goal is None or sign * (further.effort - draft.effort) > 0:
                draft = further
                break
    return draft


def _continuations(
    draft: _Draft, transform: Transform, rng: random.Random, tries: int = 3
) -> list[tuple[Edit, ...]]:
    """Return edit lists that go one step on by transform, in random order."""
    options = list(transform.options(draft.scene))
    if transform.name == "hint":
        options = options[_told(draft.edits) + 1 :]
    chosen = rng.sample(options, min(tries, len(options)))
    return [(*draft.edits, Edit(transform.name, args)) for args in chosen]


def _told(edits: Sequence[Edit]) -> int:
    """Return the level of the most telling hint, -1 without one."""
    return max((HINT_LEVELS.index(e.args[0]) for e in edits if e.name == "hint"), default=-1)


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


def _weights(transforms: Sequence[Transform], summary: ErrorSummary) -> list[float]:
    shares = topic_shares(summary.reasons)
    weights: list[float] = []
    for transform in transforms:
        accepted, decided = summary.tried.get(transform.name, (0, 0))
        about = FLOOR + sum(shares.get(topic, 0.0) for topic in transform.topics)
        weights.append(about * (accepted + 1) / (decided + 2))
    return weights


def _weighted_order(
    transforms: Sequence[Transform], weights: Sequence[float], rng: random.Random
) -> list[Transform]:
    """Return transforms in random order; each comes first with probability ~ its weight."""
    keys = [rng.expovariate(weight) for weight in weights]
    return [t for _, t in sorted(zip(keys, transforms, strict=True), key=lambda pair: pair[0])]
