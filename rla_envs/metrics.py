"""What an iteration says about itself. Every number is defined in docs/runs.md."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rla_envs.credit import Floats, vote_worth
from rla_envs.judging import vote_matrix
from rla_envs.samples import accuracy
from rla_envs.types import Group, Trajectory

Labels = Sequence[Sequence[bool]]
"""Oracle labels, one sequence a trajectory, one bool a step."""


def rollout_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """Return accuracy, episode length and the shares of stop reasons over all trajectories."""
    shares = [share for group in groups if (share := accuracy(group)) is not None]
    trajectories = [t for group in groups for t in group.trajectories]
    lengths = [len(t.steps) for t in trajectories]
    return {
        "accuracy/train": float(np.mean(shares)) if shares else float("nan"),
        "episode_steps/mean": float(np.mean(lengths)) if lengths else float("nan"),
        "episodes": len(trajectories),
        "episodes/crashed": sum(t.stop_reason == "crashed" for t in trajectories),
        "episodes/overflow": sum(t.stop_reason == "overflow" for t in trajectories),
        "groups/without_spread": float(np.mean([share in (0.0, 1.0) for share in shares]))
        if shares
        else float("nan"),
    }


def judge_metrics(groups: Sequence[Group], labels: Labels) -> dict[str, float]:
    """Return how good the votes on groups are, against outcomes and against the oracle's labels.

    Args:
        groups: Judged groups.
        labels: Oracle labels of all their trajectories, in order.
    """
    trajectories = [t for group in groups for t in group.trajectories]
    votes = np.concatenate([vote_matrix(t) for t in trajectories if t.steps] or [np.zeros((0, 1))])
    good = np.array([label for row in labels for label in row], dtype=bool)
    result = step_vote_metrics(votes, good)
    result.update(outcome_metrics(groups))
    return result


def step_vote_metrics(votes_NM: Floats, good_N: NDArray[np.bool_]) -> dict[str, float]:
    """Return metrics of votes on N steps against the oracle.

    The verdict on a step is the sign of its mean vote; a tie is half right.
    """
    if not votes_NM.size:
        return {}
    parsed = ~np.isnan(votes_NM)
    mean_N = np.nan_to_num(votes_NM, nan=0.0).mean(axis=1)
    right_N = np.where(mean_N == 0, 0.5, (mean_N > 0) == good_N)
    split_N = (votes_NM == 1).any(axis=1) & (votes_NM == -1).any(axis=1)
    metrics = {
        "judge/process_accuracy": float(right_N.mean()),
        "judge/vote_accuracy": _mean(((votes_NM > 0) == good_N[:, None])[parsed]),
        "judge/agreement": _agreement(votes_NM),
        "judge/split_rate": float(split_N.mean()),
        "judge/unparsed_rate": float(1 - parsed.mean()),
        "judge/negative_share": _mean((votes_NM == -1)[parsed]),
        "oracle/good_share": float(good_N.mean()),
    }
    if 0 < good_N.sum() < len(good_N):
        balanced = 0.5 * (right_N[good_N].mean() + right_N[~good_N].mean())
        metrics["judge/balanced_accuracy"] = float(balanced)
    return metrics


def outcome_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """Return how well mean votes tell wins from losses, with and without a threshold."""
    scores: list[float] = []
    outcomes: list[int] = []
    wins, pairs = 0.0, 0
    for group in groups:
        scored = [t for t in group.trajectories if t.outcome is not None and t.steps]
        scores += [_mean_vote(t) for t in scored]
        signs = [t.outcome for t in scored if t.outcome is not None]
        outcomes += signs
        won, compared = vote_worth(signs, [vote_matrix(t) for t in scored])
        wins, pairs = wins + won, pairs + compared
    metrics: dict[str, float] = {"judge/outcome_pairs": pairs}
    if scores:
        right = [
            (score > 0) == (outcome == 1) for score, outcome in zip(scores, outcomes, strict=True)
        ]
        metrics["judge/outcome_accuracy"] = float(np.mean(right))
    if pairs:
        metrics["judge/outcome_auc"] = wins / pairs
    return metrics


def _mean_vote(trajectory: Trajectory) -> float:
    return float(np.nan_to_num(vote_matrix(trajectory), nan=0.0).mean())


def _agreement(votes_NM: Floats) -> float:
    """Share of pairs of parsed votes on the same step that are equal; nan without a pair."""
    plus, minus = (votes_NM == 1).sum(axis=1), (votes_NM == -1).sum(axis=1)
    cast = plus + minus
    pairs = (cast * (cast - 1) / 2).sum()
    equal = (plus * (plus - 1) / 2 + minus * (minus - 1) / 2).sum()
    return float(equal / pairs) if pairs else float("nan")


def _mean(values: NDArray[np.bool_]) -> float:
    return float(values.mean()) if values.size else float("nan")
