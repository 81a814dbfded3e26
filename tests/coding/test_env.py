"""The environment: what it shows, what it takes, and who is to blame."""

import gymnasium
import pytest
from gymnasium.error import ResetNeeded
from rla_verifiers.coding import TestsVerifier, expert_actions, mutants

from rla_envs.coding.env import CodingEnv, understand
from rla_envs.coding.problem import Problem, problem_of
from rla_envs.coding.view import difference
from rla_envs.errors import ConfigError, SandboxError, TaskError, TaskUnavailable
from rla_envs.prompts.coding import ChatPrompts, CompactPrompts, fenced
from rla_envs.rollout import EnvSpec, collect, make_pool
from rla_envs.types import Completion, Task

RIGHT = "def double(x):\n    return x + x"
SQUARE = "def double(x):\n    return x * x"


def test_the_reference_wins_and_the_starter_loses(double):
    env = CodingEnv([double])
    env.reset()
    _, reward, terminated, truncated, info = env.step(expert_actions(double)[0])
    assert (reward, terminated, truncated, info["stop_reason"]) == (1, True, False, "won")
    env.reset()
    _, reward, terminated, _, info = env.step(fenced(double.payload["starter"]))
    assert (reward, terminated, info["outcome"], info["stop_reason"]) == (-1, True, -1, "failed")


def test_pass_fraction_counts_all_ground_truth_tests(double, fence):
    env = CodingEnv([double], turns=2)
    _, info = env.reset()
    assert info["pass_fraction"] == 0
    # x * x is right for 0 alone of 1, 0, -3, 5.
    *_, info = env.step(fence(SQUARE))
    assert info["pass_fraction"] == info["extras"]["pass_fraction"] == 0.25
    assert not info["won"]
    *_, info = env.step(fence(RIGHT))
    assert info["pass_fraction"] == 1


def test_the_last_code_block_counts_and_prose_does_not(fence):
    program, reason = understand(f"First\n{fence('a = 1')}\nthen\n{fence('b = 2')}\nDone.")
    assert (program, reason) == ("b = 2\n", None)
    assert understand("print(1)") == (None, "no code block in the reply")
    assert understand("```python\nprint(1)") == (None, "no code block in the reply")
    assert understand("```python\n\n```") == (None, "the code block is empty")
    assert understand("x" * 70_000)[0] is None
    assert understand("```\n\ud800\n```") == (None, "the program is no valid Unicode text")
    assert understand("```python\r\nx = 1\r\n```\r\n")[0] == "x = 1\n"


def test_several_turns_show_the_difference_on_public_tests_only(double, fence):
    env = CodingEnv([double], turns=3)
    first, _ = env.reset()
    assert "double(1) == 2\ndouble(0) == 0" in first
    assert "-3" not in first
    second, *_ = env.step(fence(SQUARE))
    assert second == (
        "1 of 2 public tests pass.\nTest 1 fails:\ndouble(1)\n  expected: 2\n  got:      1"
    )
    third, *_ = env.step(fence("def double(x):\n    return {1: 2, 0: 0}[x]"))
    assert third == "2 of 2 public tests pass.\nTests that you cannot see fail."


def test_an_exception_is_shown_with_its_reason(double, fence):
    env = CodingEnv([double], turns=2)
    env.reset()
    seen, *_ = env.step(fence("def double(x):\n    raise KeyError('oops')"))
    assert "exception" in seen
    assert "oops" in seen


def test_public_tests_can_be_hidden(double, fence):
    env = CodingEnv([double], turns=2, public_tests=0)
    first, _ = env.reset()
    assert "== 2" not in first
    assert env.step(fence(SQUARE))[0] == "Your program does not pass all tests."


def test_a_long_difference_is_cut():
    want = "\n".join(map(str, range(100)))
    have = "\n".join(str(-n) for n in range(100))
    lines = difference(want, have).splitlines()
    assert len(lines) == 13
    assert lines[-1].endswith("more lines")
    assert difference("a\n", "") == "  expected: a\n  got:      (nothing)"


def test_standard_input_problems(sum_lines, fence):
    env = CodingEnv([sum_lines], turns=2)
    first, _ = env.reset()
    assert "input:\n2\n1 2\noutput:\n3" in first
    seen, *_ = env.step(fence("print(4)"))
    assert "expected: 3" in seen
    assert "got:      4" in seen
    assert env.step(fence("input()\nprint(sum(map(int, input().split())))"))[1] == 1


def test_the_load_gate_refuses_what_is_no_problem(make_task_with):
    wrong = Problem(
        kind="call",
        entry_point="f",
        tests=({"args": "(1,)", "expected": "2"},),
        reference="def f(x): return 1",
    )
    with pytest.raises(TaskError, match="its reference fails test 0"):
        CodingEnv([make_task_with(wrong)]).reset()
    solved = Problem(
        kind="call",
        entry_point="f",
        tests=({"args": "(1,)", "expected": "1"},),
        starter="def f(x): return x",
    )
    with pytest.raises(TaskError, match="solved by the untouched starter"):
        CodingEnv([make_task_with(solved)]).reset()
    CodingEnv([make_task_with(solved)], check_tasks=False).reset()


