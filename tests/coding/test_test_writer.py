"""Generated tests: strict reading, votes, pay, and real samples of a real model."""

import ast
import json
import re

import numpy as np
import pytest
import rla_task_sets
from rla_task_sets.coding.generated import generate

from rla_envs.coding.credit import TestCredit as CodingCredit
from rla_envs.coding.judge import TestJudge as WritingJudge
from rla_envs.coding.problem import problem_of
from rla_envs.coding.rewards import best_of_n, unit_test_rewards
from rla_envs.coding.test_writer import TestWriter as Writer
from rla_envs.coding.test_writer import parse_test
from rla_envs.config import CreditConfig
from rla_envs.errors import ConfigError
from rla_envs.prompts.coding import ChatPrompts, CompactPrompts
from rla_envs.sandbox import CallTest, Exact, FloatTolerance, StdioTest
from rla_envs.types import Completion, Group, Step, Trajectory


@pytest.mark.parametrize(
    ("source", "args", "expected"),
    [
        ("assert double(3) == 6", (3,), 6),
        ("double(3) == 6", (3,), 6),
        ("assert double(3) == 6, 'three'", (3,), 6),
        ("double(3) == 6, 'three'", (3,), 6),
        ("assert 6 == double(3)", (3,), 6),
        ("assert candidate(-1) == -2", (-1,), -2),
        ("assert double([1, (2,)]) == {'a': None}", ([1, (2,)],), {"a": None}),
        ("assert double(3)", (3,), True),
        ("assert not double(3)", (3,), False),
        ("assert double(3) is None", (3,), None),
    ],
)
def test_these_forms_are_read(source, args, expected, double):
    test, reason = parse_test(source, problem_of(double))
    assert reason is None
    assert test == CallTest("double", args, expected, Exact())


def test_closeness_is_read_with_its_tolerance(double):
    test, _ = parse_test("assert abs(double(1.5) - 3.0) < 1e-3", problem_of(double))
    assert test.checker == FloatTolerance(0.0, 1e-3)
    assert test.expected == 3.0


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "one statement"),
        ("assert", "no Python"),
        ("assert double(3) == 6\nassert double(4) == 8", "one statement, got 2"),
        ("import os", "no assertion"),
        ("assert True", "must call double"),
        ("assert triple(3) == 6", "no Python literal"),
        ("assert double(3) == double(3)", "no Python literal"),
        ("assert double(3) == [1] + [2]", "no Python literal"),
        ("assert double(x) == 6", "no Python literal"),
        ("assert double(__import__('os').system('true')) == 6", "no Python literal"),
        ("assert double(*[3]) == 6", "plain literals"),
        ("assert double(x=3) == 6", "plain literals"),
        ("assert double(3) != 7", "must be == or is"),
        ("assert double(3) < 7", "abs"),
        ("assert abs(double(3) - 6) < 5", "tolerance"),
        ("assert double(3) is 6", "True, False and None"),
        ("assert double(3) == 6 == 6", "must call double"),
        ("assert double(" + "(" * 300 + "3" + ")" * 300 + ") == 6", ""),
        ("x" * 5000, "longer than"),
    ],
)
def test_everything_else_is_no_test(source, reason, double):
    test, why = parse_test(source, problem_of(double))
    assert test is None or "(((" in source
    assert reason in (why or "")


def test_a_test_of_standard_input_needs_both_sides(sum_lines):
    problem = problem_of(sum_lines)
    test, _ = parse_test("1\n7\n---\n7\n", problem)
    assert isinstance(test, StdioTest)
    assert (test.stdin, test.expected) == ("1\n7\n", "7\n")
    for bad in ("1\n7\n", "---\n7", "1\n---\n", "1\n---\n2\n---\n3"):
        assert parse_test(bad, problem)[0] is None


class Scripted:
    """Gives the same replies to every conversation, and keeps what it was asked."""

    def __init__(self, *replies):
        self.replies, self.asked = replies, []

    def sample(self, conversations, *, n=1, sampling=None, seeds=None):
        self.asked += list(conversations)
        assert n == len(self.replies)
        said = [
            Completion(text=text, prompt_ids=(1,), token_ids=(2, k), logprobs=(-1.0, -1.0))
            for k, text in enumerate(self.replies)
        ]
        return [said for _ in conversations]


