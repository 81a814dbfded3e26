"""From judged groups to rows for the trainers: one a turn, one a vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

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


class Credit(Protocol):
    """How a domain values what was collected; ``StepCredit`` is the published way."""

    def group_credit(self, group: Group, credit: CreditConfig, lam: float) -> GroupCredit:
        """Return rewards and advantages of the group's unmasked trajectories."""
        ...

    def policy_samples(
        self, groups: Sequence[Group], credit: CreditConfig, lam: float
    ) -> list[TrainingSample]:
        """Return the rows from which the policy learns."""
        ...

    def judge_samples(
        self, groups: Sequence[Group], credit: CreditConfig, lam: float
    ) -> list[TrainingSample]:
        """Return the rows from which the judge learns."""
        ...

    def metrics(self, groups: Sequence[Group]) -> dict[str, float]:
        """Return what the domain measures of its judge beyond votes."""
        ...


class StepCredit:
    """Step rewards from outcome and mean vote, vote rewards from consistency with them."""

    def group_credit(self, group: Group, credit: CreditConfig, lam: float) -> GroupCredit:
        """See the function of this name."""
        return group_credit(group, credit, lam)

    def policy_samples(
        self, groups: Sequence[Group], credit: CreditConfig, lam: float
    ) -> list[TrainingSample]:
        """See the function of this name."""
        return policy_samples(groups, credit, lam)

    def judge_samples(
        self, groups: Sequence[Group], credit: CreditConfig, lam: float
    ) -> list[TrainingSample]:
        """See the function of this name."""
        return judge_samples(groups, credit, lam)

    def metrics(self, groups: Sequence[Group]) -> dict[str, float]:
        """Return nothing: votes are measured for every domain."""
        del groups
        return {}


def policy_samples(
    groups: Sequence[Group], credit: CreditConfig, lam: float
) -> list[TrainingSample]:
    """Return one sample for every step with an advantage other than 0.

    Groups on trial, masked trajectories, and tasks outside ``credit.policy_band`` do not train.
    """
    samples: list[TrainingSample] = []
    for group in trainable(groups, credit.policy_band):
        worth = group_credit(group, credit, lam)
        for trajectory, advantages_T in zip(worth.trajectories, worth.advantages_GT, strict=True):
            for step, advantage in zip(trajectory.steps, advantages_T, strict=True):
                samples += training_sample(step.completion, float(advantage), "policy")
    return samples


def judge_samples(
    groups: Sequence[Group], credit: CreditConfig, lam: float
) -> list[TrainingSample]:
    """Return one sample for every vote with an advantage other than 0.

    Groups on trial, masked trajectories, and tasks outside ``credit.judge_band`` do not train.
    """
    samples: list[TrainingSample] = []
    for group in trainable(groups, credit.judge_band):
        worth = group_credit(group, credit, lam)
        advantages_GTM = vote_advantages(
            worth.rewards_GT, worth.votes_GTM, across=credit.vote_baseline
        )
        for trajectory, advantages_TM in zip(worth.trajectories, advantages_GTM, strict=True):
            for step, advantages_M in zip(trajectory.steps, advantages_TM, strict=True):
                for vote, advantage in zip(step.votes, advantages_M, strict=True):
                    if vote.completion is not None:
                        samples += training_sample(vote.completion, float(advantage), "judge")
    return samples


def trainable(groups: Sequence[Group], band: tuple[float, float] | None) -> list[Group]:
    """Return the groups that are not on trial and whose accuracy lies in band; None: any."""

    def inside(group: Group) -> bool:
        share = accuracy(group)
        return share is not None and (band is None or band[0] <= share <= band[1])

    return [group for group in groups if not group.on_trial and inside(group)]


def training_sample(
    completion: Completion, advantage: float, source: Literal["policy", "judge"]
) -> list[TrainingSample]:
    """Return the row of a completion: none if its advantage is 0 or it has no tokens."""
    if advantage == 0.0 or not completion.token_ids:
        return []
    return [
        TrainingSample(
            prompt_ids=completion.prompt_ids,
            token_ids=completion.token_ids,
            logprobs=completion.logprobs,
            advantage=advantage,
            source=source,
        )
    ]
