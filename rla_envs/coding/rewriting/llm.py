"""The LLM rewriter: a chat model writes a new problem, its solution and its tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files

from rla_verifiers.coding import mutants

from rla_envs.coding.grading import Grader, ground_truth
from rla_envs.coding.problem import Problem, problem_of
from rla_envs.coding.test_writer import DIVIDER, parse_test
from rla_envs.coding.view import say_case
from rla_envs.prompts.coding import labelled_blocks
from rla_envs.sandbox.types import CallTest, SolutionTest, StdioTest
from rla_envs.seeding import derive_seed
from rla_envs.types import (
    ChatModel,
    Conversation,
    Direction,
    ErrorSummary,
    Refusal,
    Rewrite,
    Sampling,
    Task,
)

FEWEST_TESTS = 3
"""Tests that a rewrite needs."""
MOST_TESTS = 20
"""Tests of a reply that are kept."""
MUTANTS = 6
"""Mutants of the new reference that are kept."""
SHOWN_REASONS = 8
"""Rationales in the prompt, most frequent first."""
SHOWN_TESTS = 3
"""Tests of the present problem in the prompt."""
SAMPLING = Sampling(temperature=0.8, max_tokens=2048)
"""How a reply is drawn by default."""

_AIMS: Mapping[Direction, str] = {
    "harder": "puts these weaknesses to the test: add a constraint, a case to be told apart, larger"
    " bounds, or a further step",
    "easier": "spares these errors: smaller bounds, one case less, an example, or a hint",
}


class LLMRewriter:
    """Asks a chat model for a whole new problem, and runs what it wrote.

    A reply needs three code blocks: "problem", "solution" and "tests". It is refused as "unparsed"
    without them or with fewer than FEWEST_TESTS readable tests, as "unsolvable" if its solution
    fails one of its tests, and as "solved at start" if no mutant of the solution fails any: such
    tests would let anything pass. What is left still has to pass ``check_rewrite``.

    Args:
        model: Any chat model.
        grader: Runs solution and mutants.
        sampling: How the reply is drawn.
    """

    def __init__(self, model: ChatModel, grader: Grader, *, sampling: Sampling = SAMPLING) -> None:
        self.model, self.grader, self.sampling = model, grader, sampling

    def propose(
        self, task: Task, *, root: Task, direction: Direction, summary: ErrorSummary, seed: int
    ) -> Rewrite | Refusal | None:
        """Return the model's candidate, or a Refusal.

        Raises:
            ModelError: the model's backend failed.
            SandboxError: the sandbox failed.
        """
        conversation = rewriter_prompt(task, root, direction, summary)
        [[reply]] = self.model.sample([conversation], n=1, sampling=self.sampling, seeds=[seed])
        problem = parse_problem(reply.text, problem_of(root))
        if problem is None:
            return Refusal(reason="unparsed")
        statement, problem = problem
        assert problem.reference is not None
        if not self.grader.grade(problem, problem.reference).right:
            return Refusal(reason="unsolvable")
        failing = self._failing_mutants(problem, seed)
        if not failing:
            return Refusal(reason="solved at start")
        new = Task(
            id=f"{task.id}+",
            domain="coding",
            instruction=statement,
            payload={
                **replace(problem, mutants=failing).payload(),
                "edits": [*task.payload.get("edits", ()), direction],
            },
            parent_id=task.id,
            root_id=task.root_id,
            difficulty=None,
        )
        return Rewrite(task=new, direction=direction, transform="llm", reason=_reason(reply.text))

    def _failing_mutants(self, problem: Problem, seed: int) -> tuple[str, ...]:
        assert problem.reference is not None
        found = mutants(problem.reference, n=3 * MUTANTS, seed=derive_seed(seed, "mutants"))
        if not found:
            return ()
        rows = self.grader.results(problem, found, ground_truth(problem))
        fails = [m for m, row in zip(found, rows, strict=True) if not all(r.passed for r in row)]
        return tuple(fails[:MUTANTS])


def parse_problem(text: str, root: Problem) -> tuple[str, Problem] | None:
    """Return statement and problem of a reply, or None; the way to run it is the root's.

    A root with test scripts gets function calls with literal arguments instead.
    """
    blocks = labelled_blocks(text)
    if not {"problem", "solution", "tests"} <= blocks.keys():
        return None
    statement, solution = blocks["problem"].strip(), blocks["solution"].strip("\n")
    cases = _cases(blocks["tests"], root)
    if not statement or not solution.strip() or len(cases) < FEWEST_TESTS:
        return None
    try:
        compile(solution, "solution", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kind = "call" if root.kind == "script" else root.kind
    problem = replace(
        root,
        kind=kind,
        tests=tuple(cases[:MOST_TESTS]),
        public=tuple(range(min(2, len(cases) - 1))),
        checker={"name": "exact"} if root.kind == "script" else root.checker,
        starter="",
        reference=solution + "\n",
        mutants=(),
        epilogue="",
    )
    return statement, problem


def rewriter_prompt(
    task: Task, root: Task, direction: Direction, summary: ErrorSummary
) -> Conversation:
    """Return the chat that asks for a rewrite."""
    problem = problem_of(task)
    reasons = [f"- {why} ({n} times)" for why, n in list(summary.reasons.items())[:SHOWN_REASONS]]
    stdio = problem.kind == "stdio"
    content = _text().format(
        root_instruction=root.instruction,
        instruction=task.instruction,
        tests="\n".join(say_case(problem, case) for case in problem.tests[:SHOWN_TESTS]),
        accuracy="an unknown share" if summary.accuracy is None else f"{summary.accuracy:.0%}",
        episodes=summary.episodes,
        reasons="\n".join(reasons) or "- nothing",
        direction=direction,
        aim=_AIMS[direction],
        keep="that it reads standard input and writes standard output"
        if stdio
        else f"the name `{problem.entry_point}`",
        form=f"input, a line {DIVIDER}, output, and a line === between two tests"
        if stdio
        else f"one line each, like: assert {problem.entry_point}(...) == ...",
    )
    return ({"role": "user", "content": content},)


def _cases(text: str, root: Problem) -> list[dict[str, str]]:
    """Return the readable tests of a reply, each once."""
    parts = text.split("\n===\n") if root.kind == "stdio" else text.splitlines()
    cases: list[dict[str, str]] = []
    for part in parts:
        test, _ = parse_test(part, root) if part.strip() else (None, None)
        if isinstance(test, StdioTest):
            case = {"stdin": test.stdin, "stdout": test.expected}
        elif isinstance(test, CallTest | SolutionTest):
            case = {"args": repr(tuple(test.args)), "expected": repr(test.expected)}
        else:
            continue
        if case not in cases:
            cases.append(case)
    return cases


@cache
def _text() -> str:
    return (files("rla_envs.prompts") / "coding_rewriter.md").read_text(encoding="utf-8")


def _reason(text: str) -> str:
    """Return what stands before the first code block, on one line."""
    return " ".join(text.partition("```")[0].split())[:200]
