"""`rla train --ray`: the numbers of a local run."""

from dataclasses import replace

import pytest

from rla_envs.config import LoopConfig, RayConfig, RolloutConfig, TrainConfig, WarmStartConfig
from rla_envs.tracking import RunFolder

pytestmark = [pytest.mark.ray, pytest.mark.slow]

TINY = TrainConfig(
    arm="reward",
    train_tasks=4,
    panel_tasks=4,
    warm_start=WarmStartConfig(policy_tasks=20, judge_tasks=20, policy_epochs=1, judge_epochs=1),
    loop=LoopConfig(
        iterations=2,
        votes=2,
        # Worker processes get the batches that actors get; other batches round differently.
        rollout=RolloutConfig(tasks=2, rollouts=4, slots=8, workers=1, max_steps=6),
    ),
)


def metrics(run):
    return [
        {k: v for k, v in row.items() if not k.startswith("seconds/") and k[:6] != "share_"}
        for row in RunFolder.open(run).metrics()
    ]


def test_run_with_environments_and_judge_on_ray_has_the_numbers_of_a_local_run(cluster, tmp_path):
    from rla_adapters.run import train

    train(TINY, tmp_path / "here", models=tmp_path / "models")
    # One judge actor has the batches of a judge in this process.
    on_ray = replace(TINY, ray=RayConfig(address="auto", workers=1, judges=1))
    train(on_ray, tmp_path / "ray", models=tmp_path / "models")
    assert metrics(tmp_path / "ray") == metrics(tmp_path / "here")
    # Where a run goes on is free to change.
    more = replace(on_ray, loop=replace(TINY.loop, iterations=3), ray=RayConfig())
    train(more, tmp_path / "ray", resume=True, models=tmp_path / "models")
    assert len(metrics(tmp_path / "ray")) == 4
