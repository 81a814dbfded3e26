"""The environment's own rules, on a scripted desktop; tests/osworld/test_real.py has real ones."""

import json
from dataclasses import replace

import numpy as np
import pytest
import rla_task_sets
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from PIL import Image
from rla_task_sets.osworld import expert_actions
from rla_task_sets.osworld.families import FAMILIES
from rla_task_sets.osworld.rewrites import check_rewrite
from rla_verifiers.osworld.steps import REASONS, label_steps, step_reasons

from rla_envs.curriculum import Curriculum, CurriculumConfig
from rla_envs.errors import ConfigError, DesktopError, TaskError, TaskUnavailable
from rla_envs.judging import ModelJudge
from rla_envs.osworld.adaptive import AdaptiveOSWorldEnv
from rla_envs.osworld.env import OSWorldEnv
from rla_envs.osworld.gate import load_gate
from rla_envs.osworld.guest import DesktopGuest
from rla_envs.osworld.rewriting import TRANSFORMS, RuleRewriter
from rla_envs.osworld.short_form import expand
from rla_envs.osworld.view import Element
from rla_envs.prompts.osworld import ChatPrompts, CompactPrompts, compact, split_image
from rla_envs.rollout import LocalPool, collect
from rla_envs.rollout.pool import EnvSpec
from rla_envs.types import Completion, ErrorSummary, Task

from .fake_desktop import FakeDesktop

PATH = "/home/user/a.txt"


def note(expected="hello", *, evaluator=None, task_id="note", **more):
    """Return the task: type a text into the empty note and save it."""
    file = {
        "func": "compare_config",
        "result": {"type": "vm_file", "path": PATH, "dest": "a.txt"},
        "expected": {"type": "rule", "rules": {"expected": expected}},
    }
    return Task(
        id=task_id,
        domain="osworld",
        instruction=f"Write {expected} and save.",
        payload={
            "config": [
                {"type": "write_file", "parameters": {"path": PATH, "text": ""}},
                {"type": "launch", "parameters": {"command": ["edit", PATH]}},
            ],
            "evaluator": evaluator or file,
            "expert": [f"type {expected}", "press ctrl+s"],
            "goals": [{"name": "saved", "evaluator": file}],
            **more,
        },
    )


def make(tasks=None, **options):
    desktop = options.pop("desktop", None) or FakeDesktop()
    return OSWorldEnv(tasks or [note()], desktop=desktop, **options)


def play(env, actions, **reset):
    rows = [env.reset(seed=0, **reset)]
    for action in actions:
        rows.append(env.step(action))
    return rows


def test_the_expert_wins_and_doing_nothing_does_not():
    env = make()
    *_, last = play(env, expert_actions(env.tasks[0]))
    assert last[1:4] == (1.0, True, False)
    assert (last[4]["outcome"], last[4]["score"], last[4]["stop_reason"]) == (1, 1.0, "won")
    *_, last = play(env, ["done"])
    assert last[1:4] == (-1.0, True, False)
    assert (last[4]["outcome"], last[4]["stop_reason"]) == (-1, "failed")


def test_the_load_gate_tells_good_tasks_from_bad_ones():
    env = make()
    assert load_gate(note(), env) is None
    assert load_gate(note(expected=""), env) == "solved at start"
    lazy = note()
    lazy = replace(lazy, payload={**lazy.payload, "expert": ["press ctrl+s"]})
    assert load_gate(lazy, env) == "unsolvable"


def test_the_state_counts_when_the_budget_ends():
    *_, last = play(make(max_steps=2), ["type hello", "press ctrl+s"])
    assert last[1:4] == (1.0, False, True)
    *_, last = play(make(max_steps=1), ["type hello"])
    assert last[1:4] == (-1.0, False, True)
    assert last[4]["stop_reason"] == "budget"


def test_giving_up_is_right_only_for_what_cannot_be_done():
    impossible = note(evaluator={"func": "infeasible"})
    *_, last = play(make([impossible]), ["FAIL"])
    assert last[1:3] == (1.0, True)
    *_, last = play(make([impossible]), ["DONE"])
    assert last[1:3] == (-1.0, True)
    *_, last = play(make(), ["type hello", "press ctrl+s", "FAIL"])
    assert last[1:3] == (-1.0, True)


def test_a_verifier_that_cannot_tell_masks_the_episode():
    broken = note(
        evaluator={
            "func": "exact_match",
            "result": {"type": "vm_command_line", "command": ["ask"]},
            "expected": {"type": "rule", "rules": {"expected": "1"}},
        }
    )
    env = make([broken], desktop=FakeDesktop(outputs={("ask",): DesktopError("no answer")}))
    *_, last = play(env, ["done"])
    assert last[1:3] == (0.0, True)
    assert last[4]["outcome"] is None
    assert last[4]["stop_reason"] == "crashed"
    assert "no answer" in last[4]["verifier_error"]


