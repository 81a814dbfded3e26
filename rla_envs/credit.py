"""Credit assignment: from outcomes and votes to advantages for the policy and for the reward model.

Pure functions on ragged arrays. ``G`` trajectories of one task have ``T_g`` steps each with ``M``
votes, so ``rewards_GT`` is a list of G arrays [T_g] and ``votes_GTM`` a list of G arrays [T_g, M]
whose entries are +1, -1, or NaN where no verdict could be parsed.

Source: arXiv 2602.02488, equations for the integrated step reward (policy) and consistency feedback
    (reward model).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rla_envs.errors import ConfigError

Floats = NDArray[np.float64]
StepBaseline = Literal["index", "group"]
VoteBaseline = Literal["step", "group", "centred"]

UNPARSED_VOTE_REWARD = -2.0
"""Raw reward of a vote without a verdict (the authors' code)."""


def step_rewards(
    outcome_G: Sequence[int], votes_GTM: Sequence[Floats], lam: float = 1.0
) -> list[Floats]:
    """Return R(i) = O + lam * mean_j S(i, j) for every step, as G arrays [T_g].

    A vote without a verdict counts as 0 in the mean; a step without votes gets the outcome alone.

    Raises:
        ConfigError: an outcome is not +1 or -1, lam is negative, or the lengths differ.
    """
    if lam < 0:
        raise ConfigError(f"lam must be >= 0, got {lam}")
    if len(outcome_G) != len(votes_GTM):
        raise ConfigError(f"{len(outcome_G)} outcomes but votes of {len(votes_GTM)} trajectories")
    rewards: list[Floats] = []
    for outcome, votes_TM in zip(outcome_G, votes_GTM, strict=True):
        if outcome not in (-1, 1):
            raise ConfigError(f"an outcome must be +1 or -1, got {outcome}; mask it beforehand")
        rewards.append(outcome + lam * _mean_vote(votes_TM))
    return rewards


def step_advantages(rewards_GT: Sequence[Floats], across: StepBaseline = "index") -> list[Floats]:
    """Standardise step rewards within one task's group.

    ``across="index"`` (the published rule) compares steps of equal index over the trajectories that
    still have that step; ``"group"`` compares all steps of the group, which does not favour any
    episode length (verl#7244). With no spread, and for an index that one trajectory alone has
    reached, the advantage is 0.

    Returns:
        G arrays [T_g]; population standard deviation.
    """
    if across == "group":
        return _over_group(rewards_GT, standardise)
    advantages = [np.zeros_like(rewards_T) for rewards_T in rewards_GT]
    longest = max((len(rewards_T) for rewards_T in rewards_GT), default=0)
    for index in range(longest):
        reached = [g for g, rewards_T in enumerate(rewards_GT) if len(rewards_T) > index]
        values = standardise(np.array([rewards_GT[g][index] for g in reached]))
        for g, value in zip(reached, values, strict=True):
            advantages[g][index] = value
    return advantages


def vote_advantages(
    rewards_GT: Sequence[Floats], votes_GTM: Sequence[Floats], across: VoteBaseline = "step"
) -> list[Floats]:
    """Return the advantage of every vote, as G arrays [T_g, M].

    * ``"step"``: the published rule. Reward R(i) * S(i, j), standardised over the votes of one
      step. Since R(i) is the same for all votes of a step, only its sign matters, and a unanimous
      step teaches nothing.
    * ``"group"``: the same reward standardised over all votes of the task. Unanimous steps teach,
      but when most outcomes are alike a constant verdict is paid.
    * ``"centred"``: the step's group-standardised advantage times the vote. A constant verdict
      earns 0 on average.

    A vote without a verdict has raw reward -2 in each of them.
    """
    if across == "centred":
        centred_GT = step_advantages(rewards_GT, across="group")
        return [_vote_rewards(*pair) for pair in zip(centred_GT, votes_GTM, strict=True)]
    raw_GTM = [_vote_rewards(*pair) for pair in zip(rewards_GT, votes_GTM, strict=True)]
    if across == "group":
        return _over_group(raw_GTM, standardise)
    return [
        np.stack([standardise(row_M) for row_M in raw_TM]) if len(raw_TM) else raw_TM
        for raw_TM in raw_GTM
    ]


def vote_worth(outcome_G: Sequence[int], votes_GTM: Sequence[Floats]) -> tuple[float, int]:
    """Measure, without an oracle, how well one task's votes tell its wins from its losses.

    Returns:
        (wins, pairs): over all pairs of a won and a lost trajectory, how often the won one has the
        higher mean vote (ties count half), and the number of pairs. wins / pairs is the AUC; pairs
        is 0 when all outcomes are alike.
    """
    scores = np.array(
        [_mean_vote(votes_TM).mean() if len(votes_TM) else 0.0 for votes_TM in votes_GTM]
    )
    won = np.array([outcome == 1 for outcome in outcome_G], dtype=bool)
    difference = scores[won][:, None] - scores[~won][None, :]
    return float((difference > 0).sum() + 0.5 * (difference == 0).sum()), int(difference.size)


def _mean_vote(votes_TM: Floats) -> Floats:
    if votes_TM.shape[1] == 0:
        return np.zeros(len(votes_TM))
    return np.nan_to_num(votes_TM, nan=0.0).mean(axis=1)


def _vote_rewards(worth_T: Floats, votes_TM: Floats) -> Floats:
    return np.where(np.isnan(votes_TM), UNPARSED_VOTE_REWARD, worth_T[:, None] * votes_TM)


def standardise(values: Floats) -> Floats:
    """Return the z-scores of values, population standard deviation; all 0 without any spread."""
    spread = values.std() if values.size else 0.0
    # Equal rewards computed along different paths differ by rounding; that is not a signal.
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros_like(values)


def _over_group(arrays: Sequence[Floats], scale: Callable[[Floats], Floats]) -> list[Floats]:
    if not arrays:
        return []
    flat = scale(np.concatenate([array.ravel() for array in arrays]))
    ends = np.cumsum([array.size for array in arrays])[:-1]
    return [
        part.reshape(array.shape) for part, array in zip(np.split(flat, ends), arrays, strict=True)
    ]