def written(*sources):
    return [f"Because.\n```python\n{source}\n```" for source in sources]


def submission(task, program, fraction, fence):
    step = Step(
        observation="",
        completion=Completion(text="", prompt_ids=(1,), token_ids=(3,), logprobs=(-1.0,)),
        action=fence(program) if program else "I do not know",
        next_observation="",
        info={"pass_fraction": fraction},
    )
    won = fraction == 1.0
    return Trajectory(
        task=task,
        steps=(step,),
        outcome=1 if won else -1,
        stop_reason="won" if won else "failed",
        seed=0,
        policy_version=0,
    )


@pytest.fixture
def judged(double, fence, grader):
    """Return a judged group: a right program, x * x, and no program; four tests."""
    model = Scripted(
        *written(
            "assert double(1) == 2", "assert double(2) == 4", "assert double(3) == 9", "no test"
        )
    )
    judge = WritingJudge(Writer(model, ChatPrompts(), tests=4), grader)
    played = [
        submission(double, "def double(x): return x + x", 1.0, fence),
        submission(double, "def double(x): return x * x", 0.25, fence),
        submission(double, "", 0.0, fence),
    ]
    group = Group(task=double, trajectories=tuple(judge.judge(played, seed=0)))
    return group, model


def test_the_writer_sees_the_problem_once_and_no_program(judged, double):
    _, model = judged
    assert len(model.asked) == 1
    (message,) = model.asked[0]
    assert double.instruction in message["content"]
    assert "x + x" not in message["content"]
    assert double.payload["reference"] not in message["content"]


def test_votes_are_the_verdicts_of_the_tests(judged):
    group, _ = judged
    labels = [[vote.label for vote in t.steps[0].votes] for t in group.trajectories]
    assert labels == [[1, 1, -1, None], [-1, 1, 1, None], [-1, -1, -1, None]]
    said = [vote.rationale for vote in group.trajectories[1].steps[0].votes]
    assert said[0] == "wrong answer on assert double(1) == 2: got 1"
    assert said[1] == "passes assert double(2) == 4"
    assert said[3].startswith("no test: ")
    assert group.trajectories[2].steps[0].votes[0].rationale.startswith("no program: ")


def test_what_the_tests_say_of_reference_and_mutants_is_kept_apart(judged):
    group, _ = judged
    record = group.trajectories[0].steps[0].info["tests"]
    assert record["valid"] == [True, True, True, False]
    assert record["reference"] == [True, True, False, False]
    # The mutant returns 2 x * x: 2, 8 and 18 for 1, 2 and 3.
    assert record["killed"] == [[False], [True], [True], [False]]
    json.dumps(record)


def test_pay_of_the_tests_by_hand(judged):
    group, _ = judged
    # One right program; W = {x * x, no program}. Test 0: both of W fail (1), the mutant lives (0).
    # Test 1: one of W fails (1/2), the mutant dies (1). Test 2 is wrong and one of W passes it.
    got = CodingCredit("mutants").test_rewards(group)
    assert got.tolist() == [0.5, 0.75, -0.75, -1]
    assert CodingCredit("paper").test_rewards(group).tolist() == [2, 1, -1, 0]


def test_reward_of_programs_by_hand(judged):
    group, _ = judged
    worth = CodingCredit().group_credit(group, CreditConfig(), 1.0)
    # Tests 0 and 1 are believed: shares 1, 1/2 and 0 on top of 1, 1/4 and 0.
    assert [row.tolist() for row in worth.rewards_GT] == [[2.0], [0.75], [0.0]]
    rewards = np.array([2.0, 0.75, 0.0])
    scaled = (rewards - rewards.mean()) / rewards.std()
    assert np.concatenate(worth.advantages_GT) == pytest.approx(scaled)