@pytest.mark.parametrize(
    "action", ["", "sing", "import os", "click 99", 'click "Nowhere"', "type "]
)
def test_what_is_not_understood_costs_a_step_and_does_nothing(action):
    env = make(observe="text")
    (_, row) = play(env, [action])
    assert row[4]["feedback_reason"]
    assert not row[2]
    assert all(isinstance(call, (str, tuple)) for call in env._desktop.calls)


def test_short_forms_stand_for_pyautogui_calls():
    elements = [Element(role="push button", name="Save", text="", box=(10, 20, 30, 10))]
    assert expand("press ctrl+S", elements)[0] == "pyautogui.hotkey('ctrl', 's')"
    assert expand("press Down x3", elements)[0] == "pyautogui.press('down', presses=3)"
    assert expand("press +", elements)[0] == "pyautogui.press('+', presses=1)"
    assert expand("type it's 5 < 6", elements)[0] == 'pyautogui.write("it\'s 5 < 6")'
    assert expand("click 1", elements)[0] == "pyautogui.click(25, 25)"
    assert expand('double_click "save"', elements)[0] == "pyautogui.doubleClick(25, 25)"
    assert expand("scroll down", elements)[0] == "pyautogui.scroll(-5)"
    assert expand("Done", elements)[0] == "DONE"
    assert expand("pyautogui.click(1, 2)", elements) == ("pyautogui.click(1, 2)", None)


def test_text_observations_name_what_is_on_the_screen():
    env = make(observe="text")
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert observation.splitlines() == [
        "Write hello and save.",
        "window: Notes",
        '1 frame "Notes"',
        '2 push button "Save"',
    ]
    *_, row = play(env, ["type hi"])
    assert row[0].splitlines()[-1] == "3 text: hi *"


def test_image_observations_belong_to_their_space():
    for observe in ("image", "image+a11y"):
        env = make(observe=observe, render_mode="rgb_array")
        observation, _ = env.reset(seed=0)
        assert observation in env.observation_space
        assert np.array_equal(env.render(), observation["image"])
        assert ("a11y" in observation) == (observe == "image+a11y")


def test_check_env_passes_without_a_warning(recwarn):
    check_env(make([note(), note("bye")], render_mode="rgb_array"), skip_render_check=True)
    assert [str(warning.message) for warning in recwarn] == []


def test_a_dead_desktop_is_started_again():
    env = make()
    play(env, ["type hello"])
    env._desktop.dead = True
    *_, last = play(env, expert_actions(env.tasks[0]))
    assert last[1] == 1.0
    assert env._desktop.calls.count("close") == 1


def test_a_given_desktop_is_left_open_by_close():
    env = make()
    env.reset(seed=0)
    env.close()
    env.close()
    assert "close" not in env._desktop.calls
    with pytest.raises(ResetNeeded):
        env.step("done")


def test_tasks_that_cannot_be_set_up_are_refused_by_name():
    env = make()
    login = note()
    login = replace(login, payload={**login.payload, "config": [{"type": "login"}]})
    with pytest.raises(TaskUnavailable, match="step login"):
        env.reset(options={"task": login})
    download = {
        "type": "download",
        "parameters": {"files": [{"url": "https://h/x.odt", "path": "/x.odt"}]},
    }
    lacking = replace(login, payload={**login.payload, "config": [download]})
    with pytest.raises(TaskUnavailable, match=r"x\.odt"):
        env.reset(options={"task": lacking})
    with pytest.raises(TaskUnavailable, match="no task has the id"):
        env.reset(options={"task": "nope"})
    with pytest.raises(TaskError, match="domain"):
        env.reset(options={"task": replace(login, domain="coding")})
    with pytest.raises(ConfigError, match="observe"):
        make(observe="smell")


def test_files_come_from_the_asset_cache(tmp_path):
    (tmp_path / "x.odt").write_bytes(b"asset")
    download = {
        "type": "download",
        "parameters": {"files": [{"url": "https://h/x.odt", "path": "~/x.odt"}]},
    }
    task = note()
    task = replace(task, payload={**task.payload, "config": [download]})
    env = make([task], cache=tmp_path)
    env.reset(seed=0)
    assert env._desktop.files["/home/user/x.odt"] == b"asset"


def test_official_pyautogui_setup_is_parsed_and_never_executed():
    code = (
        "import pyautogui; import time; pyautogui.click({SCREEN_WIDTH_HALF}, 9); time.sleep(0.5);"
    )
    task = note()
    step = {"type": "execute", "parameters": {"command": ["python", "-c", code]}}
    env = make([replace(task, payload={**task.payload, "config": [step]})])
    env.reset(seed=0)
    acted = [call for call in env._desktop.calls if not isinstance(call, (str, tuple))]
    assert [(action.kind, action.x) for action in acted] == [("click", 32), ("wait", None)]


