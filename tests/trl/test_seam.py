"""What of TRL's private side this package relies on. If this fails, TRL changed: see grpo/."""

from __future__ import annotations

import inspect
import re

import pytest
import torch
from rla_adapters import load_trainer
from rla_adapters.grpo import seam
from transformers import Trainer
from trl import GRPOConfig, GRPOTrainer
from trl.trainer.utils import split_tensor_dict

from rla_envs.errors import ConfigError

pytestmark = pytest.mark.trl
CHANGED = "TRL's private methods changed: adapt rla_adapters/grpo and raise seam.SERIES"


def test_overridden_and_called_methods_have_the_known_signatures():
    known = {
        "_prepare_inputs": ["self", "generation_batch"],
        "_generate_and_score_completions": ["self", "inputs"],
        "_compute_loss": ["self", "model", "inputs"],
        "log": ["self", "logs", "start_time"],
        "get_train_dataloader": ["self"],
    }
    for name, parameters in known.items():
        found = list(inspect.signature(getattr(GRPOTrainer, name)).parameters)
        assert found == parameters, f"{name}{tuple(found)}. {CHANGED}"
    scored = list(inspect.signature(GRPOTrainer._get_per_token_logps_and_entropies).parameters)
    assert scored[1:5] == ["model", "input_ids", "attention_mask", "logits_to_keep"], CHANGED
    assert "compute_entropy" in scored, CHANGED
    assert hasattr(Trainer, "_init_training_state"), CHANGED


def test_the_loss_reads_what_we_write():
    source = inspect.getsource(GRPOTrainer._compute_loss)
    needed = set(re.findall(r'inputs\["(\w+)"\]', source))
    optional = set(re.findall(r'inputs\.get\("(\w+)"', source))
    # The last one is TRL's own sampler's, which we do not use.
    assert needed == {
        "prompt_ids",
        "prompt_mask",
        "completion_ids",
        "completion_mask",
        "tool_mask",
        "advantages",
        "ref_per_token_logps",
        "num_items_in_batch",
        "importance_sampling_ratio",
    }, CHANGED
    assert "old_per_token_logps" in optional, CHANGED


def test_another_series_is_refused_with_the_way_out(monkeypatch, chat):
    monkeypatch.setattr(seam, "version", lambda name: "1.17.0")
    with pytest.raises(ConfigError, match=r"trl 1\.16, but 1\.17\.0 is installed: pip install"):
        load_trainer("trl", chat)


def _stock(chat, **more):
    args = GRPOConfig(
        "unused",
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        per_device_train_batch_size=2,
        num_generations=2,
        gradient_accumulation_steps=1,
        **more,
    )
    from datasets import Dataset

    return GRPOTrainer(
        chat.network,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=args,
        train_dataset=Dataset.from_dict({"prompt": ["", ""]}),
        processing_class=chat.tokenizer,
    )


def test_golden_number_of_one_row_with_two_turns(chat, tmp_path, monkeypatch):
    # Ratios are 1. Turn 1: 4 tokens of -1; 3 tokens of the environment, masked; turn 2: 4 of +0.5.
    # Sum over the 8 model tokens: (-4 + 2) / 8 = -0.25.
    monkeypatch.chdir(tmp_path)
    trainer = _stock(chat, loss_type="dapo")
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    reply = torch.arange(40, 51)[None]
    turns = torch.tensor([[1.0] * 4 + [99.0] * 3 + [-0.5] * 4])
    loss = trainer._compute_loss(
        trainer.model,
        {
            "prompt_ids": torch.tensor([[1, 5, 30, 6]]),
            "prompt_mask": torch.ones(1, 4, dtype=torch.int64),
            "completion_ids": reply,
            "completion_mask": torch.ones_like(reply),
            "tool_mask": torch.tensor([[1] * 4 + [0] * 3 + [1] * 4]),
            "advantages": turns,
            "num_items_in_batch": torch.tensor(8.0),
        },
    )
    assert float(loss) == -0.25


def test_trap_trl_splits_off_the_rows_that_do_not_divide():
    halves = split_tensor_dict({"x": torch.arange(5)[:, None]}, 2)
    assert sum(len(half["x"]) for half in halves) == 4


def test_trap_trl_has_no_reference_for_a_model_in_memory(chat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match=r"(?i)repo|model|path|None"):
        _stock(chat, beta=0.1)
