"""TRL's trainer does to the weights what the native one does, whatever TRL does to rows."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from rla_adapters import load_trainer
from rla_adapters.grpo.backend import TrlConfig, TrlTrainer
from rla_adapters.grpo.trainer import StepGRPOTrainer
from rla_adapters.native.trainer import NativeTrainer, PpoConfig
from trl import GRPOConfig

from rla_envs.errors import ConfigError, ModelError, RunError
from rla_envs.types import Sampling

pytestmark = pytest.mark.trl


def test_golden_first_loss_is_exactly_minus_a_quarter(chat, turns):
    # Ratios are 1: turn 1 gives -1, turn 2 gives +0.5; their mean is -0.25, and the KL is 0.
    metrics = TrlTrainer(chat, PpoConfig(epochs=1)).update(turns)
    assert metrics["loss"] == -0.25
    assert metrics["kl"] == 0.0
    assert metrics["optimizer_steps"] == 1


def test_first_step_has_the_native_loss_and_gradients(make_chat, rows):
    one, other = make_chat(), make_chat()
    config = PpoConfig(epochs=1, lr=1e-9, max_grad_norm=1e9, betas=(0.0, 0.999))
    mine = TrlTrainer(one, config)
    metrics, expected = mine.update(rows), (native := NativeTrainer(other, config)).update(rows)
    for name in ("loss", "entropy", "grad_norm", "logprob_mismatch"):
        assert metrics[name] == pytest.approx(expected[name], rel=1e-5, abs=1e-6)
    # With beta1 = 0 AdamW's first moment is the gradient.
    ours, theirs = mine._optimizer().state, native._optimizer.state
    for name, parameter in other.parameters.items():
        gradient, reference = ours[one.parameters[name]], theirs[parameter]
        assert torch.allclose(gradient["exp_avg"], reference["exp_avg"], atol=1e-4), name


def test_many_updates_with_minibatches_and_epochs_end_at_the_native_weights(make_chat, rows, apart):
    one, other = make_chat(), make_chat()
    config = PpoConfig(epochs=2, minibatch=5, tokens=100)
    mine, native = TrlTrainer(one, config, seed=3), NativeTrainer(other, config, seed=3)
    start = make_chat()
    for _ in range(3):
        metrics, expected = mine.update(rows), native.update(rows)
    assert metrics["loss"] == pytest.approx(expected["loss"], abs=1e-4)
    assert metrics["optimizer_steps"] == expected["optimizer_steps"] == 6
    assert apart(one, start) > 5e-3
    assert apart(one, other) < 1e-3


def test_a_sampler_that_disagrees_is_corrected_as_in_the_native_trainer(make_chat, sample, apart):
    rows = [sample(logprobs=(-60.0,) * 4), sample((1, 5, 32, 6), (43, 2), -0.5, (-0.1, -9.0))]
    one, other = make_chat(), make_chat()
    config = PpoConfig(epochs=1)
    metrics = TrlTrainer(one, config).update(rows)
    expected = NativeTrainer(other, config).update(rows)
    assert metrics["loss"] == pytest.approx(expected["loss"], abs=1e-5)
    assert metrics["logprob_mismatch"] == pytest.approx(expected["logprob_mismatch"], abs=1e-4)


@pytest.mark.parametrize(("minibatch", "tokens"), [(5, 15), (7, 21), (12, 1)])
def test_no_row_is_dropped_and_none_counts_twice(chat, sample, monkeypatch, minibatch, tokens):
    # 11 rows are prime to every number of steps and passes here.
    rows = [sample((1, 5, 20 + i, 6), tuple(range(60, 61 + i % 3))) for i in range(11)]
    seen: Counter[int] = Counter()
    filled = 0
    compute = StepGRPOTrainer._compute_loss

    def watched(self, model, inputs):
        nonlocal filled
        for prompt, weights in zip(inputs["prompt_ids"], inputs["tool_mask"], strict=True):
            if float(weights.sum()):
                assert float(weights.sum()) == pytest.approx(1.0)
                seen[int(prompt[-2])] += 1
            else:
                filled += 1
        return compute(self, model, inputs)

    monkeypatch.setattr(StepGRPOTrainer, "_compute_loss", watched)
    TrlTrainer(chat, PpoConfig(epochs=2, minibatch=minibatch, tokens=tokens)).update(rows)
    assert seen == {20 + i: 2 for i in range(11)}
    assert filled > 0 or tokens == 1


def test_rows_that_fill_a_pass_do_not_change_the_update(make_chat, rows, apart):
    one, other = make_chat(), make_chat()
    # All in one pass, or 11 rows in passes of two with one row to fill up.
    few = TrlTrainer(one, PpoConfig(epochs=1, tokens=10_000)).update(rows[:11])
    many = TrlTrainer(other, PpoConfig(epochs=1, tokens=60)).update(rows[:11])
    assert few["loss"] == pytest.approx(many["loss"], abs=1e-5)
    assert few["grad_norm"] == pytest.approx(many["grad_norm"], rel=1e-4)
    assert apart(one, other) < 1e-3


def test_an_over_long_sample_is_dropped_together_with_its_advantage(make_chat, turns, sample):
    config = PpoConfig(epochs=2, max_length=9)
    long = sample((1, 5, 30, 31, 32, 6), advantage=-7.0)
    with_long, without = make_chat(), make_chat()
    metrics = TrlTrainer(with_long, config).update([turns[0], long, turns[1]])
    TrlTrainer(without, config).update(turns)
    assert (metrics["samples"], metrics["trained"], metrics["dropped_overlong"]) == (3, 2, 1)
    for one, other in zip(
        with_long.network.parameters(), without.network.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_samples_of_advantage_zero_change_nothing(make_chat, sample, apart):
    chat = make_chat()
    metrics = TrlTrainer(chat).update([sample(advantage=0.0)])
    assert (metrics["skipped_zero"], metrics["optimizer_steps"], metrics["loss"]) == (1, 0, 0.0)
    assert apart(chat, make_chat()) == 0


def test_sampler_and_trainer_at_one_temperature_agree_and_at_two_are_measured(chat, sample):
    talk = [({"role": "user", "content": f"mug {i} in cabinet"},) for i in range(4)]
    completions = chat.sample(talk, n=3, sampling=Sampling(temperature=0.7), seeds=range(4))
    rows = [sample(c.prompt_ids, c.token_ids, 1.0, c.logprobs) for cs in completions for c in cs]
    config = PpoConfig(temperature=0.7, epochs=1, lr=1e-9)
    assert TrlTrainer(chat, config).update(rows)["logprob_mismatch"] < 1e-4
    warmer = TrlTrainer(chat, replace(config, temperature=1.0))
    assert warmer.update(rows)["logprob_mismatch"] > 0.1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss_type", "grpo"),  # divides by rows, those that only fill a pass included
        ("top_p", 0.9),  # another support than the sampler's (trl#6789)
        ("top_k", 5),
        ("min_p", 0.1),
        ("repetition_penalty", 1.1),
        ("importance_sampling_level", "sequence"),
        ("use_bias_correction_kl", True),
    ],
)
def test_settings_that_would_change_the_objective_are_refused(chat, tmp_path, name, value):
    given = {"loss_type": "dapo", "use_bias_correction_kl": False, name: value}
    args = GRPOConfig(str(tmp_path), use_cpu=True, bf16=False, report_to=[], **given)
    with pytest.raises(ConfigError, match=f"{name} must be"):
        StepGRPOTrainer(chat.network, lambda number: [], args, chat.tokenizer)


def test_what_follows_from_the_samples_cannot_be_set():
    with pytest.raises(ConfigError, match="max_steps cannot be set"):
        TrlConfig(arguments={"max_steps": 3})


def test_no_second_model_is_kept_and_the_kl_is_to_the_weights_before(chat, rows):
    trainer = TrlTrainer(chat, PpoConfig(kl=0.5, epochs=3, minibatch=4))
    metrics = trainer.update(rows)
    assert trainer._trainer.ref_model is None
    assert metrics["kl"] > 0
    # A new update starts at a KL of 0 again.
    single = replace(trainer.config, epochs=1, minibatch=100)
    assert TrlTrainer(chat, single).update(rows)["kl"] == pytest.approx(0, abs=1e-6)


def test_after_load_the_next_update_is_bit_identical(make_chat, rows, apart, tmp_path):
    config = PpoConfig(minibatch=5)
    trainer = TrlTrainer(make_chat(), config, seed=4)
    trainer.update(rows)
    trainer.save(tmp_path / "checkpoint")
    expected = trainer.update(rows)
    restored = TrlTrainer(make_chat(), config, seed=99)
    restored.load(tmp_path / "checkpoint")
    assert restored.update(rows) == expected
    assert apart(restored.model(), trainer.model()) == 0
    assert restored._trainer.state.global_step == trainer._trainer.state.global_step == 12
    files = {path.suffix for path in (tmp_path / "checkpoint").rglob("*") if path.is_file()}
    assert not files & {".pt", ".bin", ".pkl", ".pickle"}
    with pytest.raises(RunError, match="nowhere"):
        restored.load(tmp_path / "nowhere")


def test_a_checkpoint_of_either_trainer_goes_on_in_the_other(make_chat, rows, apart, tmp_path):
    config = PpoConfig(minibatch=5)
    native = NativeTrainer(make_chat(), config, seed=4)
    native.update(rows)
    native.save(tmp_path)
    native.update(rows)
    mine = TrlTrainer(make_chat(), config)
    mine.load(tmp_path)
    mine.update(rows)
    assert apart(mine.model(), native.model()) < 1e-3


def test_a_gradient_that_is_not_finite_stops_before_the_step(make_chat, sample):
    chat = make_chat()
    with torch.no_grad():
        chat.network.model.norm.weight[0] = float("nan")
    before = chat.network.model.embed_tokens.weight.clone()
    with pytest.raises(ModelError, match="lower learning_rate"):
        TrlTrainer(chat).update([sample()])
    assert torch.equal(chat.network.model.embed_tokens.weight, before)


def test_the_model_is_shared_ready_to_sample_and_global_randomness_untouched(chat, turns):
    states = (random.getstate(), np.random.get_state()[1].copy(), torch.get_rng_state())
    trainer = load_trainer("trl", chat)
    assert trainer.model() is chat
    talk = [({"role": "user", "content": "mug"},)]
    before = chat.sample(talk, seeds=[1])[0][0].logprobs
    trainer.update(turns)
    assert not chat.network.training
    assert chat.sample(talk, seeds=[1])[0][0].logprobs != before
    assert random.getstate() == states[0]
    assert (np.random.get_state()[1] == states[1]).all()
    assert torch.equal(torch.get_rng_state(), states[2])
