"""The reward model of this domain: a chat model that writes unit tests."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rla_envs.coding.grading import literal, sandbox_test
from rla_envs.coding.problem import Problem, problem_of
from rla_envs.errors import ConfigError, TaskError
from rla_envs.prompts.coding import TestPrompts
from rla_envs.sandbox.types import Exact, FloatTolerance, Test
from rla_envs.seeding import derive_seed
from rla_envs.types import ChatModel, Completion, Sampling, Task

LONGEST_TEST = 4_000
"""Characters a written test may have."""
DIVIDER = "---"
"""The line between input and output in a written test of a stdio problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTest:
    """A test as a model wrote it.

    Attributes:
        source: What was written, "" when there was nothing to read.
        test: What the sandbox runs; None when the source could not be read.
        reason: Why it could not be read; None when it could.
        completion: The model's reply.
    """

    source: str
    test: Test | None
    reason: str | None
    completion: Completion


class TestWriter:
    """Asks a chat model for tests: it sees the problem, no program and no outcome.

    Args:
        model: Writes the tests.
        prompts: How it is asked.
        tests: m, tests a problem (the paper: 16 in the code, 32 in the text).
        sampling: How tests are drawn; the model's default when None.
    """

    __test__ = False

    def __init__(
        self,
        model: ChatModel,
        prompts: TestPrompts,
        *,
        tests: int = 16,
        sampling: Sampling | None = None,
    ) -> None:
        if tests < 1:
            raise ConfigError(f"tests must be at least 1, got {tests}")
        self.model, self.prompts, self.tests, self.sampling = model, prompts, tests, sampling

    def write(self, tasks: Sequence[Task], *, seed: int) -> list[list[WrittenTest]]:
        """Return m tests for every task, all of them sampled in one batch.

        Raises:
            ModelError: the model's backend failed.
        """
        replies = self.model.sample(
            [self.prompts.test(task) for task in tasks],
            n=self.tests,
            sampling=self.sampling,
            seeds=[derive_seed(seed, "test", place) for place in range(len(tasks))],
        )
        return [
            [self._read(completion, task) for completion in completions]
            for task, completions in zip(tasks, replies, strict=True)
        ]

    def _read(self, completion: Completion, task: Task) -> WrittenTest:
        source = self.prompts.written(completion, task)
        if completion.stop == "length":
            return _unread(completion, source or "", "the reply was cut off")
        if source is None:
            return _unread(completion, "", "no test in the reply")
        test, reason = parse_test(source, problem_of(task))
        return WrittenTest(source=source.strip(), test=test, reason=reason, completion=completion)


def parse_test(source: str, problem: Problem) -> tuple[Test | None, str | None]:
    """Return (test, None), or (None, why it is none).

    Functions: exactly one assertion about one call of the entry point with literal arguments, with
    or without the word "assert" and a message: ``f(...) == literal`` (either side), ``f(...) is
    True/False/None``, ``f(...)``, ``not f(...)``, or ``abs(f(...) - literal) < literal``. Standard
    input: input, a line "---", output; both must have something to say. Nothing else is run: a test
    that a model wrote is a claim about values and not a program.
    """
    if len(source) > LONGEST_TEST:
        return None, f"longer than {LONGEST_TEST} characters"
    if problem.kind == "stdio":
        return _stdio(source, problem)
    try:
        body = ast.parse(source.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None, "no Python"
    if len(body) != 1:
        return None, f"must be one statement, got {len(body)}"
    (statement,) = body
    claim = (
        statement.test
        if isinstance(statement, ast.Assert)
        else statement.value
        if isinstance(statement, ast.Expr)
        else None
    )
    if claim is None:
        return None, "no assertion"
    try:
        return _claim(claim, problem), None
    except (TaskError, RecursionError) as error:
        return None, str(error)


def _claim(claim: ast.expr, problem: Problem) -> Test:
    """Return the test of an assertion.

    Raises:
        TaskError: it is none of the forms that ``parse_test`` lists.
    """
    tolerance: float | None = None
    if isinstance(claim, ast.Tuple) and len(claim.elts) == 2:
        # "f(1) == 2, 'message'": the word assert was lost.
        claim = claim.elts[0]
    if isinstance(claim, ast.Compare) and len(claim.ops) == 1:
        left, right, operator = claim.left, claim.comparators[0], claim.ops[0]
        if isinstance(operator, ast.Lt | ast.LtE):
            left, right, tolerance = _closeness(left, right)
        elif not isinstance(operator, ast.Eq | ast.Is):
            raise TaskError("the comparison must be == or is")
        if not _is_call(left, problem):
            left, right = right, left
        expected = literal(ast.unparse(right))
        if isinstance(operator, ast.Is) and not (expected is None or isinstance(expected, bool)):
            raise TaskError("is goes with True, False and None only")
    elif isinstance(claim, ast.UnaryOp) and isinstance(claim.op, ast.Not):
        left, expected = claim.operand, False
    else:
        left, expected = claim, True
    if not _is_call(left, problem):
        raise TaskError(f"it must call {problem.entry_point} and compare with a literal")
    assert isinstance(left, ast.Call)
    if left.keywords or any(isinstance(argument, ast.Starred) for argument in left.args):
        raise TaskError("arguments must be plain literals")
    arguments = tuple(literal(ast.unparse(argument)) for argument in left.args)
    kind = problem.kind if problem.kind == "solution" else "call"
    asked = replace(problem, kind=kind, tests=({"args": "()", "expected": "None"},), public=())
    test = sandbox_test(asked, {"args": repr(arguments), "expected": repr(expected)})
    checker = Exact() if problem.kind == "script" else test.checker  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    if tolerance is not None:
        checker = FloatTolerance(0.0, tolerance)
    return replace(test, checker=checker)  # pyright: ignore[reportUnknownArgumentType]


def _closeness(left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr, float]:
    """Return (a, b, tolerance) of ``abs(a - b) < tolerance``."""
    inside = left.args[0] if isinstance(left, ast.Call) and len(left.args) == 1 else None
    named = isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "abs"
    if not named or not isinstance(inside, ast.BinOp) or not isinstance(inside.op, ast.Sub):
        raise TaskError("< goes with abs(f(...) - value) only")
    tolerance = literal(ast.unparse(right))
    if not isinstance(tolerance, int | float) or not 0 < tolerance < 1:
        raise TaskError(f"the tolerance must be a number in (0, 1), got {tolerance!r}")
    return inside.left, inside.right, float(tolerance)


def _is_call(node: ast.expr, problem: Problem) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Attribute) and problem.kind == "solution":
        # Solution().twoSum(...)
        return function.attr == problem.entry_point
    return isinstance(function, ast.Name) and function.id in (problem.entry_point, "candidate")


def _stdio(source: str, problem: Problem) -> tuple[Test | None, str | None]:
    lines = source.strip("\n").split("\n")
    places = [place for place, line in enumerate(lines) if line.strip() == DIVIDER]
    if len(places) != 1:
        return None, f"needs exactly one line {DIVIDER!r} between input and output"
    given = "\n".join(lines[: places[0]]) + "\n"
    wanted = "\n".join(lines[places[0] + 1 :]) + "\n"
    if not given.strip() or not wanted.strip():
        return None, "input and output must not be blank"
    return sandbox_test(problem, {"stdin": given, "stdout": wanted}), None


def _unread(completion: Completion, source: str, reason: str) -> WrittenTest:
    return WrittenTest(source=source, test=None, reason=reason, completion=completion)
