"""Wrappers: votes in the reward, the curriculum's tasks, the episode's record."""

import doctest
import pickle
from dataclasses import dataclass, replace
from importlib import import_module

import gymnasium
import pytest

from rla_envs.alfworld.adaptive import AdaptiveAlfWorldEnv
from rla_envs.curriculum import Curriculum, CurriculumConfig
from rla_envs.errors import ConfigError
from rla_envs.judging import OracleJudge, ScriptedJudge
from rla_envs.spaces import Unicode
from rla_envs.types import Rewrite, Task
from rla_envs.wrappers import AdaptiveTasks, RecordTrajectory, StepVotes


class Rooms(gymnasium.Env):
    """Wins on "win", costs a step otherwise; three steps at most."""

    observation_space = action_space = Unicode(100)
    tasks = tuple(Task(id=name, domain="alfworld", instruction=name, payload={}) for name in "abc")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        chosen = (options or {}).get("task") or self.tasks[self.np_random.integers(3)]
        self.task, self.steps = chosen, 0
        return f"start {chosen.id}", self.info(False)

    def step(self, action):
        self.steps += 1
        won = action == "win"
        over = not won and self.steps == 3
        info = self.info(won)
        if won or over:
            info |= {"outcome": 1 if won else -1, "stop_reason": "won" if won else "budget"}
        return f"after {action}", (1.0 if won else -1.0 if over else 0.0), won, over, info

    def info(self, won):
        return {"task": self.task, "admissible_commands": ["win", "wait"], "won": won}


def finish(env, *actions):
    """Return the last step's answer."""
    for action in actions:
        answer = env.step(action)
    return answer


def by_word(step):
    return (-1, "waited") if step.action == "wait" else (1, "acted")


