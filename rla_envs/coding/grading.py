"""Running submissions on a problem's tests: the one place where this domain meets the sandbox."""

from __future__ import annotations

import ast
import atexit
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from rla_envs.coding.problem import Case, Problem
from rla_envs.errors import TaskError
from rla_envs.sandbox.types import (
    CallTest,
    Checker,
    Custom,
    Exact,
    FloatTolerance,
    Limits,
    Program,
    Result,
    Sandbox,
    ScriptTest,
    SolutionTest,
    StdioTest,
    Test,
    Tokens,
    Unordered,
)

REMEMBERED = 20_000
"""Results that a Grader keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """How a program did on the tests of a problem.

    Attributes:
        results: One a test, in order.
    """

    results: tuple[Result, ...]

    @property
    def right(self) -> bool:
        """Whether all tests pass."""
        return all(result.passed for result in self.results)

    @property
    def pass_fraction(self) -> float:
        """Share of tests that pass, in [0, 1]."""
        return sum(result.passed for result in self.results) / len(self.results)


class Grader:
    """Runs programs on tests and remembers results, so that a pair is run once.

    Models repeat themselves: at the start of training most programs of a group are equal.

    Args:
        sandbox: Where programs run.
        remembered: Results that are kept, the latest used.
    """

    def __init__(self, sandbox: Sandbox, *, remembered: int = REMEMBERED) -> None:
        self.sandbox = sandbox
        self._remembered = remembered
        self._known: OrderedDict[tuple[Any, ...], Result] = OrderedDict()

    def grade(self, problem: Problem, program: str) -> Grade:
        """Return how program does on the ground-truth tests.

        Raises:
            SandboxError: the sandbox failed, not the program.
        """
        (row,) = self.results(problem, [program], ground_truth(problem))
        return Grade(results=row)

    def results(
        self, problem: Problem, programs: Sequence[str], tests: Sequence[Test]
    ) -> list[tuple[Result, ...]]:
        """Return one row of results a program, one result a test.

        Raises:
            SandboxError: the sandbox failed, not a program.
        """
        limits = limits_of(problem)
        runs = [program_of(problem, program) for program in programs]
        keys = [[(run, repr(test), limits) for test in tests] for run in runs]
        found: dict[tuple[Any, ...], Result] = {}
        missing_runs: dict[Program, set[int]] = {}
        for run, row in zip(runs, keys, strict=True):
            for place, key in enumerate(row):
                if key in self._known:
                    self._known.move_to_end(key)
                    found[key] = self._known[key]
                else:
                    missing_runs.setdefault(run, set()).add(place)
        # Programs that lack the same tests go into one matrix: one call keeps all cores busy.
        batches: dict[tuple[int, ...], list[Program]] = {}
        for run, places in missing_runs.items():
            batches.setdefault(tuple(sorted(places)), []).append(run)
        for places, lacking in batches.items():
            chosen = [tests[place] for place in places]
            matrix = self.sandbox.matrix(lacking, chosen, limits)
            for run, results in zip(lacking, matrix.results, strict=True):
                for test, result in zip(chosen, results, strict=True):
                    key = (run, repr(test), limits)
                    found[key] = self._known[key] = result
        while len(self._known) > self._remembered:
            self._known.popitem(last=False)
        return [tuple(found[key] for key in row) for row in keys]

    def close(self) -> None:
        """Close the sandbox."""
        self.sandbox.close()


@cache
def default_grader() -> Grader:
    """Return this process's grader on a local sandbox, started when first asked for.

    Dozens of environments in one process share its zygote and what it remembers.

    Raises:
        SandboxError: this machine has no strong sandbox; the message says what is missing.
    """
    from rla_envs.sandbox import LocalSandbox

    grader = Grader(LocalSandbox())
    atexit.register(grader.close)
    return grader


def ground_truth(problem: Problem) -> list[Test]:
    """Return the problem's ground-truth tests as the sandbox takes them.

    Raises:
        TaskError: arguments or expected values are no Python literals, or the checker is unknown.
    """
    return [sandbox_test(problem, case) for case in problem.tests]


def sandbox_test(problem: Problem, case: Case) -> Test:
    """Return one case of problem as the sandbox takes it.

    Raises:
        TaskError: see ``ground_truth``.
    """
    checker = checker_from(problem.checker)
    if problem.kind == "stdio":
        return StdioTest(case["stdin"], case["stdout"], checker)
    if problem.kind == "script":
        return ScriptTest(case["code"])
    given, expected = literal(case["args"]), literal(case["expected"])
    if not isinstance(given, tuple):
        raise TaskError(f"args must be a tuple, got {case['args']!r}")
    args = cast("tuple[Any, ...]", given)
    make = CallTest if problem.kind == "call" else SolutionTest
    return make(problem.entry_point, args, expected, checker)


def checker_from(data: Mapping[str, Any]) -> Checker:
    """Return the checker that data names (see ``Problem.checker``).

    Raises:
        TaskError: no such checker.
    """
    name = data.get("name")
    if name == "exact":
        return Exact()
    if name == "tokens":
        return Tokens()
    if name == "unordered":
        return Unordered()
    if name == "float":
        tolerance = float(data.get("tolerance", 1e-6))
        return FloatTolerance(tolerance, tolerance)
    if name == "custom":
        return Custom(str(data["source"]))
    raise TaskError(f"checker must be exact, tokens, float, unordered or custom, got {name!r}")


def literal(text: str) -> Any:
    """Return the value of a Python literal.

    Raises:
        TaskError: it is none.
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise TaskError(f"no Python literal: {text[:80]!r}") from error


def program_of(problem: Problem, source: str) -> Program:
    """Return source as the sandbox takes it."""
    whole = f"{source}\n{problem.epilogue}" if problem.epilogue else source
    return Program(whole, problem.language)  # pyright: ignore[reportArgumentType]


def limits_of(problem: Problem) -> Limits:
    """Return what one test of problem may use."""
    return Limits(cpu_s=problem.cpu_seconds, memory_mb=problem.memory_mb)


def gate(problem: Problem, grader: Grader, *, mutants: bool = True) -> Iterator[str]:
    """Yield what is wrong with a problem: nothing if it may be served.

    The untouched starter must fail, the reference must pass, and every mutant must fail (unless
    mutants is False, for speed). Without a reference only the first can be checked.

    Raises:
        SandboxError: the sandbox failed.
    """
    if grader.grade(problem, problem.starter).right:
        yield "solved by the untouched starter"
    if problem.reference is not None:
        grade = grader.grade(problem, problem.reference)
        for place, result in enumerate(grade.results):
            if not result.passed:
                yield f"its reference fails test {place} ({result.reason}: {result.detail[:200]})"
                break
    if mutants and problem.mutants:
        rows = grader.results(problem, problem.mutants, ground_truth(problem))
        for place, row in enumerate(rows):
            if all(result.passed for result in row):
                yield f"its mutant {place} passes all tests"
                break
