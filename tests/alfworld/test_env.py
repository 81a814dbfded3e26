"""The ALFWorld environment, on a kitchen that can be followed by eye and on official games."""

import os
import pickle
from dataclasses import replace

import gymnasium
import pytest
import rla_task_sets
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import rla_envs  # noqa: F401
from rla_envs.alfworld.engine import Goal, World, game_of, load_game, scene_to_payload
from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.errors import ConfigError, MissingExtra, TaskError, TaskUnavailable, WorkerCrashed
from rla_envs.types import Task


def run(env, actions, **kwargs):
    """Return what every call returned, the task left out."""
    rows = [env.reset(**kwargs)]
    for action in actions:
        rows.append(env.step(action))
        if rows[-1][2] or rows[-1][3]:
            break
    return rows


def test_the_solution_wins_with_reward_one_at_the_end_only(kitchen_task, solution):
    rows = run(AlfWorldEnv([kitchen_task]), solution, seed=0)
    assert [row[1] for row in rows[1:]] == [0, 0, 0, 0, 0, 0, 1]
    assert [row[2] for row in rows[1:]] == [False] * 6 + [True]
    assert not any(row[3] for row in rows[1:])
    *earlier, last = [row[-1] for row in rows]
    assert last["won"] is True
    assert (last["outcome"], last["stop_reason"]) == (1, "won")
    assert not any("outcome" in info or info["won"] for info in earlier)


def test_running_out_of_steps_truncates_with_reward_minus_one(kitchen_task):
    rows = run(AlfWorldEnv([kitchen_task], max_steps=3), ["look"] * 9, seed=0)
    assert [row[1:4] for row in rows[1:]] == [
        (0.0, False, False),
        (0.0, False, False),
        (-1.0, False, True),
    ]
    assert (rows[-1][-1]["outcome"], rows[-1][-1]["stop_reason"]) == (-1, "budget")


def test_winning_on_the_last_step_of_the_budget_is_won(kitchen_task, solution):
    rows = run(AlfWorldEnv([kitchen_task], max_steps=7), solution, seed=0)
    assert rows[-1][1:4] == (1.0, True, False)


def test_observation_is_the_engines_text(kitchen_task, solution):
    world = World(game_of(kitchen_task))
    rows = run(AlfWorldEnv([kitchen_task]), solution, seed=0)
    assert rows[0][0] == world.feedback
    assert [row[0] for row in rows[1:]] == [world.step(command) for command in solution]


def test_admissible_commands_are_those_of_the_state_and_a_fresh_list(kitchen_task):
    env = AlfWorldEnv([kitchen_task])
    _, info = env.reset(seed=0)
    world = World(game_of(kitchen_task))
    assert info["admissible_commands"] == world.admissible()
    info["admissible_commands"].clear()
    *_, info = env.step("look")
    assert info["admissible_commands"] == world.admissible()


def test_an_action_may_be_its_number_counted_from_zero(kitchen_task):
    env = AlfWorldEnv([kitchen_task])
    for form in ("{}", "[{}]", " [ {} ] "):
        _, info = env.reset(seed=0)
        number = info["admissible_commands"].index("go to cabinet 1")
        observation, *_, info = env.step(form.format(number))
        assert observation == "You arrive at cabinet 1. The cabinet 1 is closed."
        assert info["feedback_reason"] is None
    _, info = env.reset(seed=0)
    assert info["admissible_commands"][0] == "go to cabinet 1"
    assert env.step("0")[0].startswith("You arrive at cabinet 1.")


def test_the_other_generations_put_is_an_alias(kitchen_task, solution):
    env = AlfWorldEnv([kitchen_task])
    *_, last = run(env, [*solution[:-1], "put mug 1 in/on cabinet 1"], seed=0)
    assert last[2]


@pytest.mark.parametrize(
    ("before", "action", "reason"),
    [
        ((), "dance", "is no command"),
        ((), "", "the action is empty"),
        ((), "99", "there is no command 99; they are numbered 0 to"),
        ((), "open cabinet 1", "you are not at cabinet 1"),
        (("go to cabinet 1",), "go to cabinet 1", "you are already at cabinet 1"),
        (("go to cabinet 1",), "take mug 1 from cabinet 1", "cabinet 1 is closed"),
        (("go to sinkbasin 1",), "go to shelf 1", "you are already at shelf 1"),
    ],
)
def test_an_inadmissible_action_costs_a_step_and_says_why(kitchen_task, before, action, reason):
    env = AlfWorldEnv([kitchen_task], max_steps=len(before) + 1)
    *_, (observation, reward, terminated, truncated, info) = run(env, [*before, action], seed=0)
    assert observation == info["feedback"] == "Nothing happens."
    assert reason in info["feedback_reason"]
    assert (reward, terminated, truncated) == (-1.0, False, True)


