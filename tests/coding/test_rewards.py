"""Rewards of programs and tests, against numbers worked out by hand."""

import numpy as np
import pytest

from rla_envs.coding.rewards import (
    belief,
    best_of_n,
    correct_tests,
    metrics_of_tests,
    program_rewards,
    unit_test_rewards,
)
from rla_envs.errors import ConfigError

# Five programs: two right, three wrong (W = columns 2, 3, 4).
RIGHT = [True, True, False, False, False]
PASSED = [
    [1, 1, 0, 0, 0],  # correct, every wrong program fails
    [1, 1, 1, 0, 1],  # correct, one of three fails
    [1, 1, 1, 1, 1],  # correct, none fails
    [1, 0, 1, 0, 0],  # wrong, one wrong program passes
    [0, 0, 0, 0, 0],  # wrong, no program passes
]


def test_paper_counts_the_wrong_programs():
    assert unit_test_rewards(PASSED, RIGHT).tolist() == [3, 1, 0, -1, 0]


def test_fractions_are_the_paper_divided_by_the_number_of_wrong_programs():
    got = unit_test_rewards(PASSED, RIGHT, form="fractions")
    assert got == pytest.approx([1, 1 / 3, 0, -1 / 3, 0])


def test_paper_and_fractions_agree_after_standardising():
    paper = unit_test_rewards(PASSED, RIGHT)
    fractions = unit_test_rewards(PASSED, RIGHT, form="fractions")
    assert (paper - paper.mean()) / paper.std() == pytest.approx(
        (fractions - fractions.mean()) / fractions.std()
    )


@pytest.mark.parametrize("form", ["paper", "fractions"])
def test_without_a_wrong_program_correct_is_plus_one_and_wrong_is_minus_one(form):
    got = unit_test_rewards([[1, 1], [1, 0], [0, 0]], [True, True], form=form)
    assert got.tolist() == [1, -1, -1]


@pytest.mark.parametrize("form", ["paper", "fractions", "mutants"])
def test_a_task_without_a_right_program_has_no_measure(form):
    assert unit_test_rewards([[1, 0]], [False, False], form=form) is None


def test_the_published_weakness_a_wrong_test_that_fails_every_program_is_not_punished():
    assert unit_test_rewards(PASSED, RIGHT)[4] == 0
    assert unit_test_rewards(PASSED, RIGHT, form="mutants")[4] == -0.5


def test_mutants_form_averages_detection_and_kills_and_grades_wrong_tests():
    killed = [[1, 1], [1, 0], [0, 0], [1, 1], [1, 1]]
    got = unit_test_rewards(PASSED, RIGHT, form="mutants", killed_KM=killed)
    # (1 + 1) / 2, (1/3 + 1/2) / 2, 0, -(1 + 1/3) / 2, -1/2
    assert got == pytest.approx([1, 5 / 12, 0, -2 / 3, -0.5])


def test_mutants_form_pays_kills_alone_when_every_sampled_program_is_right():
    got = unit_test_rewards(
        [[1, 1], [1, 1]], [True, True], form="mutants", killed_KM=[[1, 1, 0, 0], [0, 0, 0, 0]]
    )
    assert got.tolist() == [0.5, 0]


def test_mutants_do_not_depend_on_which_wrong_programs_were_sampled():
    killed = [[1, 0, 1, 1]]
    few = unit_test_rewards([[1]], [True], form="mutants", killed_KM=killed)
    more = unit_test_rewards([[1, 1, 1]], [True] * 3, form="mutants", killed_KM=killed)
    assert few.tolist() == more.tolist() == [0.75]


def test_an_invalid_test_is_told_apart_from_a_wrong_one():
    valid = [True, True, True, True, False]
    got = unit_test_rewards(PASSED, RIGHT, form="mutants", valid_K=valid)
    assert got[4] == -1
    assert got[3] == pytest.approx(-2 / 3)


def test_a_test_that_every_sampled_program_passes_but_the_reference_fails_is_wrong():
    got = unit_test_rewards([[1, 1]], [True, True], form="mutants", reference_K=[False])
    assert got.tolist() == [-0.5]


