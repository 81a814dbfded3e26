"""Two processes under accelerate (gloo, CPU) end at the losses and weights of one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

pytestmark = [pytest.mark.trl, pytest.mark.slow]

SCRIPT = """
import json, sys
from pathlib import Path
import torch
from rla_adapters import load_model
from rla_adapters.grpo.backend import TrlTrainer, follow, leads
from rla_adapters.native.trainer import PpoConfig
from rla_envs.types import TrainingSample

def sample(length, reply, advantage):
    return TrainingSample(prompt_ids=(1, 5, *range(20, 20 + length), 6),
        token_ids=tuple(range(60, 60 + reply)), logprobs=(), advantage=advantage, source="policy")

def train(out):
    # 11 rows in parts of 4, 4 and 3: rows fill up, passes are uneven, the last update has one row.
    rows = [sample(3 + i, 1 + i % 4, (-1) ** i * (1 + i / 10)) for i in range(11)]
    chat = load_model("tiny:nano", seed=3, context=128)
    trainer = TrlTrainer(chat, PpoConfig(epochs=2, minibatch=4, tokens=40), seed=5)
    if not leads():
        return follow(trainer)
    losses = [trainer.update(rows)["loss"] for _ in range(2)]
    trainer.save(out)
    trainer.load(out)
    losses.append(trainer.update(rows[:1])["loss"])
    trainer.close()
    trainer.save(out)
    (out / "losses.json").write_text(json.dumps(losses))

if __name__ == "__main__":
    torch.set_num_threads(1)
    train(Path(sys.argv[1]))
    assert torch.distributed.get_world_size() == 2
"""


def in_two_processes(script, out):
    """Start what ``accelerate launch --cpu --num_processes 2`` starts, with its variables."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        **os.environ,
        "ACCELERATE_USE_CPU": "true",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
    }
    running = [
        subprocess.Popen(
            [sys.executable, str(script), str(out)],
            env={**shared, "RANK": rank, "LOCAL_RANK": rank},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in ("0", "1")
    ]
    for process in running:
        _, errors = process.communicate(timeout=900)
        assert process.returncode == 0, errors[-3000:]


def result(out):
    import json

    losses = json.loads((out / "losses.json").read_text())
    return losses, load_file(out / "model" / "model.safetensors")


def test_two_processes_make_the_updates_of_one(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    alone: dict = {"__name__": "alone"}
    exec(compile(SCRIPT, str(script), "exec"), alone)
    alone["train"](tmp_path / "one")
    in_two_processes(script, tmp_path / "two")
    losses, weights = result(tmp_path / "one")
    losses_two, weights_two = result(tmp_path / "two")
    assert losses_two == pytest.approx(losses, abs=1e-5)
    assert weights.keys() == weights_two.keys()
    start = alone["load_model"]("tiny:nano", seed=3, context=128).network.state_dict()
    assert max(float((weights[n] - start[n]).abs().max()) for n in weights) > 3e-3
    for name, value in weights.items():
        # AdamW turns the rounding error of a gradient near 0 into a step of its own size.
        apart = (value - weights_two[name]).abs()
        assert float((apart > 1e-4).float().mean()) < 1e-3, name
    assert not torch.distributed.is_initialized()
