"""Judges: parsing, batching, independence of errors, and the theory of the mean vote."""

import numpy as np
import pytest
from scipy.stats import binom

from rla_envs.errors import ConfigError
from rla_envs.judging import ModelJudge, OracleJudge, ScriptedJudge, vote_matrix
from rla_envs.prompts import parse_vote
from rla_envs.prompts.alfworld import ChatPrompts, CompactPrompts
from rla_envs.types import Completion, Step, Task, Trajectory

TASK = Task(id="t", domain="alfworld", instruction="put a mug in cabinet.", payload={})


def step(action="look", **fields):
    defaults = {"observation": "before", "next_observation": "after"}
    return Step(completion=Completion(text=action), action=action, **(defaults | fields))


def trajectory(*steps, outcome=1):
    return Trajectory(
        task=TASK, steps=steps, outcome=outcome, stop_reason="won", seed=0, policy_version=0
    )


class ScriptedModel:
    """Says what it was told to and remembers what it was asked."""

    def __init__(self, replies):
        self.replies, self.calls = replies, []

    def sample(self, conversations, *, n=1, sampling=None, seeds=None):
        self.calls.append((conversations, n, seeds))
        replies = iter(self.replies)
        return [[Completion(text=next(replies)) for _ in range(n)] for _ in conversations]


@pytest.mark.parametrize(
    ("text", "label", "rationale"),
    [
        (r"searches a new place \boxed{+1}", 1, "searches a new place"),
        (r"nothing happens \boxed{-1}", -1, "nothing happens"),
        (r"first \boxed{+1}, but then \boxed{ -1 }", -1, r"first \boxed{+1}, but then"),
        (r"\boxed{1}", 1, ""),
        ("good step, +1", None, "good step, +1"),
        (r"unsure \boxed{0}", None, "unsure"),
        (r"unsure \boxed{+1 or -1}", None, "unsure"),
        ("", None, ""),
    ],
)
def test_verdict_is_the_last_box_and_never_a_guess(text, label, rationale):
    vote = parse_vote(Completion(text=text))
    assert (vote.label, vote.rationale) == (label, rationale)


def test_all_steps_of_all_trajectories_are_judged_in_one_batch():
    model = ScriptedModel([rf"r{i} \boxed{{{'+1' if i % 2 else '-1'}}}" for i in range(6)])
    judged = ModelJudge(model, CompactPrompts(), votes=2).judge(
        [trajectory(step("a"), step("b")), trajectory(step("c"))], seed=3
    )
    ((conversations, n, seeds),) = model.calls
    assert (len(conversations), n) == (3, 2)
    assert len(set(seeds)) == 3
    assert [[v.label for v in s.votes] for t in judged for s in t.steps] == [[-1, 1]] * 3
    assert [v.rationale for t in judged for s in t.steps for v in s.votes] == [
        "r0", "r1", "r2", "r3", "r4", "r5",
    ]  # fmt: skip


@pytest.mark.parametrize("prompts", [CompactPrompts(), ChatPrompts()])
def test_judge_reads_the_step_and_never_the_outcome(prompts):
    steps = (
        step("go to desk 1"),
        step(
            "take pen 1 from desk 1",
            next_observation="You pick up the pen 1.",
            info={"admissible_commands": ("look", "take pen 1 from desk 1")},
        ),
    )
    won, lost = (prompts.judge(trajectory(*steps, outcome=outcome), 1) for outcome in (1, -1))
    assert won == lost
    text = won[-1]["content"]
    assert "take pen 1 from desk 1" in text
    assert "You pick up the pen 1." in text


def test_chat_prompt_keeps_goal_and_last_steps_and_leaves_out_the_middle():
    steps = [step(f"go to desk {i}", observation=f"obs {i}") for i in range(5)]
    text = " ".join(
        m["content"] for m in ChatPrompts(history=2).policy(TASK, steps, "now", ["look"])
    )
    assert "put a mug in cabinet." in text
    assert all(word in text for word in ("obs 0", "obs 3", "obs 4", "now", "look"))
    assert "obs 1" not in text


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("I need the mug.\ngo to desk 1", "go to desk 1"),
        ("Action: `open drawer 2`", "open drawer 2"),
        ("", ""),
    ],
)
def test_chat_action_is_the_last_line(reply, action):
    assert ChatPrompts().action(Completion(text=reply)) == action


def test_oracle_judge_errs_at_its_rate_independently():
    steps = tuple(step() for _ in range(4000))
    judge = OracleJudge(lambda t: [i % 2 == 0 for i in range(4000)], p_plus=0.7, p_minus=0.65)
    (judged,) = judge.judge([trajectory(*steps)], seed=1)
    votes = vote_matrix(judged)
    # Standard error of a share over 6,000 votes: sqrt(.7 * .3 / 6000) = 0.006; four of them: 0.024.
    assert (votes[0::2] == 1).mean() == pytest.approx(0.70, abs=0.024)
    assert (votes[1::2] == -1).mean() == pytest.approx(0.65, abs=0.024)
    # Independent: the first two votes of a good step agree with probability .7^2 + .3^2 = .58.
    assert (votes[0::2, 0] == votes[0::2, 1]).mean() == pytest.approx(0.58, abs=0.045)


@pytest.mark.parametrize(("m", "precision"), [(1, 0.455), (3, 0.6970), (5, 0.8043), (20, 0.9838)])
def test_precision_of_the_mean_vote_by_hand(m, precision):
    """P(mean of a good step > mean of a bad one): two binomials against the simulated judge.

    With one vote: P(+ on good) * P(- on bad) = .7 * .65 = .455 without ties.
    """
    plus = np.arange(m + 1)
    good, bad = binom.pmf(plus, m, 0.7), binom.pmf(plus, m, 1 - 0.65)
    exact = sum(good[i] * bad[:i].sum() for i in range(m + 1))
    assert exact == pytest.approx(precision, abs=5e-4)
    steps = tuple(step() for _ in range(8000))
    judge = OracleJudge(
        lambda t: [i % 2 == 0 for i in range(8000)], p_plus=0.7, p_minus=0.65, votes=m
    )
    means = vote_matrix(judge.judge([trajectory(*steps)], seed=m)[0]).mean(axis=1)
    # 4,000 pairs: standard error at most 0.008.
    assert (means[0::2] > means[1::2]).mean() == pytest.approx(exact, abs=0.032)


def test_oracle_judge_refuses_impossible_rates():
    with pytest.raises(ConfigError, match="p_plus must be a probability"):
        OracleJudge(lambda t: [], p_plus=1.2)


def test_scripted_judge_casts_its_rule():
    judge = ScriptedJudge(lambda s: (1, "acts") if s.action != "look" else (-1, "idles"), votes=2)
    (judged,) = judge.judge([trajectory(step("look"), step("open fridge 1"))])
    assert vote_matrix(judged).tolist() == [[-1, -1], [1, 1]]


def test_ragged_votes_are_refused():
    (judged,) = ScriptedJudge(lambda s: (1, "")).judge([trajectory(step(), step())])
    mixed = trajectory(judged.steps[0], step())
    with pytest.raises(ConfigError, match=r"same number of votes, got \[0, 1\]"):
        vote_matrix(mixed)