def test_collected_episodes_keep_sub_goals_and_screenshots(tmp_path):
    class Policy:
        """Says what the expert does, and keeps the conversations."""

        def __init__(self):
            self.chats = []

        def sample(self, conversations, *, n=1, sampling=None, seeds=None):
            self.chats += conversations
            script = [*note().payload["expert"], "done"]
            return [[Completion(text=f"```\n{script[len(self.chats) - 1]}\n```")]]

    policy = Policy()
    desktop = FakeDesktop()
    pool = LocalPool(
        EnvSpec(
            id="rla/OSWorld-v0",
            kwargs={
                "tasks": [note()],
                "desktop": desktop,
                "observe": "text",
                "goals": True,
                "screenshots": str(tmp_path),
            },
        ),
        1,
    )
    prompts = ChatPrompts(images=2)
    (group,) = collect(policy, [note()], rollouts=1, pool=pool, prompts=prompts, seed=0)
    (trajectory,) = group.trajectories
    assert trajectory.outcome == 1
    assert [step.info["goals"] for step in trajectory.steps] == [[], ["saved"], ["saved"]]
    assert label_steps(trajectory) == [True, True, True]
    # The image path to the last pixel: what the policy is shown is what was on the screen.
    last = policy.chats[2][-1]["images"]
    assert len(last) == 2
    shown = [np.asarray(Image.open(path)) for path in last]
    assert [int(image[0, 0, 0]) for image in shown] == [5, 5]
    assert shown[0].shape == (48, 64, 3)
    # The judge sees the screen before the step and the one after it.
    (chat,) = prompts.judge(trajectory, 0)
    before, after = (np.asarray(Image.open(path)) for path in chat["images"])
    assert (int(before.max()), int(after.min())) == (0, 5)
    assert "outcome" not in chat["content"]


def test_a_masked_episode_stays_masked_in_its_trajectory():
    broken = note(evaluator={**note().payload["evaluator"], "func": "check_qt_bgcone"})
    broken.payload["evaluator"]["result"] = {"type": "vlc_config", "dest": "vlcrc"}
    kwargs = {"tasks": [broken, note()], "desktop": FakeDesktop(), "observe": "text"}

    class Quitter:
        def sample(self, conversations, *, n=1, sampling=None, seeds=None):
            return [[Completion(text="done")] for _ in conversations]

    pool = LocalPool(EnvSpec(id="rla/OSWorld-v0", kwargs=kwargs), 1)
    groups = collect(
        Quitter(), [broken, note()], rollouts=1, pool=pool, prompts=CompactPrompts(), seed=0
    )
    ends = [(t.outcome, t.stop_reason) for group in groups for t in group.trajectories]
    assert ends == [(None, "crashed"), (-1, "failed")]


def test_compact_prompts_show_contents_and_not_buttons():
    text = 'Do it.\nwindow: Notes\n1 push button "Save"\n2 text: a b\nc *\n3 label "x": hello'
    assert compact(text) == "Do it. | a b / c | hello"
    assert split_image(f"{text}\n[screenshot /tmp/a b.png]") == (text, "/tmp/a b.png")
    prompts = CompactPrompts()
    assert prompts.action(Completion(text=" press ctrl + s ")) == "press ctrl+s"
    assert prompts.action(Completion(text="type a + b")) == "type a + b"


def test_chat_prompts_read_the_last_block():
    prompts = ChatPrompts()
    assert prompts.action(Completion(text="So:\n```python\npyautogui.press('a')\n```")) == (
        "pyautogui.press('a')"
    )
    assert prompts.action(Completion(text="I am\n`DONE`")) == "DONE"


def test_the_step_oracle_follows_goals_and_the_expert():
    task = note()
    actions = ["type hello", "press a", "press ctrl+s", "type more", "done"]
    goals = [[], [], ["saved"], [], []]
    reasons = step_reasons(task, actions, goals, [True] * 5)
    assert reasons == ["right way", "wrong way", "goal reached", "goal lost", "done too early"]
    assert step_reasons(task, ["dance", "done"], [[], ["saved"]], [False, True]) == [
        "not understood",
        "done in time",
    ]
    assert set(REASONS.values()) == {1, -1}


def summary(task, **reasons):
    return ErrorSummary(task_id=task.id, accuracy=0.5, reasons=reasons, episodes=4)


