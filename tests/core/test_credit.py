"""Credit assignment against numbers worked out by hand (facts: arXiv 2602.02488)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rla_envs.credit import step_advantages, step_rewards, vote_advantages, vote_worth
from rla_envs.errors import ConfigError

NAN = float("nan")


def votes(*rows):
    return np.array(rows, dtype=float)


def test_step_reward_is_outcome_plus_lambda_times_mean_vote():
    # O = +1, votes (+1, +1, -1): mean 1/3; lambda = 1 -> 4/3; lambda = 0.5 -> 7/6.
    won = [votes([1, 1, -1])]
    assert step_rewards([1], won)[0] == pytest.approx([4 / 3])
    assert step_rewards([1], won, lam=0.5)[0] == pytest.approx([7 / 6])
    # O = -1, votes (-1, -1, -1): -2.
    assert step_rewards([-1], [votes([-1, -1, -1])])[0] == pytest.approx([-2])


def test_unparsed_vote_counts_as_zero_in_the_mean():
    # (+1, none, none): mean (1 + 0 + 0) / 3 = 1/3.
    assert step_rewards([-1], [votes([1, NAN, NAN])])[0] == pytest.approx([-2 / 3])


def test_without_votes_the_step_reward_is_the_outcome():
    assert step_rewards([-1], [np.zeros((2, 0))])[0] == pytest.approx([-1, -1])


def test_masked_outcome_is_refused_instead_of_counted_as_zero():
    with pytest.raises(ConfigError, match="must be \\+1 or -1, got 0"):
        step_rewards([0], [votes([1])])


def test_step_advantage_is_the_population_z_score_at_equal_index():
    # Index 0: rewards 2, 0, 0, 2 -> mean 1, population std 1 -> +1, -1, -1, +1.
    # Index 1: rewards 3, 1 of the two that got there -> mean 2, std 1 -> +1, -1.
    rewards = [np.array([2.0, 3.0]), np.array([0.0]), np.array([0.0, 1.0]), np.array([2.0])]
    got = step_advantages(rewards)
    assert [list(array) for array in got] == [[1, 1], [-1], [-1, -1], [1]]


def test_step_seen_by_one_trajectory_has_zero_advantage():
    got = step_advantages([np.array([1.0, -2.0, -2.0]), np.array([0.0])])
    assert list(got[0][1:]) == [0, 0]


def test_equal_rewards_have_zero_advantage():
    assert list(step_advantages([np.array([0.1 + 0.2]), np.array([0.3])])[0]) == [0]


def test_group_baseline_compares_all_steps():
    # Rewards 1, 1, -1, -1: mean 0, std 1.
    got = step_advantages([np.array([1.0, 1.0, -1.0]), np.array([-1.0])], across="group")
    assert [list(array) for array in got] == [[1, 1, -1], [-1]]


def test_published_vote_rule_equals_standardised_outcome_times_vote():
    # R = 4/3 and votes (+1, +1, -1): rewards (4/3, 4/3, -4/3); mean 4/9; z = (1/sqrt2, 1/sqrt2,
    # -sqrt2).
    # The size of R cancels: the same for R = 0.1.
    expected = [2**-0.5, 2**-0.5, -(2**0.5)]
    for reward in (4 / 3, 0.1):
        got = vote_advantages([np.array([reward])], [votes([1, 1, -1])])
        assert got[0][0] == pytest.approx(expected)
    # A lost trajectory turns the signs round.
    got = vote_advantages([np.array([-2 / 3])], [votes([1, 1, -1])])
    assert got[0][0] == pytest.approx([-value for value in expected])


def test_unanimous_step_teaches_nothing_under_the_published_rule_but_does_across_the_group():
    rewards = [np.array([2.0]), np.array([-2.0])]
    unanimous = [votes([1, 1]), votes([1, 1])]
    assert all((array == 0).all() for array in vote_advantages(rewards, unanimous, across="step"))
    # Rewards 2, 2, -2, -2: z = +1, +1, -1, -1.
    got = vote_advantages(rewards, unanimous, across="group")
    assert [array.tolist() for array in got] == [[[1, 1]], [[-1, -1]]]


def test_group_rule_pays_a_constant_verdict_when_most_fail_and_centred_does_not():
    # Three lost, one won; one step each; the judge says -1 to everything.
    rewards = [np.array([-1.0])] * 3 + [np.array([1.0])]
    always_no = [votes([-1])] * 4
    # group: raw rewards (1, 1, 1, -1): a vote -1 is reinforced three times and punished once.
    group = np.concatenate([a.ravel() for a in vote_advantages(rewards, always_no, across="group")])
    assert (group > 0).sum() == 3
    # centred: advantages of the steps are (-1, -1, -1, 3) / sqrt 3, times -1: they sum to zero.
    centred = np.concatenate(
        [a.ravel() for a in vote_advantages(rewards, always_no, across="centred")]
    )
    assert centred == pytest.approx(np.array([1, 1, 1, -3]) / 3**0.5)
    assert centred.sum() == pytest.approx(0)


@pytest.mark.parametrize("across", ["step", "group", "centred"])
def test_unparsed_vote_is_worst(across):
    got = vote_advantages(
        [np.array([1.0]), np.array([-1.0])], [votes([1, NAN]), votes([-1, NAN])], across=across
    )
    for array in got:
        assert array[0, 1] < array[0, 0]


def test_worth_is_one_when_every_win_has_the_higher_mean_vote():
    # wins score 1 and 0; losses -1 and 0: pairs 1>-1, 1>0, 0>-1, 0=0 -> 3.5 of 4.
    got = vote_worth([1, 1, -1, -1], [votes([1]), votes([1], [-1]), votes([-1]), votes([-1], [1])])
    assert got == (3.5, 4)
    assert vote_worth([1, 1], [votes([1]), votes([-1])]) == (0.0, 0)


lengths = st.lists(st.integers(1, 5), min_size=2, max_size=6)


@given(lengths, st.integers(0, 2**32 - 1))
def test_advantages_keep_shape_and_are_centred(sizes, seed):
    rng = np.random.default_rng(seed)
    rewards = [rng.normal(size=size) for size in sizes]
    for across in ("index", "group"):
        got = step_advantages(rewards, across=across)
        assert [len(array) for array in got] == sizes
        assert np.concatenate(got).sum() == pytest.approx(0, abs=1e-8)
