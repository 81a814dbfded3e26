"""Environments on Ray: the results of one process, whatever dies on the way."""

import os
import signal
import subprocess
import sys
from functools import partial

import pytest
import rla_task_sets

from rla_envs.errors import ConfigError, WorkerCrashed
from rla_envs.prompts.alfworld import CompactPrompts
from rla_envs.rollout import EnvSpec, LocalPool, collect
from rla_envs.types import Completion

pytestmark = pytest.mark.ray

TASKS = rla_task_sets.load("alfworld/generated", n=3, seed=0, split="train", size="small")
SPEC = EnvSpec(id="rla/AlfWorld-v0", kwargs={"view": "compact", "max_steps": 6})
WORDS = ("look", "inventory", "go to cabinet 1", "go to fridge 1", "open fridge 1")


class SeededPolicy:
    """Chooses by the seed alone; runs a deed before its fourth batch."""

    def __init__(self, deed=None):
        self.deed, self.batches = deed, 0

    def sample(self, conversations, *, n=1, sampling=None, seeds=None):
        self.batches += 1
        if self.deed and self.batches == 4:
            self.deed()
        return [[Completion(text=WORDS[seed % len(WORDS)], token_ids=(1,))] for seed in seeds]


def run(pool, deed=None):
    return collect(
        SeededPolicy(deed), TASKS, rollouts=4, pool=pool, prompts=CompactPrompts(), seed=7
    )


@pytest.fixture(scope="module")
def reference():
    return run(LocalPool(SPEC, 12))


@pytest.fixture(scope="module")
def pool(cluster):
    from rla_adapters.ray_workers import RayPool

    pool = RayPool(SPEC, slots=5, workers=2)
    yield pool
    pool.close()


def test_result_is_that_of_one_process_to_the_letter(pool, reference):
    assert run(pool) == reference


def test_actors_are_spread_over_the_nodes(pool):
    assert len(set(pool.nodes())) == 2


def test_killed_actor_costs_no_episode(pool, reference):
    before = pool.process_ids()
    assert run(pool, lambda: os.kill(before[0], signal.SIGKILL)) == reference
    after = pool.process_ids()
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_more_actors_than_cpus_are_refused_and_not_waited_for(cluster):
    from rla_adapters.ray_workers import RayPool

    with pytest.raises(ConfigError, match="4 actors need 4 CPUs, the cluster has 2"):
        RayPool(SPEC, slots=8, workers=4)
    with pytest.raises(ConfigError, match="slots >= workers, got 2 and 3"):
        RayPool(SPEC, slots=2, workers=3)


def test_node_that_dies_costs_no_episode(pool, reference, cluster):
    from rla_adapters.ray_workers import RayPool

    pool.close()
    node = cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
    cluster.wait_for_nodes()
    pool = RayPool(SPEC, slots=6, workers=3)
    assert node.node_id in pool.nodes()
    kill_node = partial(cluster.remove_node, node, allow_graceful=False)
    assert run(pool, kill_node) == reference
    # Three actors on two CPUs: the replacement shares one.
    assert len(set(pool.nodes())) == 2
    pool.close()


def test_pool_without_restarts_says_which_actor_died(cluster):
    from rla_adapters.ray_workers import RayPool

    pool = RayPool(SPEC, slots=2, workers=1, restarts=0)
    os.kill(pool.process_ids()[0], signal.SIGKILL)
    with pytest.raises(WorkerCrashed, match="EnvActor 0 died"):
        run(pool)
    pool.close()


def test_address_without_a_cluster_is_named():
    # In a process of its own, because this one has joined a cluster.
    code = "from rla_adapters.ray_workers import connect; connect('127.0.0.1:1')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "no Ray cluster at '127.0.0.1:1'" in run.stderr
