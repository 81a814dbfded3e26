"""Collecting groups: right records, independent of workers and timing, alive after crashes."""

import os
import signal
from collections import Counter

import pytest
import rla_task_sets

from rla_envs.errors import WorkerCrashed
from rla_envs.prompts.alfworld import CompactPrompts
from rla_envs.rollout import EnvSpec, LocalPool, ProcessPool, Stopwatch, collect, make_pool
from rla_envs.types import Completion, Group, Task

TASKS = rla_task_sets.load("alfworld/generated", n=3, seed=0, split="train", size="small")
SPEC = EnvSpec(id="rla/AlfWorld-v0", kwargs={"view": "compact", "max_steps": 6})


class SeededPolicy:
    """Chooses among a few words by the seed alone, as a seeded model does; counts its batches."""

    def __init__(self):
        self.batches = []

    def sample(self, conversations, *, n=1, sampling=None, seeds=None):
        self.batches.append(len(conversations))
        words = ("look", "inventory", "go to cabinet 1", "go to fridge 1", "open fridge 1")
        return [[Completion(text=words[seed % len(words)], token_ids=(1,))] for seed in seeds]


def run(pool, policy=None, rollouts=4, **options):
    try:
        return collect(
            policy or SeededPolicy(),
            TASKS,
            rollouts=rollouts,
            pool=pool,
            prompts=CompactPrompts(),
            seed=7,
            **options,
        )
    finally:
        pool.close()


def test_groups_come_in_order_with_every_step_recorded():
    groups = run(LocalPool(SPEC, 5), policy_version=3)
    assert [group.task for group in groups] == list(TASKS)
    for trajectory in (t for group in groups for t in group.trajectories):
        assert trajectory.policy_version == 3
        assert (trajectory.outcome, trajectory.stop_reason) in {(1, "won"), (-1, "budget")}
        assert len(trajectory.steps) == 6 or trajectory.outcome == 1
        for before, after in zip(trajectory.steps, trajectory.steps[1:], strict=False):
            assert before.next_observation == after.observation
        assert trajectory.steps[0].info["admissible_commands"]


def test_result_does_not_depend_on_slots_workers_or_timing():
    reference = run(LocalPool(SPEC, 12))
    assert run(LocalPool(SPEC, 1)) == reference
    assert run(ProcessPool(SPEC, slots=5, workers=2)) == reference


def test_finished_slots_take_the_next_episode_so_that_batches_stay_full():
    policy = SeededPolicy()
    run(LocalPool(SPEC, 4), policy)
    # Twelve episodes of at most six steps in four slots: never more than four in a batch, and full
    # ones are the most frequent.
    counts = Counter(policy.batches)
    assert max(counts) == 4
    assert counts.most_common(1)[0][0] == 4


def test_killed_worker_costs_no_episode():
    reference = run(LocalPool(SPEC, 12))
    pool = ProcessPool(SPEC, slots=6, workers=2)
    policy = SeededPolicy()
    sample, first = policy.sample, pool.process_ids[0]

    def killing_sample(conversations, **options):
        if len(policy.batches) == 3:
            os.kill(first, signal.SIGKILL)
        return sample(conversations, **options)

    policy.sample = killing_sample
    assert run(pool, policy) == reference
    assert pool.process_ids[0] != first


def test_pool_without_restarts_says_which_worker_died():
    pool = ProcessPool(SPEC, slots=2, workers=1, restarts=0)
    os.kill(pool.process_ids[0], signal.SIGKILL)
    with pytest.raises(WorkerCrashed, match=r"worker 0 died \(exit code -9\)"):
        run(pool)


def test_episode_whose_world_always_fails_is_masked_and_others_go_on():
    bad = Task(
        id="broken", domain="alfworld", instruction="", payload={"game_file": "/does/not/exist"}
    )
    pool = LocalPool(SPEC, 4)
    groups = collect(
        SeededPolicy(), [bad, TASKS[0]], rollouts=2, pool=pool, prompts=CompactPrompts(), seed=0
    )
    broken, whole = groups
    assert [(t.outcome, t.stop_reason, t.steps) for t in broken.trajectories] == [
        (None, "crashed", ())
    ] * 2
    assert all(t.outcome is not None for t in whole.trajectories)


def test_when_no_episode_can_run_the_error_says_why():
    bad = Task(id="b", domain="alfworld", instruction="", payload={"game_file": "/does/not/exist"})
    with pytest.raises(WorkerCrashed, match=r"(?s)all 2 episodes failed 3 times.*does/not/exist"):
        collect(
            SeededPolicy(),
            [bad],
            rollouts=2,
            pool=LocalPool(SPEC, 2),
            prompts=CompactPrompts(),
            seed=0,
        )


def test_overflowing_prompt_loses_the_episode_and_says_so():
    class Overflowing(SeededPolicy):
        def sample(self, conversations, **options):
            return [[Completion(text="", stop="overflow")] for _ in conversations]

    groups: list[Group] = run(LocalPool(SPEC, 2), Overflowing(), rollouts=1)
    assert {(t.outcome, t.stop_reason) for g in groups for t in g.trajectories} == {
        (-1, "overflow")
    }


def test_stopwatch_splits_model_and_environment_time():
    ticks = iter(range(1000))
    watch = Stopwatch(clock=lambda: next(ticks))
    run(make_pool(SPEC, slots=3, workers=0), rollouts=1, stopwatch=watch)
    # Every measured block lasts one tick, and a round has one model block and two of the world.
    assert watch.seconds["model"] >= 6
    assert watch.seconds["env"] == 2 * watch.seconds["model"] + 1
