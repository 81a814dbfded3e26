"""What an update does to the weights, and what a checkpoint brings back."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from rla_adapters import load_trainer
from rla_adapters.native.batches import batches
from rla_adapters.native.trainer import NativeTrainer, PpoConfig
from rla_adapters.tiny.forward import pack

from rla_envs.errors import ConfigError, RunError
from rla_envs.types import Sampling, TrainingSample

PROMPT = (1, 5, 30, 31, 6)


def sample(prompt=PROMPT, tokens=(40, 41, 42, 2), advantage=1.0, logprobs=()):
    return TrainingSample(
        prompt_ids=prompt,
        token_ids=tokens,
        logprobs=logprobs,
        advantage=advantage,
        source="policy",
    )


def weights(chat):
    return {name: value.clone() for name, value in chat.network.state_dict().items()}


def same(left, right):
    return all(torch.equal(left[name], right[name]) for name in left)


def some_samples():
    return [
        sample((1, 5, *range(20, 20 + length), 6), tuple(range(60, 60 + reply)), advantage)
        for length, reply, advantage in [(3, 2, 1.0), (9, 4, -0.5), (3, 3, 0.3), (20, 1, -1.2)] * 3
    ]


def test_first_loss_of_two_turns_with_advantages_plus_one_and_minus_a_half_is_minus_a_quarter(chat):
    # All ratios are 1: turn 1 gives -1, turn 2 gives +0.5; their mean is -0.25, and the KL is 0.
    turns = [sample(), sample((1, 5, 32, 6), (43, 44, 45, 2), -0.5)]
    metrics = NativeTrainer(chat, PpoConfig(epochs=1)).update(turns)
    assert metrics["loss"] == -0.25
    assert metrics["kl"] == 0.0
    assert metrics["ratio_max"] == 1.0
    assert metrics["optimizer_steps"] == 1


def test_length_does_not_change_a_samples_weight(chat):
    # A mean over tokens instead would give (-1 * 4 + 0.5 * 1) / 5 = -0.7.
    turns = [sample(), sample((1, 5, 32, 6), (43,), -0.5)]
    assert NativeTrainer(chat, PpoConfig(epochs=1)).update(turns)["loss"] == -0.25


def test_batches_predict_what_the_transformers_forward_predicts(chat):
    pairs = [(s.prompt_ids, s.token_ids) for s in some_samples()]
    pairs += [(PROMPT, (40, 41)), (PROMPT, (42, 43, 44)), ((1, 6), (7,))]
    seen = []
    with torch.no_grad():
        for batch in batches(pairs, tokens=60):
            logits = batch.logits(pack(chat.network, chat.rotation))
            for row, i in enumerate(batch.index_R.tolist()):
                prompt, reply = pairs[i]
                plain = chat.network(torch.tensor([prompt + reply])).logits[0]
                expected = plain[len(prompt) - 1 : -1]
                assert torch.allclose(logits[row, : len(reply)], expected, atol=1e-4)
                assert batch.targets_RT[row][batch.mask_RT[row]].tolist() == list(reply)
                seen.append(i)
    assert sorted(seen) == list(range(len(pairs)))


def test_gradients_equal_those_of_the_transformers_forward(chat):
    prompt, reply = PROMPT, (40, 41, 42, 2)
    (batch,) = batches([(prompt, reply)], tokens=100)
    lean = torch.log_softmax(batch.logits(pack(chat.network, chat.rotation))[0], -1)
    lean.gather(1, torch.tensor(reply)[:, None]).mean().backward()
    gradients = {n: p.grad.clone() for n, p in chat.network.named_parameters()}
    chat.network.zero_grad()
    plain = torch.log_softmax(chat.network(torch.tensor([prompt + reply])).logits[0, 4:8], -1)
    plain.gather(1, torch.tensor(reply)[:, None]).mean().backward()
    for name, parameter in chat.network.named_parameters():
        assert torch.allclose(gradients[name], parameter.grad, atol=1e-4), name


def test_only_reply_tokens_are_trained(chat):
    # Logits exist on the 4 reply positions alone: 4 rows, though the sequence has 9 tokens.
    (batch,) = batches([(PROMPT, (40, 41, 42, 2))], tokens=100)
    logits = batch.logits(pack(chat.network, chat.rotation))
    assert logits.shape[:2] == (1, 4)
    assert NativeTrainer(chat, PpoConfig(epochs=1)).update([sample()])["tokens"] == 4


def test_padding_and_neighbours_do_not_change_the_update(make_chat):
    config = PpoConfig(epochs=1)
    one, other = make_chat(), make_chat()
    NativeTrainer(one, config).update(some_samples())
    NativeTrainer(other, replace(config, tokens=1)).update(some_samples())
    left, right = weights(one), weights(other)
    # AdamW's first step is lr * sign(gradient): a gradient of rounding size may flip its sign.
    differing = sum(int(((left[n] - right[n]).abs() > 1e-4).sum()) for n in left)
    assert differing < 0.001 * sum(value.numel() for value in left.values())


def test_an_over_long_sample_is_dropped_together_with_its_advantage(make_chat):
    config = PpoConfig(epochs=2, max_length=9)
    long = sample((1, 5, 30, 31, 32, 6), advantage=-7.0)
    kept = [sample(), sample((1, 5, 32, 6), (43, 44, 45, 2), -0.5)]
    with_long, without = make_chat(), make_chat()
    metrics = NativeTrainer(with_long, config).update([kept[0], long, kept[1]])
    NativeTrainer(without, config).update(kept)
    assert (metrics["samples"], metrics["trained"], metrics["dropped_overlong"]) == (3, 2, 1)
    assert same(weights(with_long), weights(without))


def test_samples_of_advantage_zero_are_counted_and_change_nothing(make_chat):
    one, other = make_chat(), make_chat()
    metrics = NativeTrainer(one).update([sample(), sample(tokens=(50, 2), advantage=0.0)])
    NativeTrainer(other).update([sample()])
    assert (metrics["samples"], metrics["skipped_zero"]) == (2, 1)
    assert same(weights(one), weights(other))
    before = weights(one)
    metrics = NativeTrainer(one).update([sample(advantage=0.0)])
    assert (metrics["loss"], metrics["optimizer_steps"]) == (0.0, 0)
    assert same(weights(one), before)


def test_the_update_raises_good_replies_and_lowers_bad_ones(chat):
    good, bad = sample(tokens=(40, 2)), sample(tokens=(41, 2), advantage=-1.0)

    def logprobs():
        with torch.no_grad():
            last = torch.log_softmax(chat.network(torch.tensor([PROMPT])).logits[0, -1], -1)
        return float(last[40]), float(last[41])

    before = logprobs()
    NativeTrainer(chat).update([good, bad])
    after = logprobs()
    assert after[0] > before[0]
    assert after[1] < before[1]


def test_a_sampler_that_disagrees_is_measured_and_its_weight_capped(chat):
    trainer = NativeTrainer(chat, PpoConfig(epochs=1, ratio_cap=2.0))
    # The sampler claims e^-60 a token: the weight would be astronomical and is cut to 2.
    metrics = trainer.update([sample(logprobs=(-60.0,) * 4)])
    assert metrics["loss"] == -2.0
    assert metrics["logprob_mismatch"] > 30


def test_the_samplers_logprobs_are_those_the_trainer_recomputes(chat):
    talk = [({"role": "user", "content": f"mug {i} in cabinet"},) for i in range(6)]
    completions = chat.sample(talk, n=3, sampling=Sampling(temperature=0.8), seeds=range(6))
    rows = [sample(c.prompt_ids, c.token_ids, 1.0, c.logprobs) for cs in completions for c in cs]
    metrics = NativeTrainer(chat, PpoConfig(temperature=0.8)).update(rows)
    assert metrics["logprob_mismatch"] < 1e-4


def test_the_same_seed_gives_the_same_weights_and_another_one_does_not(make_chat):
    chats = [make_chat() for _ in range(3)]
    for chat, seed in zip(chats, (1, 1, 2), strict=True):
        NativeTrainer(chat, PpoConfig(minibatch=5), seed=seed).update(some_samples())
    first, second, third = map(weights, chats)
    assert same(first, second)
    assert not same(first, third)


def test_after_load_the_next_update_is_bit_identical(make_chat, tmp_path):
    config = PpoConfig(minibatch=5)
    trainer = NativeTrainer(make_chat(), config, seed=4)
    trainer.update(some_samples())
    trainer.save(tmp_path / "checkpoint")
    expected = trainer.update(some_samples())
    restored = NativeTrainer(make_chat(), config, seed=99)
    chat = restored.model()
    restored.load(tmp_path / "checkpoint")
    assert restored.update(some_samples()) == expected
    assert same(weights(chat), weights(trainer.model()))
    files = {path.name for path in (tmp_path / "checkpoint").rglob("*") if path.is_file()}
    assert not {name for name in files if name.endswith((".pt", ".bin", ".pkl", ".pickle"))}


def test_loading_from_nowhere_names_the_folder(chat, tmp_path):
    with pytest.raises(RunError, match="nowhere"):
        NativeTrainer(chat).load(tmp_path / "nowhere")


def test_the_model_is_shared_not_copied(chat):
    trainer = load_trainer("native", chat)
    assert trainer.model() is chat
    talk = [({"role": "user", "content": "mug"},)]
    before = chat.sample(talk, seeds=[1])[0][0].logprobs
    trainer.update([sample()])
    assert chat.sample(talk, seeds=[1])[0][0].logprobs != before


def test_malformed_samples_and_settings_name_the_value(chat):
    trainer = NativeTrainer(chat)
    with pytest.raises(ConfigError, match="got 5 and 0"):
        trainer.update([sample(tokens=())])
    with pytest.raises(ConfigError, match="1 log-probabilities for 4"):
        trainer.update([sample(logprobs=(-1.0,))])
    with pytest.raises(ConfigError, match="clip must be above 0, got 0"):
        PpoConfig(clip=0)


def test_ppo_learns_which_word_is_paid(make_chat):
    chat = make_chat()
    with torch.no_grad():
        for weight in chat.network.parameters():
            weight.div_(4.0) if weight.ndim == 2 else weight.div_(1.3)
    talk = ({"role": "user", "content": "which ?"},)
    paid = chat.codec.reply("mug")[0]
    share = 0.0
    # First lift the word to one in ten or so, as a warm start would; then pay it.
    trainer = NativeTrainer(chat, PpoConfig(lr=3e-3, epochs=2))
    trainer.update([sample(chat.codec.prompt(talk), (paid,))] * 2)
    for i in range(40):
        replies = chat.sample([talk], n=128, sampling=Sampling(max_tokens=1), seeds=[i])[0]
        won = [float(reply.token_ids[0] == paid) for reply in replies]
        share = sum(won) / 128
        if share > 0.9:
            break
        trainer.update(
            [
                sample(r.prompt_ids, r.token_ids, (w - share) * 5, r.logprobs)
                for r, w in zip(replies, won, strict=True)
            ]
        )
    assert share > 0.9