def test_mistakes_of_the_caller_are_named(double):
    with pytest.raises(ConfigError, match="turns must be"):
        CodingEnv(turns=0)
    with pytest.raises(ConfigError, match="public_tests"):
        CodingEnv(public_tests=-1)
    with pytest.raises(ConfigError, match="root="):
        CodingEnv([double], root="x")
    with pytest.raises(ConfigError, match="needs no root"):
        CodingEnv("coding/generated", root="x").reset()
    with pytest.raises(ConfigError, match="empty"):
        CodingEnv([])
    env = CodingEnv([double])
    with pytest.raises(ResetNeeded):
        env.step("x")
    env.reset()
    with pytest.raises(TypeError, match="must be a str"):
        env.step(3)
    with pytest.raises(TaskUnavailable, match="'nope'"):
        env.reset(options={"task": "nope"})
    with pytest.raises(TaskError, match="wanted coding"):
        env.reset(options={"task": Task(id="g", domain="alfworld", instruction="", payload={})})


class Broken:
    """A sandbox whose world has failed."""

    def matrix(self, programs, tests, limits=None, *, on_result=None):
        raise SandboxError("no user namespaces here")


def test_a_failing_sandbox_masks_the_episode_and_is_no_reward(double, fence):
    env = CodingEnv([double], sandbox=Broken(), check_tasks=False)
    env.reset()
    with pytest.raises(SandboxError):
        env.step(fence(RIGHT))
    with pytest.raises(ResetNeeded):
        env.step(fence(RIGHT))


class Scripted:
    """A policy that answers from a list, whoever asks."""

    def __init__(self, *replies):
        self.replies = list(replies)

    def sample(self, conversations, *, n=1, sampling=None, seeds=None):
        return [[Completion(text=self.replies.pop(0)) for _ in range(n)] for _ in conversations]


class SometimesBroken:
    """Breaks on programs that say so, and passes on everything else to a real one."""

    def __init__(self, inner):
        self.inner = inner

    def matrix(self, programs, tests, limits=None, *, on_result=None):
        if any("BREAK" in program.source for program in programs):
            raise SandboxError("the cell is gone")
        return self.inner.matrix(programs, tests, limits)


def test_collected_episodes_of_a_failing_world_have_no_outcome(double, fence, grader):
    sandbox = SometimesBroken(grader.sandbox)
    spec = EnvSpec(id="rla/Coding-v0", kwargs={"sandbox": sandbox, "check_tasks": False})
    pool = make_pool(spec, slots=1, workers=0)
    policy = Scripted(fence(RIGHT), *[fence("BREAK")] * 3)
    (group,) = collect(policy, [double], rollouts=2, pool=pool, prompts=ChatPrompts(), seed=0)
    pool.close()
    first, second = group.trajectories
    assert (first.outcome, first.stop_reason) == (1, "won")
    assert first.steps[0].info["pass_fraction"] == 1.0
    assert (second.outcome, second.stop_reason, second.steps) == (None, "crashed", ())


def test_the_compact_view_has_the_last_try_and_its_first_failure():
    env = gymnasium.make("rla/Coding-v0", view="compact", turns=2)
    first, info = env.reset(seed=1)
    assert first == info["task"].payload["compact"]
    seen, *_ = env.step(fenced("def f(x): return None"))
    assert seen.startswith(f"{first} | tried def f(x): return None | ")
    assert " gives None not " in seen


def test_prompts_of_both_sizes(double):
    compact, chat = CompactPrompts(), ChatPrompts()
    completion = Completion(text="def f (xs): return [x for x in xs if x % 2 = = 0]")
    assert understand(compact.action(completion))[0] == (
        "def f (xs): return [x for x in xs if x % 2 == 0]\n"
    )
    (message,) = compact.policy(double, (), "numbers | sum", ())
    assert message["content"] == "numbers | sum | program"
    (message,) = chat.policy(double, (), "Write it.", ())
    assert message["content"].startswith("Write it.\n")
    (message,) = chat.test(double)
    assert "assert double(...) == ..." in message["content"]
    assert chat.action(Completion(text="as it is")) == "as it is"


def test_verifier_and_expert_agree(double, grader, fence):
    verifier = TestsVerifier(grader)
    assert verifier.verify(double, expert_actions(double))
    assert not verifier.verify(double, [fence(SQUARE)])
    assert not verifier.verify(double, ["no program"])
    assert verifier.verify(double, [fence(SQUARE), fence(RIGHT)])
    bare = Problem(kind="call", entry_point="f", tests=({"args": "()", "expected": "1"},))
    with pytest.raises(TaskError, match="no reference"):
        expert_actions(Task(id="x", domain="coding", instruction="", payload=bare.payload()))


def test_mutants_are_one_slip_away():
    source = "def f(x, y):\n    if x < 3 and y:\n        return x + 1\n    return max(x, y)"
    found = mutants(source, n=100, seed=0)
    assert len(found) == len(set(found))
    for slip in (
        "x <= 3 and y",
        "x > 3 and y",
        "x < 3 or y",
        "x - 1",
        "x + 2",
        "max(y, x)",
    ):
        assert any(slip in text for text in found), slip
    assert mutants(source, n=3, seed=1) == mutants(source, n=3, seed=1)
    assert len(mutants(source, n=3, seed=1)) == 3
    with pytest.raises(SyntaxError):
        mutants("def f(", n=1, seed=0)


def test_a_problem_survives_its_payload(double, sum_lines):
    for task in (double, sum_lines):
        assert problem_of(task).payload() == task.payload