@pytest.mark.parametrize(
    "module",
    [
        "alfworld.adaptive",
        "coding.adaptive",
        "coding.env",
        "alfworld.env",
        "spaces",
        "wrappers.adaptive_tasks",
        "wrappers.record_trajectory",
        "wrappers.step_votes",
    ],
)
def test_examples_in_the_documentation_run(module):
    result = doctest.testmod(import_module(f"rla_envs.{module}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_reward_is_outcome_plus_mean_vote():
    env = StepVotes(Rooms(), ScriptedJudge(by_word), m=3)
    env.reset(seed=0)
    # Running step, three negative votes: 0 - 1. Winning step, three positive ones: 1 + 1.
    assert env.step("wait")[1] == -1
    assert env.step("win")[1] == 2


def test_a_vote_without_a_verdict_counts_zero():
    labels = iter([1, None, None])
    judge = ScriptedJudge(lambda step: (next(labels), "perhaps"))
    env = StepVotes(Rooms(), judge, m=3)
    env.reset(seed=0)
    _, reward, *_, info = env.step("wait")
    assert [vote.label for vote in info["votes"]] == [1, None, None]
    assert reward == pytest.approx(1 / 3)


def test_surplus_votes_are_dropped():
    env = StepVotes(Rooms(), ScriptedJudge(by_word, votes=5), m=2)
    env.reset(seed=0)
    assert len(env.step("wait")[-1]["votes"]) == 2


@dataclass
class Listener:
    """A judge that keeps what it was shown."""

    shown: list

    def judge(self, trajectories, *, seed):
        self.shown.append((trajectories[0], seed))
        return ScriptedJudge(by_word).judge(trajectories)


def test_the_judge_never_learns_the_outcome():
    listener = Listener([])
    env = StepVotes(Rooms(), listener, m=1)
    env.reset(seed=0)
    finish(env, "wait", "win")
    last, _ = listener.shown[-1]
    assert last.outcome is None
    assert [step.action for step in last.steps] == ["wait", "win"]
    assert [len(step.votes) for step in last.steps] == [1, 0]
    assert all(not {"won", "outcome", "stop_reason"} & set(step.info) for step in last.steps)


def test_votes_are_a_function_of_the_seed():
    def votes(seed, episodes=2):
        judge = OracleJudge(lambda trajectory: [True] * len(trajectory.steps), p_plus=0.5, votes=1)
        env = StepVotes(Rooms(), judge, m=4)
        labels = []
        for episode in range(episodes):
            env.reset(seed=seed if episode == 0 else None)
            for _ in range(3):
                labels += [vote.label for vote in env.step("wait")[-1]["votes"]]
        return labels

    assert votes(1) == votes(1)
    assert votes(1) != votes(2)
    assert votes(1)[:12] != votes(1)[12:]


def test_votes_leave_the_draw_of_tasks_alone():
    plain, voted = Rooms(), StepVotes(Rooms(), ScriptedJudge(by_word), m=2)
    for env in (plain, voted):
        env.reset(seed=0)
    for _ in range(6):
        voted.step("wait")
        plain.step("wait")
        assert plain.reset()[0] == voted.reset()[0]


def test_the_record_holds_the_whole_episode():
    env = RecordTrajectory(StepVotes(Rooms(), ScriptedJudge(by_word), m=2), policy_version=4)
    first, _ = env.reset(seed=9)
    running = env.step("wait")
    assert "trajectory" not in running[-1]
    record = env.step("win")[-1]["trajectory"]
    assert record.task.id == first.split()[1]
    assert [(step.observation, step.action, step.next_observation) for step in record.steps] == [
        (first, "wait", "after wait"),
        ("after wait", "win", "after win"),
    ]
    assert record.steps[0].info["admissible_commands"] == ("win", "wait")
    assert [[vote.label for vote in step.votes] for step in record.steps] == [[-1, -1], [1, 1]]
    assert (record.outcome, record.stop_reason) == (1, "won")
    assert (record.seed, record.policy_version) == (9, 4)
    pickle.dumps(record)


def test_a_lost_episode_is_recorded_as_lost():
    env = RecordTrajectory(Rooms())
    env.reset(seed=0)
    record = finish(env, "wait", "wait", "wait")[-1]["trajectory"]
    assert (record.outcome, record.stop_reason) == (-1, "budget")


def test_an_env_without_tasks_is_refused():
    env = RecordTrajectory(gymnasium.make("CartPole-v1"))
    with pytest.raises(ConfigError, match="must be a Task"):
        env.reset(seed=0)


@pytest.mark.parametrize(
    ("wrap", "message"),
    [
        (lambda env: StepVotes(env, ScriptedJudge(by_word), m=0), "m, the votes a step"),
        (lambda env: AdaptiveTasks(env, None, adapt_every=0), "adapt_every must be"),
    ],
)
def test_wrong_arguments_are_named(wrap, message):
    with pytest.raises(ConfigError, match=message):
        wrap(Rooms())


def fixed_curriculum():
    return Curriculum(
        Rooms.tasks, config=CurriculumConfig(rewrite="none"), rewriter=None, check=no_check
    )


def no_check(root, old, new, known):
    return None


class Harder:
    """Proposes the same task under a new sentence."""

    def __init__(self):
        self.summaries = []

    def propose(self, task, *, root, direction, summary, seed):
        self.summaries.append(summary)
        changed = replace(task, instruction=f"{root.instruction} {seed}")
        return Rewrite(task=changed, direction=direction, transform="renamed", reason="too easy")


def test_tasks_come_from_the_curriculum_and_results_go_back():
    curriculum = fixed_curriculum()
    env = AdaptiveTasks(Rooms(), curriculum, adapt_every=1)
    played = []
    for episode in range(6):
        _, info = env.reset(seed=0 if episode == 0 else None)
        played.append(info["task"].id)
        finish(env, "win")
    assert sorted(played) == ["a", "a", "b", "b", "c", "c"]
    wins = curriculum.store.rows(
        "SELECT task_id, SUM(wins) FROM counts GROUP BY task_id ORDER BY task_id"
    )
    assert [tuple(row) for row in wins] == [("a", 2), ("b", 2), ("c", 2)]


def test_a_chosen_task_and_a_given_up_episode_are_not_reported():
    curriculum = fixed_curriculum()
    env = AdaptiveTasks(Rooms(), curriculum)
    env.reset(seed=0, options={"task": Rooms.tasks[1]})
    finish(env, "win")
    env.reset()
    env.step("wait")
    env.reset()
    assert curriculum.store.rows("SELECT * FROM counts") == []


def test_easy_tasks_get_a_trial_and_the_judges_reasons_reach_the_rewriter():
    rewriter = Harder()
    curriculum = Curriculum(
        Rooms.tasks,
        config=CurriculumConfig(null_share=0.0),
        rewriter=rewriter,
        check=no_check,
    )
    env = AdaptiveTasks(StepVotes(Rooms(), ScriptedJudge(by_word), m=1), curriculum, adapt_every=4)
    on_trial = 0
    for episode in range(80):
        _, info = env.reset(seed=0 if episode == 0 else None)
        on_trial += info["on_trial"]
        assert info["lineage"][0] == info["task"].root_id
        assert info["lineage"][-1] == info["task"].id
        assert (len(info["lineage"]) > 1) >= info["on_trial"]
        assert finish(env, "wait", "win")[-1]["on_trial"] == info["on_trial"]
    assert rewriter.summaries[0].accuracy == 1.0
    assert list(rewriter.summaries[0].reasons) == ["waited"]
    assert 0 < on_trial < 40


def test_the_adaptive_env_proposes_rewrites_by_itself():
    env = AdaptiveAlfWorldEnv(max_steps=1, adapt_every=8, view="compact")
    for episode in range(320):
        env.reset(seed=0 if episode == 0 else None)
        env.step("look")
    proposed = env.curriculum.store.rows(
        "SELECT transform, direction FROM tasks WHERE parent_id IS NOT NULL AND status != 'null'"
    )
    assert len(proposed) > 0
    # Nobody ever wins in one step, so every proposal must be easier.
    assert {row["direction"] for row in proposed} == {"easier"}
    env.close()


def test_a_seeded_reset_starts_the_default_curriculum_anew_and_leaves_a_given_one_alone():
    own = AdaptiveAlfWorldEnv(max_steps=1)
    own.reset(seed=0)
    own.step("look")
    assert len(own.curriculum.store.rows("SELECT * FROM counts")) == 1
    own.reset(seed=0)
    assert own.curriculum.store.rows("SELECT * FROM counts") == []
    tasks = own._base.tasks
    given = Curriculum(tasks, config=CurriculumConfig(rewrite="none"), rewriter=None)
    env = AdaptiveAlfWorldEnv(tasks, curriculum=given, max_steps=1)
    for seed in (0, 0):
        env.reset(seed=seed)
        env.step("look")
    assert sum(row["losses"] for row in given.store.rows("SELECT * FROM counts")) == 2


def test_a_rewriter_beside_a_curriculum_is_refused():
    with pytest.raises(ConfigError, match="give the rewriter to the curriculum"):
        AdaptiveAlfWorldEnv(curriculum=fixed_curriculum(), rewriter=Harder())


def test_the_adaptive_env_takes_a_judge():
    env = AdaptiveAlfWorldEnv(judge=ScriptedJudge(lambda step: (1, "fine")), votes=2, max_steps=1)
    env.reset(seed=0)
    _, reward, *_, info = env.step("look")
    assert reward == 0.0
    assert len(info["votes"]) == 2