@pytest.mark.parametrize("direction", ["harder", "easier"])
def test_every_rewrite_of_every_family_passes_the_static_checks(direction):
    for root in rla_task_sets.load("osworld/generated", n=2 * len(FAMILIES)):
        task, names = root, set()
        for seed in range(6):
            rewrite = RuleRewriter().propose(
                task, root=root, direction=direction, summary=summary(task), seed=seed
            )
            if rewrite is None:
                break
            assert check_rewrite(root, task, rewrite.task, set()) is None, rewrite.transform
            assert (rewrite.task.parent_id, rewrite.task.root_id) == (task.id, root.id)
            task = rewrite.task
            names.add(rewrite.transform)
        assert names or direction == "easier"


def test_rewrites_that_lie_are_refused():
    root = rla_task_sets.load("osworld/generated", n=1, families=["text_edit"])[0]
    rewrite = RuleRewriter().propose(
        root, root=root, direction="harder", summary=summary(root), seed=0
    )
    new = rewrite.task
    assert check_rewrite(root, root, new, set()) is None
    assert check_rewrite(root, root, replace(new, instruction="Do it."), set()) == (
        "stale instruction"
    )
    moved = {**new.payload, "evaluator": {"func": "infeasible"}}
    assert check_rewrite(root, root, replace(new, payload=moved), set()) == "stale instruction"
    assert check_rewrite(root, root, root, set()) == "duplicate"
    other = rla_task_sets.load("osworld/generated", n=1, families=["terminal"])[0]
    assert check_rewrite(root, root, other, set()) == "intention lost"
    assert check_rewrite(root, root, replace(new, payload={"family": "x"}), set()) == "malformed"


def test_targeted_rewrites_answer_the_judges_reasons():
    root = rla_task_sets.load("osworld/generated", n=1, families=["document"])[0]
    for seed in range(5):
        rewrite = RuleRewriter().propose(
            root,
            root=root,
            direction="easier",
            summary=summary(root, **{"wrong way": 9}),
            seed=seed,
        )
        assert rewrite.transform == "hint"
        assert rewrite.reason == "wrong way"
    assert {one.direction for one in TRANSFORMS} == {"harder", "easier"}


def test_official_tasks_switch_between_verified_evaluators():
    first, second = note("hello").payload["evaluator"], note("bye").payload["evaluator"]
    variants = [
        {"instruction": "Write hello and save.", "evaluator": first, "hints": ["Press ctrl+s."]},
        {"instruction": "Write bye and save.", "evaluator": second},
    ]
    root = note(variants=variants)
    seen = {}
    for seed in range(20):
        rewrite = RuleRewriter().propose(
            root, root=root, direction="easier", summary=summary(root), seed=seed
        )
        assert check_rewrite(root, root, rewrite.task, set()) is None
        seen[rewrite.transform] = rewrite.task
    assert set(seen) == {"add_hint", "switch_evaluator"}
    assert seen["switch_evaluator"].instruction == "Write bye and save."
    assert seen["switch_evaluator"].payload["evaluator"] == second
    lie = replace(seen["switch_evaluator"], instruction="Write hello and save.")
    assert check_rewrite(root, root, lie, set()) == "stale instruction"


def test_the_adaptive_environment_draws_reports_and_adapts():
    root = note()
    curriculum = Curriculum([root], config=CurriculumConfig(rewrite="none"), rewriter=None)
    env = AdaptiveOSWorldEnv(
        [root], curriculum=curriculum, desktop=FakeDesktop(), observe="text", adapt_every=1
    )
    *_, last = play(env, expert_actions(root))
    assert last[4]["lineage"] == ["note"]
    row = curriculum.store.row("SELECT recent_wins, recent_n FROM tasks WHERE id = 'note'")
    assert tuple(row) == (1, 1)


def test_judges_vote_on_desktop_steps():
    class Judge:
        def sample(self, conversations, *, n=1, sampling=None, seeds=None):
            return [[Completion(text=r"fine \boxed{+1}")] * n for _ in conversations]

    env = AdaptiveOSWorldEnv(
        [note()],
        curriculum=Curriculum([note()], config=CurriculumConfig(rewrite="none"), rewriter=None),
        judge=ModelJudge(Judge(), CompactPrompts(), votes=3),
        desktop=FakeDesktop(),
        observe="text",
    )
    *_, row = play(env, ["type hello"])
    assert row[1] == 1.0
    assert [vote.label for vote in row[4]["votes"]] == [1, 1, 1]


def test_the_accessibility_xml_nests_as_the_tree_does():
    from xml.etree import ElementTree

    from rla_task_sets.osworld import Assets

    root = ElementTree.fromstring(DesktopGuest(FakeDesktop(), Assets()).a11y_xml())
    assert root.find("frame/push-button").get("name") == "Save"
    assert json.dumps(root.tag) == '"desktop-frame"'
