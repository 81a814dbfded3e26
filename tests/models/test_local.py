"""The backends of this process keep the contract; LoRA and checkpoints of the transformers one."""

from __future__ import annotations

from itertools import chain

import pytest
import torch
from rla_adapters.conformance import ChatModelContract, chat, chats
from rla_adapters.hf import HfChatModel, Lora
from rla_adapters.native.batches import batches
from rla_adapters.native.supervised import FitConfig, fit
from rla_adapters.native.trainer import NativeTrainer, PpoConfig
from rla_adapters.tiny.sampler import TinyChatModel

from rla_envs.errors import ConfigError, RunError, TaskUnavailable
from rla_envs.types import Sampling, TrainingSample

PAIRS = [
    ((1, 5, *range(20, 20 + length), 6), tuple(range(60, 60 + reply)))
    for length, reply in [(3, 2), (9, 4), (3, 3), (20, 1), (1, 5)]
]


class TestTiny(ChatModelContract):
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, folder):
        return TinyChatModel.load(folder)


class TestTransformers(ChatModelContract):
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, folder):
        return HfChatModel.load(folder, rows=16)


class TestLora(ChatModelContract):
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, folder):
        # New adapters change nothing: one of their two factors is 0.
        return HfChatModel.load(folder, lora=Lora(rank=4))


def rows(count=4):
    return [(talk, f"take mug {i}", 1.0) for i, talk in enumerate(chats(count))]


def samples():
    return [
        TrainingSample(
            prompt_ids=prompt, token_ids=reply, logprobs=(), advantage=gain, source="policy"
        )
        for (prompt, reply), gain in zip(PAIRS, [1.0, -0.5, 0.3, -1.2, 0.7], strict=True)
    ]


def test_it_samples_what_the_embedded_forward_samples(folder):
    # Same weights, same seeds, same random numbers: the same tokens.
    tiny, hf = TinyChatModel.load(folder), HfChatModel.load(folder)
    sampling = Sampling(max_tokens=10)
    ours, theirs = (m.sample(chats(9), n=2, sampling=sampling, seeds=range(9)) for m in (tiny, hf))
    for one, other in zip(chain(*ours), chain(*theirs), strict=True):
        assert (one.prompt_ids, one.token_ids, one.stop) == (
            other.prompt_ids,
            other.token_ids,
            other.stop,
        )
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


@pytest.mark.parametrize("lora", [None, Lora(rank=4)])
def test_scores_and_gradients_are_those_of_the_whole_sequence(folder, lora):
    chat_model = HfChatModel.load(folder, lora=lora)
    with torch.no_grad():
        for name, weight in chat_model.parameters.items():
            if "lora_B" in name:
                weight.normal_(std=0.1, generator=torch.Generator().manual_seed(0))
    pairs = [*PAIRS, (PAIRS[0][0], (44, 45))]
    loss = torch.zeros(())
    for batch in batches(pairs, tokens=80):
        logprobs = torch.log_softmax(chat_model.scorer()(batch), -1)
        for row, i in enumerate(batch.index_R.tolist()):
            prompt, reply = pairs[i]
            with torch.no_grad():
                whole = chat_model.network(torch.tensor([prompt + reply])).logits[0]
            expected = torch.log_softmax(whole[len(prompt) - 1 : -1], -1)
            assert torch.allclose(logprobs[row, : len(reply)], expected, atol=1e-4)
            loss = loss + logprobs[row, range(len(reply)), list(reply)].sum()
    loss.backward()
    ours = {name: p.grad.clone() for name, p in chat_model.parameters.items()}
    chat_model.network.zero_grad()
    for prompt, reply in pairs:
        whole = chat_model.network(torch.tensor([prompt + reply])).logits[0]
        logprobs = torch.log_softmax(whole[len(prompt) - 1 : -1], -1)
        logprobs[range(len(reply)), list(reply)].sum().backward()
    for name, parameter in chat_model.parameters.items():
        assert torch.allclose(ours[name], parameter.grad, rtol=1e-3, atol=1e-3), name


