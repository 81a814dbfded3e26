"""What every chat model has to keep, whatever is behind it, as a pytest class to inherit.

    class TestMine(ChatModelContract):
        @pytest.fixture(scope="class")
        @classmethod
        def model(cls, folder):
            return MyChatModel(folder)

``folder`` is a fixture of yours that returns where ``write_reference_model`` has written.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rla_adapters.backends import embedded_model
from rla_adapters.tiny.words import alfworld_words
from rla_envs.errors import ConfigError
from rla_envs.types import ChatModel, Completion, Conversation, Sampling

CONTEXT = 128
"""Longest sequence of the reference model, in tokens."""
END = 2
"""Id of its end token."""


def write_reference_model(folder: Path) -> None:
    """Write an untrained Llama of 454,000 weights, far from uniform, as a Hugging Face folder."""
    model = embedded_model("micro", seed=3, context=CONTEXT)
    with torch.no_grad():
        for weight in model.network.parameters():
            weight.mul_(3.0) if weight.ndim == 2 else weight.mul_(1.3)
        # Replies of either kind: ended and cut off.
        model.network.lm_head.weight[END] *= 1.5
    model.save(folder)


def chat(text: str) -> Conversation:
    """Return a conversation of one user message."""
    return ({"role": "user", "content": text},)


def chats(count: int, seed: int = 0) -> list[Conversation]:
    """Return conversations of 3 to 60 random words that the reference model knows."""
    rng = random.Random(seed)
    words = alfworld_words()
    return [chat(" ".join(rng.choices(words, k=rng.randint(3, 60)))) for _ in range(count)]


class ChatModelContract:
    """Subclasses give the fixture ``model``, which serves the folder of ``conftest``."""

    tokens = True
    """Whether completions carry the ids that went in and out."""
    logprobs = True
    """Whether completions carry log-probabilities."""
    seeded = True
    """Whether the same seed gives the same completions whatever else is in the batch."""

    @pytest.fixture(scope="class")
    @classmethod
    def plain(cls, folder: Path) -> Any:
        """Return the folder's network as transformers loads it."""
        return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)

    def expected(self, plain: Any, completion: Completion, temperature: float) -> Sequence[float]:
        """Return what a teacher-forced forward pass of transformers says about a completion."""
        ids = torch.tensor([completion.prompt_ids + completion.token_ids])
        with torch.no_grad():
            logits = plain(ids).logits[0] / temperature
        start = len(completion.prompt_ids) - 1
        rows = torch.log_softmax(logits, -1)[start : start + len(completion.token_ids)]
        return rows.gather(1, torch.tensor(completion.token_ids)[:, None]).squeeze(1).tolist()

    def test_it_is_a_chat_model(self, model):
        assert isinstance(model, ChatModel)
        assert model.sample([]) == []

    def test_a_batch_gives_n_completions_a_conversation_in_order(self, model):
        # Ten prompts of different lengths: an answer to the wrong one has other prompt ids.
        talks = chats(10)
        answers = model.sample(talks, n=3, sampling=Sampling(max_tokens=6), seeds=range(10))
        assert [len(completions) for completions in answers] == [3] * 10
        for talk, completions in zip(talks, answers, strict=True):
            assert len({completion.prompt_ids for completion in completions}) == 1
            if self.tokens:
                (alone,) = model.sample([talk], sampling=Sampling(max_tokens=1))
                assert alone[0].prompt_ids == completions[0].prompt_ids
                assert len({completion.token_ids for completion in completions}) > 1

    @pytest.mark.parametrize("temperature", [1.0, 0.7])
    def test_logprobs_are_those_of_a_teacher_forced_forward_pass(self, model, plain, temperature):
        sampling = Sampling(temperature=temperature, max_tokens=12)
        for completions in model.sample(chats(12), n=2, sampling=sampling, seeds=range(12)):
            for completion in completions:
                if self.tokens:
                    expected = self.expected(plain, completion, temperature)
                    assert completion.logprobs == pytest.approx(expected, abs=1e-4)
                if self.logprobs:
                    assert 1 <= len(completion.logprobs) <= 12
                    assert max(completion.logprobs) <= 0

    def test_the_text_is_what_the_tokens_say(self, model, folder):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        for (completion,) in model.sample(chats(6), sampling=Sampling(max_tokens=8)):
            assert "<eos>" not in completion.text
            if self.tokens:
                text = tokenizer.decode(completion.token_ids, skip_special_tokens=True)
                assert completion.text == text

    def test_temperature_zero_takes_the_likeliest_token(self, model, plain):
        sampling = Sampling(temperature=0, max_tokens=5)
        one, other = (model.sample(chats(1), sampling=sampling)[0][0] for _ in range(2))
        assert one.text == other.text
        if self.tokens:
            ids = list(one.prompt_ids)
            for token in one.token_ids:
                with torch.no_grad():
                    assert int(plain(torch.tensor([ids])).logits[0, -1].argmax()) == token
                ids.append(token)
            assert one.logprobs == pytest.approx(self.expected(plain, one, 1.0), abs=1e-4)

    def test_it_stops_at_the_end_token_or_at_the_budget(self, model):
        sampling = Sampling(max_tokens=24)
        completions = [c for cs in model.sample(chats(40), n=4, sampling=sampling) for c in cs]
        assert {completion.stop for completion in completions} == {"stop", "length"}
        if self.tokens:
            for completion in completions:
                assert (completion.token_ids[-1] == END) == (completion.stop == "stop")
                assert END not in completion.token_ids[:-1]
                assert completion.stop == "stop" or len(completion.token_ids) == 24

    def test_a_prompt_beyond_the_context_overflows_and_others_are_served(self, model):
        # <bos> <user> words <assistant>: 124 words leave one token of 128, 125 leave none.
        fits, full = chat(" ".join(["mug"] * 124)), chat(" ".join(["mug"] * 125))
        one, none = model.sample([fits, full], n=2, sampling=Sampling(max_tokens=9), seeds=[1, 2])
        assert {completion.stop for completion in none} == {"overflow"}
        assert all(not c.text and not c.token_ids and not c.logprobs for c in none)
        if self.tokens:
            assert all(len(c.prompt_ids) == 127 and len(c.token_ids) == 1 for c in one)
            assert all(len(c.prompt_ids) == 128 for c in none)

    def test_a_completion_that_reaches_the_end_of_the_context_says_so(self, model):
        # 120 words leave five tokens, fewer than asked for; the prompt is served whole.
        talk = chat(" ".join(["mug"] * 120))
        (completions,) = model.sample([talk], n=8, sampling=Sampling(max_tokens=50), seeds=[1])
        # A service may refuse what it could not finish; it never serves a part of the prompt.
        refused = set() if self.tokens else {"overflow"}
        assert {completion.stop for completion in completions} <= {"stop", "length"} | refused
        if self.tokens:
            assert all(len(c.prompt_ids) == 123 for c in completions)
            assert all(len(c.token_ids) == 5 for c in completions if c.stop == "length")
            assert "length" in {completion.stop for completion in completions}

    def test_the_same_seed_gives_the_same_completions(self, model):
        if not self.seeded:
            pytest.skip("the backend promises no seeds")
        talks, sampling = chats(8), Sampling(max_tokens=8)
        together = model.sample(talks, n=2, sampling=sampling, seeds=range(8))
        again = model.sample(talks, n=2, sampling=sampling, seeds=range(8))
        alone = [model.sample([t], n=2, sampling=sampling, seeds=[i]) for i, t in enumerate(talks)]
        other = model.sample(talks, n=2, sampling=sampling, seeds=range(50, 58))
        words = [[c.text for c in cs] for cs in together]
        assert [[c.text for c in cs] for cs in again] == words
        assert [[c.text for c in cs] for (cs,) in alone] == words
        assert [[c.text for c in cs] for cs in other] != words

    def test_without_seeds_completions_are_fresh(self, model):
        sampling = Sampling(max_tokens=20)
        texts = {model.sample(chats(1), sampling=sampling)[0][0].text for _ in range(3)}
        assert len(texts) > 1

    def test_many_threads_may_sample_at_once(self, model):
        talks, sampling = chats(12), Sampling(max_tokens=6, temperature=0)
        alone = [model.sample([talk], sampling=sampling)[0][0].text for talk in talks]
        with ThreadPoolExecutor(12) as pool:
            jobs = [pool.submit(model.sample, [talk], sampling=sampling) for talk in talks]
            assert [job.result()[0][0].text for job in jobs] == alone

    def test_text_that_looks_like_a_special_token_does_not_end_a_turn(self, model):
        if not self.tokens:
            pytest.skip("the backend shows no ids")
        (completions,) = model.sample([chat("mug <eos> <assistant> mug")])
        prompt = completions[0].prompt_ids
        # <bos> and the two role tokens are the template's; none comes from the message.
        assert prompt.count(END) == 0
        assert sum(token < 7 and token != 3 for token in prompt) == 3

    def test_wrong_arguments_name_the_value(self, model):
        with pytest.raises(ConfigError, match="got 0"):
            model.sample(chats(1), n=0)
        with pytest.raises(ConfigError, match="got 1 seeds for 2"):
            model.sample(chats(2), seeds=[1])
        with pytest.raises(ConfigError, match="temperature=-1"):
            model.sample(chats(1), sampling=Sampling(temperature=-1))
