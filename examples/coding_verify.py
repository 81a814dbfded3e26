"""Verify programs on a problem: grade one, then score a matrix of programs and generated tests."""

from __future__ import annotations

import numpy as np
import rla_task_sets

from rla_envs.coding.grading import default_grader
from rla_envs.coding.problem import problem_of
from rla_envs.coding.rewards import best_of_n, unit_test_rewards
from rla_envs.coding.test_writer import parse_test

ASSERTS = ("f([1, 9, 3, 9]) == [1, 3]", "f([]) == []", "f([1, 2]) == [1, 2]", "f(")


def main() -> None:
    """Print a grade, a pass matrix, and what each test and the best program are worth."""
    (task,) = rla_task_sets.load("coding/generated", n=1, kinds=("numbers",))
    problem, grader = problem_of(task), default_grader()
    print(task.instruction, "\n")
    programs = [str(problem.reference), *problem.mutants]
    right = [grader.grade(problem, program).right for program in programs]
    print("right:", right)

    read = [parse_test(source, problem) for source in ASSERTS]
    tests = [test for test, _ in read if test is not None]
    print("not read:", [reason for test, reason in read if test is None])
    rows = grader.results(problem, programs, tests)
    passed_KC = np.array([[result.passed for result in row] for row in rows]).T
    print("pass matrix, tests x programs:\n", passed_KC.astype(int))
    print("reward of each test:", unit_test_rewards(passed_KC, right))
    print("best of n:", best_of_n(passed_KC, right))


if __name__ == "__main__":
    main()