def test_only_adapters_train_and_only_they_are_saved(folder, tmp_path):
    chat_model = HfChatModel.load(folder, lora=Lora(rank=4), seed=1)
    assert all("lora_" in name for name in chat_model.parameters)
    frozen = {n: p.clone() for n, p in chat_model.network.named_parameters() if "lora" not in n}
    assert fit(chat_model, rows(), FitConfig(epochs=40, lr=1e-2))["loss"] < 0.5
    for name, parameter in chat_model.network.named_parameters():
        assert name not in frozen or torch.equal(parameter, frozen[name])
    chat_model.save(tmp_path / "lora")
    saved = sum(file.stat().st_size for file in (tmp_path / "lora").glob("*.safetensors"))
    assert saved < (folder / "model.safetensors").stat().st_size / 4
    again = HfChatModel.load(tmp_path / "lora")
    assert again.sample(chats(4), seeds=range(4)) == chat_model.sample(chats(4), seeds=range(4))
    assert set(again.parameters) == set(chat_model.parameters)
    with pytest.raises(ConfigError, match="holds adapters already"):
        HfChatModel.load(tmp_path / "lora", lora=Lora())


@pytest.mark.parametrize("lora", [None, Lora(rank=4)])
def test_the_update_after_a_load_is_the_one_that_would_have_followed(folder, tmp_path, lora):
    whole, resumed = (
        NativeTrainer(HfChatModel.load(folder, lora=lora, seed=s), PpoConfig(lr=1e-3), seed=s)
        for s in (1, 2)
    )
    whole.update(samples())
    whole.save(tmp_path)
    resumed.load(tmp_path)
    assert whole.update(samples()) == resumed.update(samples())
    ours, theirs = whole.model().parameters, resumed.model().parameters
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_golden_number_with_adapters(folder):
    # Turn 1 has advantage +1, turn 2 -0.5, all ratios 1: (-1 + 0.5) / 2 = -0.25.
    chat_model = HfChatModel.load(folder, lora=Lora(rank=4))
    turns = [
        TrainingSample(
            prompt_ids=prompt, token_ids=(40, 41, 42, 2), logprobs=(), advantage=a, source="policy"
        )
        for prompt, a in [((1, 5, 30, 31, 6), 1.0), ((1, 5, 32, 6), -0.5)]
    ]
    metrics = NativeTrainer(chat_model, PpoConfig(epochs=1)).update(turns)
    assert (metrics["loss"], metrics["kl"], metrics["trained"]) == (-0.25, 0.0, 2)


def test_ppo_pays_a_word_through_adapters(folder):
    chat_model = HfChatModel.load(folder, lora=Lora(rank=4), seed=0)
    talk = chat("which ?")
    trainer = NativeTrainer(chat_model, PpoConfig(lr=1e-2, epochs=2))

    def share():
        replies = chat_model.sample([talk], n=64, sampling=Sampling(max_tokens=1), seeds=[0])[0]
        return replies, [reply.token_ids[0] % 4 == 0 for reply in replies]

    _, before = share()
    for _ in range(8):
        replies, paid = share()
        mean = sum(paid) / len(paid)
        trainer.update(
            [
                TrainingSample(
                    prompt_ids=r.prompt_ids,
                    token_ids=r.token_ids,
                    logprobs=r.logprobs,
                    advantage=2 * (p - mean),
                    source="policy",
                )
                for r, p in zip(replies, paid, strict=True)
            ]
        )
    assert sum(share()[1]) > sum(before) + 16


def test_wrong_folders_name_what_is_missing(folder, tmp_path):
    with pytest.raises(TaskUnavailable, match=r"config\.json is missing"):
        HfChatModel.load(tmp_path)
    with pytest.raises(RunError, match="differ in whether they have adapters"):
        HfChatModel.load(folder, lora=Lora(rank=4)).restore(folder)
    with pytest.raises(ConfigError, match="in 1 to 128, got 129"):
        HfChatModel.load(folder, context=129)
