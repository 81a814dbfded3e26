"""`rla train` with TRL as its trainer: it runs, and a resumed run gives the same numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rla_adapters.run import train

from rla_envs.config import (
    LoopConfig,
    RolloutConfig,
    TrainConfig,
    TrainerConfig,
    WarmStartConfig,
)
from rla_envs.tracking import RunFolder

pytestmark = [pytest.mark.trl, pytest.mark.slow]

TINY = TrainConfig(
    arm="reward",
    train_tasks=4,
    panel_tasks=4,
    warm_start=WarmStartConfig(policy_tasks=20, judge_tasks=20, policy_epochs=1, judge_epochs=1),
    trainer=TrainerConfig(backend="trl"),
    loop=LoopConfig(
        iterations=2,
        evaluate_every=1,
        votes=2,
        rollout=RolloutConfig(tasks=2, rollouts=4, slots=8, max_steps=6),
    ),
)


def comparable(run):
    """Return the metrics without those of the clock."""
    return [
        {k: v for k, v in row.items() if not k.startswith("seconds/") and k[:6] != "share_"}
        for row in RunFolder.open(run).metrics()
    ]


def test_a_resumed_run_gives_the_numbers_of_one_left_alone(tmp_path):
    models = tmp_path / "models"
    train(TINY, tmp_path / "whole", models=models)
    first = replace(TINY, loop=replace(TINY.loop, iterations=1))
    train(first, tmp_path / "resumed", models=models)
    train(TINY, tmp_path / "resumed", resume=True, models=models)
    whole = comparable(tmp_path / "whole")
    assert comparable(tmp_path / "resumed") == whole
    assert whole[-1]["policy/trained"] + whole[-2]["policy/trained"] > 0
    assert whole[-1]["policy/logprob_mismatch"] < 1e-4
