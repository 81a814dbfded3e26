"""A sandbox for the folder, and problems small enough to check by hand."""

from __future__ import annotations

import pytest

from rla_envs.coding.grading import Grader, default_grader
from rla_envs.coding.problem import Problem
from rla_envs.types import Task

DOUBLE = Problem(
    kind="call",
    entry_point="double",
    tests=(
        {"args": "(1,)", "expected": "2"},
        {"args": "(0,)", "expected": "0"},
        {"args": "(-3,)", "expected": "-6"},
        {"args": "(5,)", "expected": "10"},
    ),
    public=(0, 1),
    starter="def double(x):\n    pass\n",
    reference="def double(x):\n    return 2 * x\n",
    mutants=("def double(x):\n    return x * x * 2\n",),
)
SUM_LINES = Problem(
    kind="stdio",
    tests=(
        {"stdin": "2\n1 2\n", "stdout": "3\n"},
        {"stdin": "0\n\n", "stdout": "0\n"},
        {"stdin": "3\n10 20 30\n", "stdout": "60\n"},
    ),
    public=(0,),
    checker={"name": "tokens"},
    reference="input()\nprint(sum(map(int, input().split())))\n",
)


def task_with(problem: Problem, *, task_id: str = "double", instruction: str = "") -> Task:
    said = instruction or f"Write a function {problem.entry_point or 'main'} of input and output."
    return Task(id=task_id, domain="coding", instruction=said, payload=problem.payload())


@pytest.fixture(scope="session")
def grader() -> Grader:
    return default_grader()


@pytest.fixture
def double() -> Task:
    return task_with(DOUBLE, instruction="Write `double(x)` that returns twice x.")


@pytest.fixture
def sum_lines() -> Task:
    return task_with(SUM_LINES, task_id="sum", instruction="Read input, write the sum as output.")


@pytest.fixture
def make_task_with():
    return task_with


def block(source: str) -> str:
    return f"```python\n{source}\n```"


@pytest.fixture
def fence():
    return block
