"""The judge of this domain: its votes are the verdicts of the tests that it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rla_envs.coding.env import understand
from rla_envs.coding.grading import Grader
from rla_envs.coding.problem import Problem, problem_of
from rla_envs.coding.test_writer import TestWriter, WrittenTest
from rla_envs.sandbox.types import Result, Test
from rla_envs.types import Sign, Step, Task, Trajectory, Vote

SHOWN = 60
"""Characters of a value in a rationale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """A task's generated tests and what they say about its reference and mutants.

    Attributes:
        tests: [K] what was written.
        valid_K: Whether test k could be read and run.
        reference_K: Whether the reference passes it; None without a reference.
        killed_KM: Whether mutant m fails it.
    """

    problem: Problem
    tests: tuple[WrittenTest, ...]
    valid_K: tuple[bool, ...]
    reference_K: tuple[bool, ...] | None
    killed_KM: tuple[tuple[bool, ...], ...]


class TestJudge:
    """Writes m tests a task and lets them vote on every submission of the task's trajectories.

    The vote of a test is +1 if the program passes it and -1 if not; an invalid test has no verdict.
    All trajectories of a task meet the same tests, so vote j of each step is test j. A submission
    without a program fails every test. What the tests said about the reference and the mutants goes
    into ``step.info["tests"]``: it pays the judge and is no part of any vote.

    Args:
        writer: Writes the tests.
        grader: Runs them.
    """

    __test__ = False

    def __init__(self, writer: TestWriter, grader: Grader) -> None:
        self.writer, self.grader = writer, grader

    def judge(self, trajectories: Sequence[Trajectory], *, seed: int) -> list[Trajectory]:
        """Return the trajectories with m votes on every step.

        Raises:
            ModelError: the test writer's backend failed.
            SandboxError: the sandbox failed, not a program.
        """
        tasks = list({trajectory.task.id: trajectory.task for trajectory in trajectories}.values())
        written = self.writer.write(tasks, seed=seed)
        trials = {
            task.id: self._try(task, tests) for task, tests in zip(tasks, written, strict=True)
        }
        self._run_ahead(trajectories, trials)
        return [self._vote(trajectory, trials[trajectory.task.id]) for trajectory in trajectories]

    def _try(self, task: Task, written: Sequence[WrittenTest]) -> _Trial:
        problem = problem_of(task)
        readable = _readable(written)
        programs = [*([problem.reference] if problem.reference else []), *problem.mutants]
        rows = self.grader.results(problem, programs, readable) if readable else []
        first = 1 if problem.reference else 0
        # A test that cannot be used is invalid whatever program it meets.
        usable = [not any(row[k].reason == "invalid" for row in rows) for k in range(len(readable))]
        places = _places(written)
        return _Trial(
            problem=problem,
            tests=tuple(written),
            valid_K=tuple(place is not None and usable[place] for place in places),
            reference_K=tuple(
                place is not None and usable[place] and rows[0][place].passed for place in places
            )
            if problem.reference
            else None,
            killed_KM=tuple(
                tuple(
                    place is not None and usable[place] and not row[place].passed
                    for row in rows[first:]
                )
                for place in places
            ),
        )

    def _run_ahead(self, trajectories: Sequence[Trajectory], trials: dict[str, _Trial]) -> None:
        """Run all programs of a task at once, so that all cores are busy; the grader remembers."""
        for task_id, trial in trials.items():
            actions = [s.action for t in trajectories if t.task.id == task_id for s in t.steps]
            programs = {program for a in actions if (program := understand(a)[0]) is not None}
            readable = _readable(trial.tests)
            if programs and readable:
                self.grader.results(trial.problem, sorted(programs), readable)

    def _vote(self, trajectory: Trajectory, trial: _Trial) -> Trajectory:
        steps: list[Step] = []
        for step in trajectory.steps:
            votes = self._votes(step, trial)
            info = {**step.info, "tests": _record(trial)}
            steps.append(replace(step, votes=votes, info=info))
        return replace(trajectory, steps=tuple(steps))

    def _votes(self, step: Step, trial: _Trial) -> tuple[Vote, ...]:
        program, reason = understand(step.action)
        readable, places = _readable(trial.tests), _places(trial.tests)
        results: tuple[Result, ...] = ()
        if program is not None and readable:
            (results,) = self.grader.results(trial.problem, [program], readable)
        votes: list[Vote] = []
        for test, valid, place in zip(trial.tests, trial.valid_K, places, strict=True):
            label: Sign | None = None
            if not valid or place is None:
                rationale = f"no test: {test.reason or 'it cannot be run'}"
            elif program is None:
                label, rationale = -1, f"no program: {reason}"
            else:
                result = results[place]
                if result.reason != "invalid":
                    label = 1 if result.passed else -1
                rationale = _said(test, result)
            votes.append(Vote(label=label, rationale=rationale, completion=test.completion))
        return tuple(votes)


def _readable(written: Sequence[WrittenTest]) -> list[Test]:
    return [test.test for test in written if test.test is not None]


def _places(written: Sequence[WrittenTest]) -> list[int | None]:
    """Return for each written test its place among the readable ones."""
    places: list[int | None] = []
    count = 0
    for test in written:
        places.append(None if test.test is None else count)
        count += test.test is not None
    return places


def _record(trial: _Trial) -> dict[str, Any]:
    return {
        "source": [test.source for test in trial.tests],
        "valid": list(trial.valid_K),
        "reference": None if trial.reference_K is None else list(trial.reference_K),
        "killed": [list(row) for row in trial.killed_KM],
    }


def _said(test: WrittenTest, result: Result) -> str:
    if result.passed:
        return f"passes {test.source}"
    if result.reason == "wrong_answer":
        return f"wrong answer on {test.source}: got {result.output[:SHOWN]}"
    last = (result.detail.strip().splitlines() or [""])[-1]
    return f"{result.reason.replace('_', ' ')} on {test.source}: {last[:SHOWN]}"
