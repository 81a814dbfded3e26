"""Static checks of rewritten programming problems: what needs no episode to be refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from rla_envs.coding.grading import Grader, default_grader, ground_truth
from rla_envs.coding.problem import Problem, problem_of
from rla_envs.errors import TaskError
from rla_envs.types import Task
from rla_task_sets.fingerprints import fingerprint

from .generated import split_of
from .operations import Step
from .specification import Specification, make_task


def check_rewrite(
    root: Task,
    old: Task,
    new: Task,
    known: Collection[str],
    *,
    grader: Grader | None = None,
) -> str | None:
    """Return why new is no valid rewrite of old, or None.

    "malformed": the payload is no problem; "stale instruction": statement and tests do not agree
    (a generated problem is not the one of its specification; any other does not name its function,
    or does not speak of input and output); "intention lost": another function or another way to
    run it, or a plan that neither contains the root's nor is contained in it, or one that belongs
    to another split; "duplicate": known, or with the tests and statement of old or root; "solved at
    start": the untouched starter passes, or no mutant fails; "unsolvable": the reference is missing
    or fails a test.

    Args:
        root: The task whose intention must be kept.
        old: The task that new may replace.
        new: The candidate.
        known: Fingerprints of every task that was ever served or tried.
        grader: Runs programs; this process's own when None.

    Raises:
        SandboxError: the sandbox failed.
    """
    try:
        problem, origin = problem_of(new), problem_of(root)
        ground_truth(problem)
        stated = _says_what_it_asks(new, problem)
        kept = _keeps_intention(root, origin, new, problem)
    except TaskError:
        return "malformed"
    if not stated:
        return "stale instruction"
    if not kept:
        return "intention lost"
    if fingerprint(new) in known or any(_same_problem(new, other) for other in (old, root)):
        return "duplicate"
    return certify(problem, grader or default_grader())


def certify(problem: Problem, grader: Grader) -> str | None:
    """Return "unsolvable", "solved at start", or None when the tests do their work.

    The reference must pass every test, the starter must not, and at least one mutant must fail.

    Raises:
        SandboxError: the sandbox failed.
    """
    if problem.reference is None or not grader.grade(problem, problem.reference).right:
        return "unsolvable"
    if not problem.mutants or grader.grade(problem, problem.starter).right:
        return "solved at start"
    rows = grader.results(problem, problem.mutants, ground_truth(problem))
    fails = any(not result.passed for row in rows for result in row)
    return None if fails else "solved at start"


def keeps_plan(root: Sequence[Step], steps: Sequence[Step]) -> bool:
    """Return whether one plan contains the other, its steps in the same order."""
    return _is_within(root, steps) or _is_within(steps, root)


def _says_what_it_asks(task: Task, problem: Problem) -> bool:
    data = task.payload.get("specification")
    if data is not None:
        made = make_task(Specification.from_json(data), task_id=task.id)
        return (
            made is not None
            and made.instruction == task.instruction
            and all(
                made.payload[key] == task.payload.get(key)
                for key in ("tests", "compact", "entry_point", "reference", "mutants")
            )
        )
    words = task.instruction
    if problem.kind == "stdio":
        return re.search(r"\binput\b", words, re.I) is not None and (
            re.search(r"\b(output|print)", words, re.I) is not None
        )
    return re.search(rf"\b{re.escape(problem.entry_point)}\b", words) is not None


def _keeps_intention(root: Task, origin: Problem, new: Task, problem: Problem) -> bool:
    if (problem.kind, problem.entry_point) != (origin.kind, origin.entry_point):
        return False
    before, after = root.payload.get("specification"), new.payload.get("specification")
    if (before is None) != (after is None):
        return False
    if before is None or after is None:
        return True
    old, now = Specification.from_json(before), Specification.from_json(after)
    return (
        old.kind == now.kind
        and keeps_plan(old.steps, now.steps)
        # A rewrite of a training task must not give away a task that is held out.
        and split_of(old.kind, old.steps) == split_of(now.kind, now.steps)
    )


def _is_within(short: Sequence[Step], long: Sequence[Step]) -> bool:
    rest = iter(long)
    return all(step in rest for step in short)


def _same_problem(new: Task, other: Task) -> bool:
    return (
        new.instruction == other.instruction
        and new.payload.get("tests") == other.payload.get("tests")
        and new.payload.get("starter") == other.payload.get("starter")
    )
