"""What must hold of every registered id, with default arguments."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence

import rla_envs
from rla_envs.spaces import Unicode
from rla_envs.types import Task

REPOSITORY = Path(__file__).resolve().parents[2]
PATHS = ["", "verifiers", "task_sets", "adapters"]
every_id = pytest.mark.parametrize(
    # A desktop is no text game: tests/osworld says what must hold of its ids.
    "env_id",
    [name for name in rla_envs.registered_ids() if "OSWorld" not in name],
)


def fresh_python(code):
    """Run code in a new interpreter and return what it printed, as JSON."""
    path = os.pathsep.join(str(REPOSITORY / folder) for folder in PATHS)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def game_actions(info, i):
    """Return one of the listed commands, the number of one, or nonsense."""
    commands = info["admissible_commands"]
    choice = (i * 7) % len(commands)
    return (commands[choice], str(choice), "sing")[i % 3]


def programs(info, i):
    """Return one of two wrong programs, or nonsense."""
    return ("```python\ndef f(x): return None\n```", "```\nf = 1\n```", "sing")[i % 3]


@dataclass(frozen=True)
class Play:
    """How a domain is tested: actions, name of the budget, what a transcript says, how it ends."""

    act: Callable[[dict, int], str]
    budget: str
    says: str
    truncates: bool
    several_turns: dict = field(default_factory=dict)


DOMAINS = {
    "AlfWorld": Play(act=game_actions, budget="max_steps", says="Your task is to", truncates=True),
    "Coding": Play(
        act=programs,
        budget="turns",
        says="Write a Python function",
        # The number of submissions is a rule of the problem.
        truncates=False,
        several_turns={"turns": 12},
    ),
}


def played(env_id):
    return DOMAINS[env_id.split("/")[1].split("-")[0]]


def make(env_id, *, budget=None, **kwargs):
    """Make an environment in which an episode of several turns is possible."""
    play = played(env_id)
    turns = play.several_turns if budget is None else {play.budget: budget}
    return gymnasium.make(env_id, **turns, **kwargs)


def episode(env, seed, steps=12):
    """Return all that an episode of varied actions gives: listed ones, numbers, nonsense."""
    play = played(env.spec.id)
    rows = [env.reset(seed=seed)]
    for i in range(steps):
        rows.append(env.step(play.act(rows[-1][-1], i)))
        if rows[-1][2] or rows[-1][3]:
            break
    return rows


def test_every_domain_has_a_plain_and_an_adaptive_id():
    ids = {f"rla/{domain}{kind}-v0" for domain in DOMAINS for kind in ("", "-Adaptive")}
    assert ids <= set(rla_envs.registered_ids())
    assert set(rla_envs.registered_ids()) <= set(gymnasium.registry)


def test_registering_twice_changes_nothing(recwarn):
    before = dict(gymnasium.registry)
    rla_envs.register_envs()
    assert gymnasium.registry == before
    assert not recwarn.list


def test_import_costs_gymnasium_and_numpy_only():
    heavy = fresh_python(
        "import sys, json, gymnasium; before = set(sys.modules); import rla_envs;"
        "new = {m.split('.')[0] for m in set(sys.modules) - before};"
        "print(json.dumps(sorted(new - set(sys.stdlib_module_names))))"
    )
    assert heavy == ["rla_envs"]


@every_id
def test_an_episode_costs_gymnasium_and_numpy_only(env_id):
    third_party = fresh_python(
        "import sys, json, gymnasium; before = set(sys.modules); import rla_envs;"
        f"env = gymnasium.make({env_id!r}); env.reset(seed=0); env.step('0');"
        "new = {m.split('.')[0] for m in set(sys.modules) - before};"
        "print(json.dumps(sorted(new - set(sys.stdlib_module_names))))"
    )
    assert set(third_party) <= {"rla_envs", "rla_task_sets", "rla_verifiers"}


@every_id
def test_the_module_prefix_registers_by_itself(env_id):
    assert fresh_python(
        f"import gymnasium, json; env = gymnasium.make('rla_envs:{env_id}');"
        "env.reset(seed=0); print(json.dumps(env.spec.id))"
    ) in (env_id, f"rla_envs:{env_id}")


@every_id
@pytest.mark.parametrize("render_mode", [None, "ansi"])
def test_check_env_passes_without_a_warning(env_id, render_mode, recwarn):
    check_env(gymnasium.make(env_id, render_mode=render_mode).unwrapped)
    assert [str(warning.message) for warning in recwarn] == []


@every_id
def test_an_episode_through_make_gives_no_warning(env_id, recwarn):
    env = make(env_id)
    episode(env, 0)
    env.close()
    assert [str(warning.message) for warning in recwarn] == []


@every_id
def test_spaces_are_unicode_text(env_id):
    env = make(env_id)
    assert isinstance(env.observation_space, Unicode)
    assert isinstance(env.action_space, Unicode)
    for observation, *_ in episode(env, 1):
        assert observation in env.observation_space


@every_id
@pytest.mark.parametrize("view", ["full", "compact"])
def test_the_seed_decides_everything(env_id, view):
    env, other = (make(env_id, view=view) for _ in range(2))
    first = episode(env, 5)
    assert data_equivalence(first, episode(other, 5), exact=True)
    # The same environment, after another seed's episode.
    episode(env, 6)
    assert data_equivalence(first, episode(env, 5), exact=True)
    starts = {env.reset(seed=seed)[0] for seed in range(12)}
    assert len(starts) > 4


@every_id
def test_resets_without_a_seed_follow_from_the_last_one(env_id):
    env, other = (gymnasium.make(env_id) for _ in range(2))
    for each in (env, other):
        each.reset(seed=3)
    assert [env.reset()[0] for _ in range(5)] == [other.reset()[0] for _ in range(5)]


@every_id
def test_the_spec_survives_pickling_and_remakes_the_env(env_id):
    env = make(env_id, budget=3, view="compact", seed=2)
    spec = pickle.loads(pickle.dumps(env.spec))
    budget = played(env_id).budget
    assert spec.kwargs == env.spec.kwargs == {budget: 3, "view": "compact", "seed": 2}
    twin = gymnasium.make(spec)
    assert data_equivalence(episode(env, 1), episode(twin, 1), exact=True)


@every_id
def test_the_step_budget_is_ours_and_ends_with_an_outcome(env_id):
    env = make(env_id, budget=2)
    assert env.spec.max_episode_steps is None
    *_, last = episode(env, 0)
    truncates = played(env_id).truncates
    assert last[1:4] == (-1.0, not truncates, truncates)
    assert last[4]["outcome"] == -1


@every_id
def test_info_carries_what_was_promised(env_id):
    env = make(env_id, budget=3)
    rows = episode(env, 0)
    for row in rows:
        info = row[-1]
        assert isinstance(info["task"], Task)
        assert info["lineage"][-1] == info["task"].id
        assert info["won"] is False
        assert all(isinstance(command, str) for command in info["admissible_commands"])
        assert ("outcome" in info) == (row is rows[-1])
    assert rows[3][-1]["feedback_reason"] is not None
    assert rows[1][-1]["feedback_reason"] is None


@every_id
def test_closing_twice_is_fine(env_id):
    env = gymnasium.make(env_id)
    env.reset(seed=0)
    env.close()
    env.close()


@every_id
def test_render_is_a_transcript(env_id):
    env = make(env_id, render_mode="ansi")
    episode(env, 0, steps=3)
    text = env.render()
    assert played(env_id).says in text
    assert "[3] > sing" in text
