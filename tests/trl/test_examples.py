"""The example's two ways run on the tiny model, saved as a Hugging Face folder, and train it."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import torch

pytestmark = [pytest.mark.trl, pytest.mark.slow]


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).parents[2] / "examples" / "trl_grpo.py"
    spec = spec_from_file_location("trl_grpo_example", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path):
    from rla_adapters import load_model

    load_model("tiny:nano", seed=3).save(tmp_path / "model")
    return tmp_path / "model"


def weights(network):
    return {name: value.detach().clone() for name, value in network.named_parameters()}


@pytest.mark.parametrize("way", ["train_by_rollouts", "train_by_steps"])
def test_training_changes_the_weights(example, folder, tmp_path, way):
    from rla_adapters.hf import HfChatModel

    before = weights(HfChatModel.load(folder).network)
    trainer = getattr(example, way)(folder, tmp_path / "out")
    steps = [row for row in trainer.state.log_history if "grad_norm" in row]
    assert len(steps) == 2
    assert all(row["grad_norm"] > 0 for row in steps)
    after = weights(trainer.model)
    assert any(not torch.equal(before[name], after[name]) for name in before)
    if way == "train_by_steps":
        assert trainer.counts["trained"] > 8
        assert trainer.before.mismatch < 1e-4
