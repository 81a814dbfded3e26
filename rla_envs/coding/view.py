"""What an agent reads: the problem, and what came of its last submission."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rla_envs.coding.problem import Case, Problem
from rla_envs.prompts.coding import fenced
from rla_envs.sandbox.types import Result
from rla_envs.types import Task

SHOWN = 600
"""Characters of an input, an output or a difference that are shown."""
SHOWN_LINES = 12
"""Lines of a difference that are shown."""


def first_view(task: Task, problem: Problem) -> str:
    """Return the statement, the starter unless the statement has it, and the public tests."""
    parts = [task.instruction.strip()]
    if problem.starter.strip() and problem.starter.strip() not in task.instruction:
        parts.append("Start from:\n" + fenced(problem.starter, problem.language))
    shown = [said for place in problem.public if (said := say_case(problem, problem.tests[place]))]
    if shown:
        parts.append("Tests that your program has to pass, among others:\n" + "\n".join(shown))
    return "\n\n".join(parts)


def report(problem: Problem, results: Sequence[tuple[int, Result]]) -> str:
    """Return what the public tests said about a submission: [(place of the test, its result)]."""
    if not results:
        return "Your program does not pass all tests."
    passed = sum(result.passed for _, result in results)
    lines = [f"{passed} of {len(results)} public tests pass."]
    if passed == len(results):
        lines.append("Tests that you cannot see fail.")
    for place, result in results:
        if not result.passed:
            lines += [f"Test {place + 1} fails:", _failure(problem, problem.tests[place], result)]
    return "\n".join(lines)


def compact_report(problem: Problem, results: Sequence[tuple[int, Result]]) -> str:
    """Return the first failure in a few words for a small word-level model."""
    for place, result in results:
        if not result.passed and problem.kind in ("call", "solution"):
            case = problem.tests[place]
            got = _cut(result.output, 80) if result.reason == "wrong_answer" else "error"
            inside = case["args"].removeprefix("(").removesuffix(")").removesuffix(",")
            return f"{inside} gives {got} not {case['expected']}"
    return "hidden tests fail"


def say_case(problem: Problem, case: Case) -> str:
    """Return a ground-truth test as it may be shown."""
    if problem.kind == "stdio":
        given, wanted = _cut(case["stdin"].rstrip("\n")), _cut(case["stdout"].rstrip("\n"))
        return f"input:\n{given}\noutput:\n{wanted}"
    if problem.kind == "script":
        return _cut(case["code"])
    inside = case["args"].removeprefix("(").removesuffix(")").removesuffix(",")
    return _cut(f"{problem.entry_point}({inside}) == {case['expected']}")


def difference(expected: str, got: str) -> str:
    """Return a short line-by-line difference: "-" what was expected, "+" what came.

    One line against one line is shown as two lines; longer texts as a unified diff around the first
    differences, cut after SHOWN_LINES lines.
    """
    want, have = expected.rstrip("\n").splitlines(), got.rstrip("\n").splitlines()
    if len(want) <= 1 and len(have) <= 1:
        return f"  expected: {_cut(want[0]) if want else '(nothing)'}\n  got:      " + (
            _cut(have[0]) if have else "(nothing)"
        )
    lines = list(difflib.unified_diff(want, have, "expected", "got", lineterm="", n=1))
    shown = [_cut(line, 120) for line in lines[:SHOWN_LINES]]
    if len(lines) > SHOWN_LINES:
        shown.append(f"... {len(lines) - SHOWN_LINES} more lines")
    return "\n".join(f"  {line}" for line in shown)


def _failure(problem: Problem, case: Case, result: Result) -> str:
    if problem.kind == "script":
        return f"{_cut(case['code'])}\n  {result.reason}: {_cut(result.detail, 300)}"
    if result.reason != "wrong_answer":
        return f"{say_case(problem, case)}\n  {result.reason}: {_cut(result.detail, 300)}"
    if problem.kind == "stdio":
        given = _cut(case["stdin"].rstrip("\n"))
        return f"input:\n{given}\n{difference(case['stdout'], result.output)}"
    inside = case["args"].removeprefix("(").removesuffix(")").removesuffix(",")
    call = _cut(f"{problem.entry_point}({inside})")
    return f"{call}\n{difference(case['expected'], result.output)}"


def _cut(text: str, limit: int = SHOWN) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"
