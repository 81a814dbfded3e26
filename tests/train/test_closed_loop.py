"""The closed loop on real games: it runs, and resumes after a kill to the same numbers."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

import pytest

from rla_envs.config import LoopConfig, RolloutConfig, TrainConfig, WarmStartConfig
from rla_envs.errors import ConfigError, RunError
from rla_envs.tracking import RunFolder

TINY = TrainConfig(
    train_tasks=4,
    panel_tasks=4,
    warm_start=WarmStartConfig(policy_tasks=20, judge_tasks=20, policy_epochs=1, judge_epochs=1),
    loop=LoopConfig(
        iterations=3,
        evaluate_every=2,
        votes=2,
        rollout=RolloutConfig(tasks=2, rollouts=4, slots=8, max_steps=6),
    ),
)

SCRIPT = """
import json, sys
from pathlib import Path
from rla_adapters.run import train
from rla_envs.config import TrainConfig, from_dict
config = from_dict(TrainConfig, json.loads(sys.argv[2]))
train(config, Path(sys.argv[1]), resume=Path(sys.argv[1]).exists())
"""


def start(run, config):
    command = [sys.executable, "-c", SCRIPT, str(run), json.dumps(asdict(config))]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})


def comparable(run):
    """Return the metrics without those of the clock."""
    return [
        {k: v for k, v in row.items() if not k.startswith("seconds/") and k[:6] != "share_"}
        for row in RunFolder.open(run).metrics()
    ]


@pytest.mark.slow
def test_run_killed_with_sigkill_resumes_to_the_same_numbers(tmp_path):
    assert start(tmp_path / "whole", TINY).wait() == 0
    process = start(tmp_path / "killed", TINY)
    metrics = tmp_path / "killed" / "metrics.jsonl"
    while not (metrics.exists() and metrics.read_text().count("\n") >= 2):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert start(tmp_path / "killed", TINY).wait() == 0
    whole = comparable(tmp_path / "whole")
    assert [row["iteration"] for row in whole] == [0, 1, 2, 3]
    assert comparable(tmp_path / "killed") == whole
    assert (tmp_path / "killed" / "report.html").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["policy", "reward", "random-rewrite"])
def test_every_arm_runs_on_official_games(arm, tmp_path, official_root):
    from rla_adapters.run import evaluate_run, train

    config = replace(
        TINY,
        arm=arm,
        tasks="official",
        root=str(official_root),
        # What the archive for tests holds.
        train_split="valid_train",
        out_of_domain_split="valid_train",
        loop=replace(TINY.loop, iterations=1),
    )
    train(config, tmp_path / "run")
    rows = RunFolder.open(tmp_path / "run").metrics()
    assert [row["iteration"] for row in rows] == [0, 1]
    assert rows[-1]["episodes"] == 8
    assert ("judge/process_accuracy" in rows[-1]) == (arm != "policy")
    assert evaluate_run(tmp_path / "run", split="valid_seen", episodes=2)["episodes"] == 2


def test_other_settings_are_not_mixed_into_a_run(tmp_path):
    from rla_adapters.run import train

    RunFolder.create(tmp_path / "run", asdict(TINY)).close()
    with pytest.raises(RunError, match="train_tasks: 4 in the run, 5 now"):
        train(replace(TINY, train_tasks=5), tmp_path / "run", resume=True)


def test_too_few_games_are_named(tmp_path, official_root):
    from rla_adapters.run import train

    config = replace(
        TINY, tasks="official", root=str(official_root), train_split="valid_train", train_tasks=60
    )
    with pytest.raises(ConfigError, match="valid_train has 60 tasks: too few for train_tasks=60"):
        train(config, tmp_path / "run")