def test_reasons_do_not_tell_where_unseen_things_are(kitchen_task):
    env = AlfWorldEnv([kitchen_task])
    env.reset(seed=0)
    elsewhere = env.step("take mug 1 from countertop 1")[-1]["feedback_reason"]
    nowhere = env.step("take mug 9 from countertop 1")[-1]["feedback_reason"]
    assert elsewhere.replace("mug 1", "mug 9") == nowhere


def test_the_task_drawn_is_a_function_of_the_seed(kitchen_tasks):
    env, other = AlfWorldEnv(kitchen_tasks), AlfWorldEnv(kitchen_tasks)
    drawn = [env.reset(seed=seed)[1]["task"].id for seed in range(60)]
    assert [other.reset(seed=seed)[1]["task"].id for seed in reversed(range(60))] == drawn[::-1]
    assert len(set(drawn)) == 5
    env.reset(seed=3)
    other.reset(seed=3)
    assert [env.reset()[0] for _ in range(9)] == [other.reset()[0] for _ in range(9)]


def test_the_seed_given_to_make_seeds_the_first_reset_once(kitchen_tasks):
    env, other = AlfWorldEnv(kitchen_tasks, seed=7), AlfWorldEnv(kitchen_tasks)
    first = [env.reset()[1]["task"].id for _ in range(8)]
    assert first == [other.reset(seed=7)[1]["task"].id] + [
        other.reset()[1]["task"].id for _ in range(7)
    ]


def test_a_task_can_be_chosen_by_id_or_given(kitchen_tasks, kitchen_task):
    env = AlfWorldEnv(kitchen_tasks)
    assert env.reset(seed=0, options={"task": "k3"})[1]["task"] is kitchen_tasks[3]
    assert env.reset(seed=0, options={"task": kitchen_task})[1]["task"] is kitchen_task
    with pytest.raises(TaskUnavailable, match="no task has the id 'k9'"):
        env.reset(options={"task": "k9"})


