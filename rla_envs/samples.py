"""From judged groups to rows for the trainers: one a turn, one a vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rla_envs.config import CreditConfig
from rla_envs.credit import Floats, step_advantages, step_rewards, vote_advantages
from rla_envs.judging import vote_matrix
from rla_envs.types import Completion, Group, TrainingSample, Trajectory


def accuracy(group: Group) -> float | None:
    """Return the share of won trajectories, in [0, 1]; None when all are masked."""
    outcomes = [t.outcome for t in group.trajectories if t.outcome is not None]
    return outcomes.count(1) / len(outcomes) if outcomes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCredit:
    """What the steps and votes of a group are worth.

    Attributes:
        trajectories: [G] the group's trajectories that are not masked.
        votes_GTM: Their votes.
        rewards_GT: Their step rewards.
        advantages_GT: Their step advantages.
        masked: [all trajectories] which ones are left out above.
    """

    trajectories: tuple[Trajectory, ...]
    votes_GTM: list[Floats]
    rewards_GT: list[Floats]
    advantages_GT: list[Floats]
    masked: tuple[bool, ...]

    def by_trajectory(self, values_GT: Sequence[Floats]) -> list[Sequence[float] | None]:
        """Return values for all trajectories of the group, None where masked."""
        rows = iter(values_GT)
        return [None if masked else next(rows).tolist() for masked in self.masked]


def group_credit(group: Group, credit: CreditConfig, lam: float) -> GroupCredit:
    """Return rewards and advantages of the group's unmasked trajectories."""
    scored = tuple(t for t in group.trajectories if t.outcome is not None)
    votes_GTM = [vote_matrix(trajectory) for trajectory in scored]
    rewards_GT = step_rewards([t.outcome for t in scored if t.outcome], votes_GTM, lam)
    return GroupCredit(
        trajectories=scored,
        votes_GTM=votes_GTM,
        rewards_GT=rewards_GT,
        advantages_GT=step_advantages(rewards_GT, across=credit.step_baseline),
        masked=tuple(t.outcome is None for t in group.trajectories),
    )


def policy_samples(
    groups: Sequence[Group], credit: CreditConfig, lam: float
) -> list[TrainingSample]:
    """Return one sample for every step with an advantage other than 0.

    Groups on trial, masked trajectories, and tasks outside ``credit.policy_band`` do not train.
    """
    samples: list[TrainingSample] = []
    for group in _trainable(groups, credit.policy_band):
        worth = group_credit(group, credit, lam)
        for trajectory, advantages_T in zip(worth.trajectories, worth.advantages_GT, strict=True):
            for step, advantage in zip(trajectory.steps, advantages_T, strict=True):
                samples += _sample(step.completion, float(advantage), "policy")
    return samples


def judge_samples(
    groups: Sequence[Group], credit: CreditConfig, lam: float
) -> list[TrainingSample]:
    """Return one sample for every vote with an advantage other than 0.

    Groups on trial, masked trajectories, and tasks outside ``credit.judge_band`` do not train.
    """
    samples: list[TrainingSample] = []
    for group in _trainable(groups, credit.judge_band):
        worth = group_credit(group, credit, lam)
        advantages_GTM = vote_advantages(
            worth.rewards_GT, worth.votes_GTM, across=credit.vote_baseline
        )
        for trajectory, advantages_TM in zip(worth.trajectories, advantages_GTM, strict=True):
            for step, advantages_M in zip(trajectory.steps, advantages_TM, strict=True):
                for vote, advantage in zip(step.votes, advantages_M, strict=True):
                    if vote.completion is not None:
                        samples += _sample(vote.completion, float(advantage), "judge")
    return samples


def _trainable(groups: Sequence[Group], band: tuple[float, float] | None) -> list[Group]:
    def inside(group: Group) -> bool:
        share = accuracy(group)
        return share is not None and (band is None or band[0] <= share <= band[1])

    return [group for group in groups if not group.on_trial and inside(group)]


def _sample(completion: Completion, advantage: float, source: str) -> list[TrainingSample]:
    if advantage == 0.0 or not completion.token_ids:
        return []
    return [
        TrainingSample(
            prompt_ids=completion.prompt_ids,
            token_ids=completion.token_ids,
            logprobs=completion.logprobs,
            advantage=advantage,
            source=source,  # pyright: ignore[reportArgumentType]
        )
    ]