def test_samples_for_both_trainers(judged):
    group, _ = judged
    credit, config = CodingCredit(), CreditConfig(judge_band=None)
    assert [s.source for s in credit.policy_samples([group], config, 1.0)] == ["policy"] * 3
    tests = credit.judge_samples([group], config, 1.0)
    # One row a test, not one a vote.
    assert [s.token_ids[1] for s in tests] == [0, 1, 2, 3]
    assert sum(s.advantage for s in tests) == pytest.approx(0)
    metrics = credit.metrics([group])
    assert metrics["tests/correct"] == 0.5
    # 2 + 1 of 4 x 2 pairs of a test and a wrong program.
    assert metrics["tests/detection"] == 3 / 8
    assert metrics["tests/kill_rate"] == 1 / 4


def test_an_unjudged_group_is_paid_by_ground_truth_alone(double, fence):
    played = (
        submission(double, "def double(x): return x + x", 1.0, fence),
        submission(double, "def double(x): return 0", 0.25, fence),
    )
    group = Group(task=double, trajectories=played)
    worth = CodingCredit().group_credit(group, CreditConfig(), 1.0)
    assert [row.tolist() for row in worth.rewards_GT] == [[1.0], [0.25]]
    assert CodingCredit().test_rewards(group) is None
    assert CodingCredit().metrics([group]) == {}


def test_a_reply_that_was_cut_off_is_no_test(double):
    class Cut(Scripted):
        def sample(self, conversations, **more):
            done = Completion(text=written("assert double(1) == 2")[0], stop="length")
            return [[done] for _ in conversations]

    ((test,),) = Writer(Cut(), ChatPrompts(), tests=1).write([double], seed=0)
    assert (test.test, test.reason) == (None, "the reply was cut off")
    with pytest.raises(ConfigError, match="tests must be"):
        Writer(Cut(), ChatPrompts(), tests=0)


def test_the_compact_form_is_translated():
    (task,) = generate(n=1, kinds=("numbers",))
    prompts = CompactPrompts()
    assert prompts.written(Completion(text="[1, -2] gives [3]"), task) == "f([1, -2]) == [3]"
    assert prompts.written(Completion(text="[1] [3]"), task) is None
    (message,) = prompts.test(task)
    assert message["content"] == f"{task.payload['compact']} | test"


def samples(shared_data, name):
    path = shared_data / "coding/codet" / f"HumanEval_codegen16B_{name}.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    # The files have different orders; a prompt ends with the function to be written.
    return {re.findall(r"def (\w+)\(", r["prompt"])[-1]: r["samples"] for r in records}


def is_python(text):
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def test_real_programs_meet_real_tests_without_any_model(shared_data, grader):
    """CodeGen-16B's programs and asserts for five HumanEval problems, 6 programs x up to 6 tests.

    Of these problems some programs are right and some are wrong, so that every measure is defined.
    """
    tasks = rla_task_sets.load("coding/humaneval", root=shared_data / "coding/humaneval")
    programs, asserts = samples(shared_data, "code_solution"), samples(shared_data, "test_case")
    measured = 0
    for place in (2, 23, 28, 34, 53):
        problem = problem_of(tasks[place])
        name = problem.entry_point
        drafts = [problem.starter + text for text in dict.fromkeys(programs[name])]
        drafts = [text for text in drafts if is_python(text)][:6]
        right = [grader.grade(problem, draft).right for draft in drafts]
        lines = [line.strip() for text in asserts[name] for line in text.split("assert")]
        read = [parse_test(line, problem)[0] for line in dict.fromkeys(lines)]
        tests = [test for test in read if test is not None][:6]
        if not tests or not drafts:
            continue
        rows = grader.results(problem, drafts, tests)
        passed_KC = np.array([[result.passed for result in row] for row in rows]).T
        rewards = unit_test_rewards(passed_KC, right)
        if rewards is not None and not all(right):
            measured += 1
            assert best_of_n(passed_KC, right) >= 0
            assert np.abs(rewards).max() <= right.count(False)
            # What is paid is correct: every right program passes it.
            for reward, row in zip(rewards, passed_KC, strict=True):
                assert reward <= 0 or row[np.array(right)].all()
    assert measured >= 3