def test_a_reference_measures_tests_of_a_task_that_nobody_solves():
    got = unit_test_rewards(
        [[0, 0], [1, 0]], [False, False], form="mutants", reference_K=[True, False]
    )
    # correct and both fail it; wrong and one of two passes it
    assert got.tolist() == [1, -0.75]


def test_the_published_forms_know_no_mutants():
    with pytest.raises(ConfigError, match="use form='mutants'"):
        unit_test_rewards(PASSED, RIGHT, killed_KM=[[1]] * 5)
    with pytest.raises(ConfigError, match="form must be"):
        unit_test_rewards(PASSED, RIGHT, form="ours")


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ConfigError, match="right_C"):
        unit_test_rewards(PASSED, [True])
    with pytest.raises(ConfigError, match="valid_K"):
        unit_test_rewards(PASSED, RIGHT, valid_K=[True])
    with pytest.raises(ConfigError, match="killed_KM"):
        unit_test_rewards(PASSED, RIGHT, form="mutants", killed_KM=[[1]])


def test_correct_means_valid_and_passed_by_every_right_program():
    assert correct_tests(PASSED, RIGHT).tolist() == [True, True, True, False, False]
    valid = [True, False, True, True, True]
    assert correct_tests(PASSED, RIGHT, valid_K=valid).tolist() == [True, False, True, False, False]


def test_belief_is_the_prior_where_no_program_is_right():
    assert belief(PASSED, RIGHT, prior=0.3).tolist() == [1, 1, 1, 0, 0]
    got = belief([[1, 0], [0, 0]], [False, False], valid_K=[True, False], prior=0.3)
    assert got.tolist() == [0.3, 0]
    with pytest.raises(ConfigError, match="prior"):
        belief(PASSED, RIGHT, prior=2)


def test_program_reward_adds_the_weighted_share_of_generated_tests():
    # Weights 1 and 3: program 0 passes the first (1/4), program 1 the second (3/4).
    got = program_rewards([0.5, 0.0], [[1, 0], [0, 1]], [1, 3], lam=2)
    assert got.tolist() == [0.5 + 2 / 4, 2 * 3 / 4]


def test_program_reward_without_a_believed_test_is_the_base():
    assert program_rewards([0.5, 1.0], [[1, 0]], [0]).tolist() == [0.5, 1.0]
    assert program_rewards([0.5], np.zeros((0, 1)), []).tolist() == [0.5]


def test_best_of_n_draws_among_equals():
    # Scores 2, 2, 1: of the two best one is right.
    assert best_of_n([[1, 1, 1], [1, 1, 0]], [True, False, True]) == 0.5
    # Without tests: the share of right programs.
    assert best_of_n(np.zeros((0, 4)), [True, False, False, False]) == 0.25


def test_metrics_are_means_over_tasks():
    got = metrics_of_tests(
        [PASSED, [[1, 0], [0, 0]]],
        [RIGHT, [True, False]],
        valid=[[True] * 5, [True, False]],
        reference=[None, None],
        killed=[[[1, 1], [1, 0], [0, 0], [1, 1], [1, 1]], [[], []]],
    )
    assert got["tests/valid"] == pytest.approx((1 + 1 / 2) / 2)
    assert got["tests/correct"] == pytest.approx((3 / 5 + 1 / 2) / 2)
    # Task 1: 3 + 1 of 5 x 3 pairs; task 2: 1 of 2 x 1.
    assert got["tests/detection"] == pytest.approx((4 / 15 + 1 / 2) / 2)
    # Only task 1 has mutants: 2 + 1 of 5 x 2 pairs; kills of wrong tests do not count.
    assert got["tests/kill_rate"] == pytest.approx(3 / 10)
    assert got["tests/pass_at_1"] == pytest.approx((2 / 5 + 1 / 2) / 2)
    # Task 1: programs 0 (4 tests) leads alone and is right; task 2: program 0.
    assert got["tests/best_of_n"] == 1
