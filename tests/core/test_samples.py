"""Rows for the trainers and the numbers an iteration reports, worked out by hand."""

import numpy as np
import pytest

from rla_envs.config import CreditConfig
from rla_envs.metrics import judge_metrics, outcome_metrics, rollout_metrics, step_vote_metrics
from rla_envs.samples import accuracy, judge_samples, policy_samples
from rla_envs.types import Completion, Group, Step, Task, Trajectory, Vote

TASK = Task(id="t", domain="alfworld", instruction="", payload={})
NAN = float("nan")


def completion(*token_ids):
    return Completion(
        text="", prompt_ids=(7,), token_ids=token_ids, logprobs=(-1.0,) * len(token_ids)
    )


def trajectory(outcome, *labels, first_token=1):
    """One step for each tuple of vote labels; step i's completion is the token first_token + i."""
    steps = tuple(
        Step(
            observation="",
            completion=completion(first_token + i),
            action="",
            next_observation="",
            votes=tuple(
                Vote(label=label, rationale="", completion=completion(100 + 10 * i + j))
                for j, label in enumerate(row)
            ),
        )
        for i, row in enumerate(labels)
    )
    return Trajectory(
        task=TASK, steps=steps, outcome=outcome, stop_reason="won", seed=0, policy_version=0
    )


def group(*trajectories, **fields):
    return Group(task=TASK, trajectories=trajectories, **fields)


def test_policy_gets_one_sample_a_step_with_its_own_advantage():
    # Index 0: R = 1 + 1 = 2 and -1 - 1 = -2 -> z = +1, -1. Index 1: only one trajectory -> 0 -> no
    # sample.
    mixed = group(trajectory(1, (1,), (1,)), trajectory(-1, (-1,), first_token=5))
    got = policy_samples([mixed], CreditConfig(), lam=1.0)
    assert [(s.token_ids, s.advantage, s.source) for s in got] == [
        ((1,), 1.0, "policy"),
        ((5,), -1.0, "policy"),
    ]
    assert got[0].prompt_ids == (7,)


def test_judge_gets_one_sample_a_vote_of_split_steps_under_the_published_rule():
    # R = 1 + 0 = 1; rewards (+1, -1): z = (+1, -1). The unanimous step of the other gives nothing.
    mixed = group(trajectory(1, (1, -1)), trajectory(-1, (1, 1)))
    got = judge_samples([mixed], CreditConfig(vote_baseline="step"), lam=1.0)
    assert [(s.token_ids, s.advantage, s.source) for s in got] == [
        ((100,), 1.0, "judge"),
        ((101,), -1.0, "judge"),
    ]


@pytest.mark.parametrize("build", [policy_samples, judge_samples])
def test_trials_and_masked_trajectories_do_not_train(build):
    pair = trajectory(1, (1, -1)), trajectory(-1, (1, -1))
    assert build([group(*pair)], CreditConfig(), lam=1.0)
    assert not build([group(*pair, on_trial=True)], CreditConfig(), lam=1.0)
    masked = trajectory(None, (1, -1))
    assert build([group(*pair, masked)], CreditConfig(), lam=1.0) == build(
        [group(*pair)], CreditConfig(), lam=1.0
    )


def test_bands_filter_tasks_by_accuracy():
    all_lost = group(trajectory(-1, (1,)), trajectory(-1, (-1,)))
    # Votes alone tell the two steps apart: R = 0 and -2.
    assert len(policy_samples([all_lost], CreditConfig(policy_band=None), lam=1.0)) == 2
    assert not policy_samples([all_lost], CreditConfig(policy_band=(0.125, 0.875)), lam=1.0)


def test_overflowed_completion_is_no_sample():
    empty = trajectory(1, (1,))
    empty = group(
        Trajectory(
            task=TASK,
            steps=(Step(observation="", completion=completion(), action="", next_observation=""),),
            outcome=-1,
            stop_reason="overflow",
            seed=0,
            policy_version=0,
        ),
        trajectory(1, ()),
    )
    assert [s.token_ids for s in policy_samples([empty], CreditConfig(), lam=0.0)] == [(1,)]


def test_accuracy_leaves_masked_trajectories_out():
    assert accuracy(group(trajectory(1), trajectory(-1), trajectory(None))) == 0.5
    assert accuracy(group(trajectory(None))) is None


def test_rollout_metrics_average_over_groups():
    # Accuracies 1/2 and 1: 3/4. Lengths 1, 2, 3: 2.
    metrics = rollout_metrics(
        [group(trajectory(1, ()), trajectory(-1, (), ())), group(trajectory(1, (), (), ()))]
    )
    assert metrics["accuracy/train"] == 0.75
    assert metrics["episode_steps/mean"] == 2
    assert metrics["groups/without_spread"] == 0.5


def test_step_vote_metrics_by_hand():
    # good: (+,+,-) right; good: (+,-,none) a tie, half right; bad: (+,+,+) wrong; bad: (-,-,-)
    # right.
    votes = np.array([[1, 1, -1], [1, -1, NAN], [1, 1, 1], [-1, -1, -1]], dtype=float)
    got = step_vote_metrics(votes, np.array([True, True, False, False]))
    assert got["judge/process_accuracy"] == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert got["judge/balanced_accuracy"] == pytest.approx((1.5 / 2 + 1 / 2) / 2)
    assert got["judge/vote_accuracy"] == pytest.approx((2 + 1 + 0 + 3) / 11)
    assert got["judge/split_rate"] == 0.5
    assert got["judge/unparsed_rate"] == pytest.approx(1 / 12)
    assert got["judge/negative_share"] == pytest.approx(5 / 11)
    # Equal pairs: 1 of 3, 0 of 1, 3 of 3, 3 of 3.
    assert got["judge/agreement"] == pytest.approx(7 / 10)


def test_outcome_is_predicted_by_the_sign_of_the_mean_vote():
    # Scores: won +1 (right), lost 0 (predicted lost: right), lost +1 (wrong).
    # Pairs won-lost: 1 > 0 counts 1, 1 = 1 counts 1/2.
    metrics = outcome_metrics(
        [group(trajectory(1, (1,)), trajectory(-1, (1,), (-1,)), trajectory(-1, (1,)))]
    )
    assert metrics["judge/outcome_accuracy"] == pytest.approx(2 / 3)
    assert metrics["judge/outcome_auc"] == pytest.approx(1.5 / 2)


def test_judge_metrics_join_steps_of_all_trajectories():
    metrics = judge_metrics(
        [group(trajectory(1, (1,), (-1,)), trajectory(-1, (1,)))], [[1, 0], [0]]
    )
    assert metrics["judge/process_accuracy"] == pytest.approx(2 / 3)
