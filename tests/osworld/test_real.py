"""Tasks on a real local desktop: every family by its expert, and OSWorld's own offline tasks."""

from __future__ import annotations

import pytest
import rla_task_sets
from rla_task_sets.osworld import expert_actions
from rla_task_sets.osworld.families import FAMILIES

from rla_envs.osworld.desktop.doctor import lacking
from rla_envs.osworld.env import OSWorldEnv
from rla_envs.osworld.gate import load_gate

from ..conftest import absent

pytestmark = pytest.mark.desktop

TERMINAL = "press ctrl+alt+t"
CONTROLS = {
    "os/e0df059f-28a6-4169-924f-b9623e7184cc": [
        TERMINAL,
        "type mv ~/Desktop/todo_list_Jan_1 ~/Desktop/todo_list_Jan_2",
        "press Return",
    ],
    "os/bedcedc4-4d72-425e-ad62-21960b11fe0d": [
        TERMINAL,
        "type gsettings set org.gnome.desktop.session idle-delay 0",
        "press Return",
    ],
    "os/f9be0997-4b7c-45c5-b05c-4612b44a6118": [
        TERMINAL,
        "type gsettings set org.gnome.desktop.notifications show-banners false",
        "press Return",
    ],
    "os/3ce045a0-877b-42aa-8d2c-b4a863336ab8": [
        TERMINAL,
        "type gsettings set org.gnome.desktop.interface text-scaling-factor 1.5",
        "press Return",
    ],
    "os/a4d98375-215b-4a4d-aee9-3d4370fccc41": [
        TERMINAL,
        "type gsettings set org.gnome.desktop.screensaver lock-enabled true",
        "press Return",
    ],
    "gimp/d52d6308-ec58-42b7-a2c9-de80e4837b2b": ["press Tab"],
    "chrome/99146c54-4f37-4ab8-9327-5f3291665e1e": [
        "press ctrl+l",
        "type chrome://settings/content/siteData",
        "press Return",
        "wait",
        "wait",
        'click "Delete data sites have saved to your device when you close all windows"',
        "wait",
    ],
}
"""Official task -> what solves it, done by hand."""


@pytest.fixture(scope="module")
def env():
    if missing := lacking(optional=True):
        absent(f"a desktop with {', '.join(need.name for need in missing)} (rla desktop doctor)")
    made = OSWorldEnv(observe="text", goals=True, max_steps=40)
    yield made
    made.close()


def score(env, task, actions):
    env.reset(options={"task": task})
    for action in actions:
        *_, info = env.step(action)
        assert info["feedback_reason"] is None
    return info["score"]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_expert_solves_every_family_and_doing_nothing_does_not(env, family):
    (task,) = rla_task_sets.load("osworld/generated", n=1, seed=11, families=[family])
    assert load_gate(task, env) is None


def test_sub_goals_are_reached_one_by_one(env):
    (task,) = rla_task_sets.load("osworld/generated", n=1, seed=3, families=["text_edit"])
    env.reset(options={"task": task})
    met = [env.step(action)[-1]["extras"]["goals"] for action in expert_actions(task)]
    assert met[0] == []
    assert met[-1] == [goal["name"] for goal in task.payload["goals"]]


@pytest.mark.parametrize("task_id", CONTROLS)
def test_official_tasks_score_zero_untouched_and_one_when_solved(env, shared_data, task_id):
    tasks = rla_task_sets.load("osworld/official", root=shared_data / "osworld")
    task = next(task for task in tasks if task.id == task_id)
    assert score(env, task, ["done"]) == 0.0
    assert score(env, task, [*CONTROLS[task_id], "done"]) == 1.0


def test_official_tasks_that_cannot_be_done_want_to_be_given_up(env, shared_data):
    tasks = rla_task_sets.load("osworld/official", root=shared_data / "osworld", tiers="B")
    for task in tasks:
        assert score(env, task, ["done"]) == 0.0
        assert score(env, task, ["fail"]) == 1.0


def test_nothing_of_one_episode_is_seen_in_the_next(env):
    (task,) = rla_task_sets.load("osworld/generated", n=1, seed=3, families=["text_edit"])
    first, _ = env.reset(options={"task": task})
    for action in expert_actions(task):
        env.step(action)
    again, _ = env.reset(options={"task": task})
    assert again == first
