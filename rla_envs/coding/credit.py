"""From programs and generated tests to rows for the trainers (docs/coding.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rla_envs.coding.rewards import (
    Floats,
    TestReward,
    belief,
    metrics_of_tests,
    program_rewards,
    unit_test_rewards,
)
from rla_envs.config import CreditConfig
from rla_envs.credit import standardise
from rla_envs.judging import vote_matrix
from rla_envs.samples import GroupCredit, trainable, training_sample
from rla_envs.types import Group, Step, TrainingSample, Trajectory

UNKNOWN_TEST = 0.0
"""How much a valid test is believed on a task without reference that no sampled program solves.

Anything above 0 trains the policy on the mistakes of the test writer (docs/coding.md)."""


class TestCredit:
    """Credit of the coding domain; takes the place of ``rla_envs.samples.StepCredit``.

    Args:
        form: How generated tests are paid.
        prior: See UNKNOWN_TEST.
    """

    __test__ = False

    def __init__(self, form: TestReward = "mutants", prior: float = UNKNOWN_TEST) -> None:
        self.form: TestReward = form
        self.prior = prior

    def group_credit(self, group: Group, credit: CreditConfig, lam: float) -> GroupCredit:
        """Return rewards and advantages of the group's unmasked trajectories.

        The reward of a submission is the share of ground-truth tests that it passes plus lam times
        the share of the generated tests that it passes, each weighted with how much it is believed;
        its advantage is standardised over all submissions of the group.
        """
        del credit
        scored = tuple(t for t in group.trajectories if t.outcome is not None)
        rewards_GT = self._rewards(scored, lam)
        flat = standardise(np.concatenate(rewards_GT)) if rewards_GT else np.zeros(0)
        ends = np.cumsum([len(rewards_T) for rewards_T in rewards_GT])[:-1]
        return GroupCredit(
            trajectories=scored,
            votes_GTM=[vote_matrix(trajectory) for trajectory in scored],
            rewards_GT=rewards_GT,
            advantages_GT=list(np.split(flat, ends)) if rewards_GT else [],
            masked=tuple(t.outcome is None for t in group.trajectories),
        )

    def policy_samples(
        self, groups: Sequence[Group], credit: CreditConfig, lam: float
    ) -> list[TrainingSample]:
        """Return one sample for every submission with an advantage other than 0."""
        samples: list[TrainingSample] = []
        for group in trainable(groups, credit.policy_band):
            worth = self.group_credit(group, credit, lam)
            for trajectory, row_T in zip(worth.trajectories, worth.advantages_GT, strict=True):
                for step, advantage in zip(trajectory.steps, row_T, strict=True):
                    samples += training_sample(step.completion, float(advantage), "policy")
        return samples

    def judge_samples(
        self, groups: Sequence[Group], credit: CreditConfig, lam: float
    ) -> list[TrainingSample]:
        """Return one sample for every generated test with an advantage other than 0.

        A test is paid by ``unit_test_rewards``, standardised over the tests of its task.
        """
        del lam
        samples: list[TrainingSample] = []
        for group in trainable(groups, credit.judge_band):
            steps = _submissions(group)
            rewards_K = self.test_rewards(group)
            if rewards_K is None:
                continue
            # Every step carries the same tests; the first one's completions are theirs.
            for vote, advantage in zip(steps[0][1].votes, standardise(rewards_K), strict=True):
                if vote.completion is not None:
                    samples += training_sample(vote.completion, float(advantage), "judge")
        return samples

    def test_rewards(self, group: Group) -> Floats | None:
        """Return [K] the raw rewards of a group's generated tests; None when nothing tells."""
        steps = _submissions(group)
        if not steps or not steps[0][1].votes:
            return None
        passed_KC, right_C = _passed(steps), _right(steps)
        record = _tests(steps[0][1])
        form: TestReward = self.form
        if form != "mutants":
            return unit_test_rewards(passed_KC, right_C, form=form, valid_K=record["valid"])
        killed = np.array(record["killed"], dtype=bool).reshape(len(passed_KC), -1)
        return unit_test_rewards(
            passed_KC,
            right_C,
            form="mutants",
            valid_K=record["valid"],
            killed_KM=killed,
            reference_K=record["reference"],
        )

    def metrics(self, groups: Sequence[Group]) -> dict[str, float]:
        """Return ``tests/...``: how good the generated tests are (see ``metrics_of_tests``)."""
        tested = [
            steps
            for group in groups
            if (steps := _submissions(group)) and steps[0][1].votes and "tests" in steps[0][1].info
        ]
        records = [_tests(steps[0][1]) for steps in tested]
        return metrics_of_tests(
            [_passed(steps) for steps in tested],
            [_right(steps) for steps in tested],
            valid=[record["valid"] for record in records],
            reference=[record["reference"] for record in records],
            killed=[
                np.array(record["killed"], dtype=bool).reshape(len(record["valid"]), -1)
                for record in records
            ],
        )

    def _rewards(self, scored: Sequence[Trajectory], lam: float) -> list[Floats]:
        steps = [(t, step) for t in scored for step in t.steps]
        if not steps:
            return [np.zeros(0) for _ in scored]
        base_C = [_fraction(trajectory, step) for trajectory, step in steps]
        if steps[0][1].votes:
            passed_KC, right_C = _passed(steps), _right(steps)
            record = _tests(steps[0][1])
            weight_K = belief(
                passed_KC,
                right_C,
                valid_K=record["valid"],
                reference_K=record["reference"],
                prior=self.prior,
            )
            rewards_C = program_rewards(base_C, passed_KC, weight_K, lam=lam)
        else:
            rewards_C = np.array(base_C, dtype=np.float64)
        ends = np.cumsum([len(t.steps) for t in scored])[:-1]
        return list(np.split(rewards_C, ends))


def _submissions(group: Group) -> list[tuple[Trajectory, Step]]:
    return [(t, step) for t in group.trajectories if t.outcome is not None for step in t.steps]


def _passed(steps: Sequence[tuple[Trajectory, Step]]) -> Any:
    """Return passed_KC: a test without a verdict on a program was not passed."""
    return np.array([[vote.label == 1 for vote in step.votes] for _, step in steps]).T


def _right(steps: Sequence[tuple[Trajectory, Step]]) -> list[bool]:
    return [_fraction(trajectory, step) == 1.0 for trajectory, step in steps]


def _fraction(trajectory: Trajectory, step: Step) -> float:
    """Return the share of ground-truth tests that a submission passes."""
    if "pass_fraction" in step.info:
        return float(step.info["pass_fraction"])
    return float(trajectory.outcome == 1 and step is trajectory.steps[-1])


def _tests(step: Step) -> dict[str, Any]:
    known = step.info.get("tests")
    if known is not None:
        return dict(known)
    valid = [vote.label is not None for vote in step.votes]
    return {"valid": valid, "reference": None, "killed": [[] for _ in valid]}