def test_lineage_runs_from_the_root_to_the_task(kitchen_task):
    rewrite = replace(kitchen_task, id="c", parent_id="b", root_id="a")
    env = AlfWorldEnv([kitchen_task])
    assert env.reset(options={"task": rewrite})[1]["lineage"] == ["a", "b", "c"]
    assert env.reset(options={"task": kitchen_task})[1]["lineage"] == ["kitchen"]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"max_steps": 0}, "max_steps must be at least 1, got 0"),
        ({"engine": "unity"}, "engine must be"),
        ({"view": "braille"}, "view must be"),
        ({"render_mode": "human"}, "render_mode must be"),
        ({"tasks": []}, "tasks is empty"),
    ],
)
def test_wrong_arguments_are_named(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        AlfWorldEnv(**kwargs)


def test_unknown_reset_options_are_refused(kitchen_task):
    with pytest.raises(ConfigError, match=r"\['taks'\]"):
        AlfWorldEnv([kitchen_task]).reset(options={"taks": "k1"})


def test_an_unplayable_task_is_an_error_and_no_lost_episode(kitchen_task, kitchen):
    env = AlfWorldEnv([kitchen_task])
    coding = Task(id="c", domain="coding", instruction="", payload={})
    with pytest.raises(TaskError, match="this env plays alfworld"):
        env.reset(options={"task": coding})
    with pytest.raises(TaskError):
        env.reset(options={"task": replace(kitchen_task, payload={})})


def test_a_task_that_is_solved_at_the_start_is_refused(kitchen, kitchen_task):
    goal = Goal(
        task_type="pick_and_place_simple", object_type="Plate", receptacle_type="CounterTop"
    )
    solved = scene_to_payload(replace(kitchen, goal=goal))
    task = replace(kitchen_task, payload={"scene": solved})
    with pytest.raises(TaskError, match="solved before the first step"):
        AlfWorldEnv([task]).reset(seed=0)


def test_stepping_outside_an_episode_asks_for_reset(kitchen_task):
    env = AlfWorldEnv([kitchen_task], max_steps=1)
    with pytest.raises(ResetNeeded):
        env.step("look")
    env.reset(seed=0)
    env.step("look")
    with pytest.raises(ResetNeeded):
        env.step("look")


def test_an_action_that_is_no_text_is_the_callers_fault(kitchen_task):
    env = AlfWorldEnv([kitchen_task])
    env.reset(seed=0)
    with pytest.raises(TypeError, match="numbers go in as text"):
        env.step(3)


def test_the_transcript_can_be_read(kitchen_task, solution):
    env = AlfWorldEnv([kitchen_task], render_mode="ansi")
    run(env, ["0", "dance"], seed=0)
    text = env.render()
    assert "Your task is to: put a clean mug in cabinet." in text
    assert "[1] > 0  (go to cabinet 1)\nYou arrive at cabinet 1." in text
    assert "[2] > dance\nNothing happens.\n    ('dance' is no command" in text
    run(env, solution, seed=0)
    assert env.render().endswith("Won after 7 steps.")
    assert "dance" not in env.render()


@pytest.mark.parametrize("view", ["full", "compact"])
def test_check_env_passes_without_a_warning(kitchen_tasks, view, recwarn):
    env = gymnasium.make("rla/AlfWorld-v0", tasks=kitchen_tasks, view=view, render_mode="ansi")
    check_env(env.unwrapped)
    assert [str(warning.message) for warning in recwarn] == []


def test_spec_and_tasks_can_be_pickled(kitchen_tasks):
    env = gymnasium.make("rla/AlfWorld-v0", tasks=kitchen_tasks, view="compact")
    twin = gymnasium.make(pickle.loads(pickle.dumps(env.spec)))
    assert twin.reset(seed=4)[0] == env.reset(seed=4)[0]


def test_a_reset_forgets_the_last_episode(kitchen_tasks):
    env = AlfWorldEnv(kitchen_tasks, max_steps=2, render_mode="ansi", view="compact")
    for seed in (1, 2, 1):
        run(env, ["go to cabinet 1", "open cabinet 1"], seed=seed)
    fresh = AlfWorldEnv(kitchen_tasks, max_steps=2, render_mode="ansi", view="compact")
    assert env.reset(seed=2) == fresh.reset(seed=2)
    assert env.render() == fresh.render()


def real_env(task):
    env = AlfWorldEnv([task], engine="textworld")
    try:
        env.reset(seed=0)
    except MissingExtra as missing:
        if os.environ.get("RLA_REAL_ENGINE") == "1":
            raise
        pytest.skip(str(missing))
    return env


@pytest.mark.textworld
def test_the_real_engine_gives_the_same_episode(kitchen_task, solution):
    env = real_env(kitchen_task)
    actions = ["dance", "0", "help", *solution]
    try:
        assert run(env, actions, seed=0) == run(AlfWorldEnv([kitchen_task]), actions, seed=0)
    finally:
        env.close()


@pytest.mark.textworld
def test_a_dead_real_engine_is_an_error_and_the_next_reset_starts_another(kitchen_task):
    env = real_env(kitchen_task)
    env.close()
    env.reset(seed=0)
    env._real._process.kill()
    with pytest.raises(WorkerCrashed):
        env.step("look")
    with pytest.raises(ResetNeeded):
        env.step("look")
    observation, _ = env.reset(seed=0)
    assert "Your task is to" in observation
    env.close()


@pytest.mark.official
def test_official_walkthroughs_win(official_root):
    for path in sorted(official_root.glob("valid_seen/*/*/game.tw-pddl"))[::7]:
        game = load_game(path)
        task = Task(
            id=str(path.parent.relative_to(official_root)),
            domain="alfworld",
            instruction=game.scene.instruction,
            payload={"game_file": str(path), "task_type": game.scene.goal.task_type},
        )
        *_, last = run(AlfWorldEnv([task]), game.walkthrough, seed=0)
        assert last[1:4] == (1.0, True, False)


@pytest.mark.official
def test_official_games_are_played_by_the_name_of_their_set_and_chosen_by_id(official_root):
    env = gymnasium.make(
        "rla/AlfWorld-v0", tasks="alfworld/official", split="valid_seen", root=official_root
    )
    path = sorted(official_root.glob("valid_seen/*/*/game.tw-pddl"))[42]
    chosen = str(path.parent.relative_to(official_root))
    observation, info = env.reset(options={"task": chosen})
    assert info["task"].id == chosen
    assert observation == World(load_game(path)).feedback
    drawn = {env.reset(seed=seed)[1]["task"].id for seed in range(5)}
    assert len(drawn) == 5
    twin = gymnasium.make(pickle.loads(pickle.dumps(env.spec)))
    assert twin.reset(seed=1)[0] == env.reset(seed=1)[0]


def test_a_named_set_takes_the_seed_and_the_split():
    env = AlfWorldEnv("alfworld/generated", split="valid_unseen", seed=5)
    expected = rla_task_sets.load("alfworld/generated", split="valid_unseen", seed=5)
    assert [task.id for task in env.tasks] == [task.id for task in expected]
