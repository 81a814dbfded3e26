"""What went wrong in a task's episodes: the rationales of the steps that were voted down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from rla_envs.types import ErrorSummary, Group, Trajectory

MAX_REASON = 200
"""Longest rationale that is kept, in characters."""


def negative_reasons(trajectories: Iterable[Trajectory]) -> Counter[str]:
    """Return how often each rationale came with a negative vote.

    Lower-cased, blanks collapsed, cut at MAX_REASON characters; a vote without a rationale counts
    as "no reason given".
    """
    return Counter(
        " ".join(vote.rationale.lower().split())[:MAX_REASON] or "no reason given"
        for trajectory in trajectories
        for step in trajectory.steps
        for vote in step.votes
        if vote.label == -1
    )


def summarise(group: Group) -> ErrorSummary:
    """Return the error summary of one group."""
    outcomes = [t.outcome for t in group.trajectories if t.outcome is not None]
    return ErrorSummary(
        task_id=group.task.id,
        accuracy=outcomes.count(1) / len(outcomes) if outcomes else None,
        reasons=ordered(negative_reasons(group.trajectories)),
        episodes=len(outcomes),
    )


def ordered(reasons: Mapping[str, int]) -> dict[str, int]:
    """Return reasons sorted by votes, most first, then by name."""
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
