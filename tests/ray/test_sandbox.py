"""Sandboxes on Ray: the verdicts of one sandbox, whatever dies on the way."""

import os
import signal
from functools import partial

import pytest

from rla_envs.errors import ConfigError
from rla_envs.sandbox import LocalSandbox, Program, StdioTest

pytestmark = pytest.mark.ray

# Weak: what is tested here is who runs the programs, and these are ours.
MAKE = partial(LocalSandbox, workers=1, isolation="weak")
SUM = "a, b = map(int, input().split())\nprint(a + b)"
PROGRAMS = [
    Program(SUM),
    Program(SUM.replace("+", "-")),
    Program("print(1 / 0)"),
    Program(SUM),
    Program(SUM.replace("+", "*")),
]
TESTS = [StdioTest("2 2\n", "4"), StdioTest("5 0\n", "5")]
# a + b: both; a - b: 0 and 5; a crash: none; a + b again; a * b: 4 and 0.
PASSED = [[True, True], [False, True], [False, False], [True, True], [True, False]]


@pytest.fixture(scope="module")
def sandbox(cluster):
    from rla_adapters.ray_workers import RaySandbox

    with RaySandbox(MAKE, actors=2) as sandbox:
        yield sandbox


def verdicts(matrix):
    return [[(r.passed, r.reason, r.output, r.isolation) for r in row] for row in matrix.results]


def test_verdicts_are_those_of_one_sandbox(sandbox):
    seen = []
    matrix = sandbox.matrix(PROGRAMS, TESTS, on_result=lambda k, c, result: seen.append((k, c)))
    assert matrix.passed_KC.tolist() == PASSED
    assert sorted(seen) == [(k, c) for k in range(5) for c in range(2)]
    with MAKE() as one:
        assert verdicts(matrix) == verdicts(one.matrix(PROGRAMS, TESTS))
    assert sandbox.run(PROGRAMS[1], TESTS[1]).passed


def test_killed_sandbox_costs_no_verdict(sandbox):
    before = sandbox.process_ids()

    def kill(k, c, result):
        if len(killed) == 0:
            killed.append(os.kill(before[0], signal.SIGKILL))

    killed = []
    assert sandbox.matrix(PROGRAMS, TESTS, on_result=kill).passed_KC.tolist() == PASSED
    assert sandbox.matrix(PROGRAMS, TESTS).passed_KC.tolist() == PASSED
    assert sandbox.process_ids()[0] != before[0]


def test_nothing_to_run_is_an_error_as_in_one_sandbox(sandbox):
    with pytest.raises(ConfigError, match="got 0 and 2"):
        sandbox.matrix([], TESTS)
