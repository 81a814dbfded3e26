"""What a completion promises: exact log-probabilities, seeds, limits, threads."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from rla_adapters.sampling import choose, uniforms
from rla_adapters.tiny.sampler import TinyChatModel
from rla_adapters.tiny.words import alfworld_words
from transformers import AutoModelForCausalLM

from rla_envs.errors import ConfigError
from rla_envs.types import ChatModel, Sampling


def talks(count: int, seed: int = 0):
    rng = random.Random(seed)
    words = alfworld_words()
    return [
        ({"role": "user", "content": " ".join(rng.choices(words, k=rng.randint(3, 60)))},)
        for _ in range(count)
    ]


def teacher_forced(chat, completion, temperature):
    """Return log-probabilities of a completion by transformers' own forward pass."""
    ids = torch.tensor([completion.prompt_ids + completion.token_ids])
    with torch.no_grad():
        logits = chat.network(ids).logits[0] / temperature
    start = len(completion.prompt_ids) - 1
    rows = torch.log_softmax(logits, -1)[start : start + len(completion.token_ids)]
    return rows.gather(1, torch.tensor(completion.token_ids)[:, None]).squeeze(1).tolist()


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_are_those_of_the_transformers_forward(chat, temperature):
    sampling = Sampling(temperature=temperature, max_tokens=12)
    for completions in chat.sample(talks(20), n=3, sampling=sampling, seeds=range(20)):
        for completion in completions:
            expected = teacher_forced(chat, completion, temperature)
            assert completion.logprobs == pytest.approx(expected, abs=1e-4)


def test_the_same_seed_gives_the_same_completions_whatever_else_is_in_the_batch(chat):
    many = talks(40)
    sampling = Sampling(max_tokens=8)
    together = chat.sample(many, n=2, sampling=sampling, seeds=[100 + i for i in range(40)])
    assert together == chat.sample(many, n=2, sampling=sampling, seeds=[100 + i for i in range(40)])
    for i in (0, 7, 39):
        alone = chat.sample([many[i]], n=2, sampling=sampling, seeds=[100 + i])[0]
        assert [c.token_ids for c in alone] == [c.token_ids for c in together[i]]
        for one, other in zip(alone, together[i], strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_more_completions_do_not_change_the_first_ones(chat):
    few = chat.sample(talks(3), n=1, seeds=[1, 2, 3])
    more = chat.sample(talks(3), n=5, seeds=[1, 2, 3])
    assert [c[0].token_ids for c in few] == [c[0].token_ids for c in more]
    assert [len(c) for c in more] == [5, 5, 5]
    assert len({c.token_ids for c in more[0]}) == 5


def test_small_batches_give_the_same_tokens_as_one_large_batch(make_chat):
    chat = make_chat()
    small = TinyChatModel(chat.network, chat.tokenizer, rows=3)
    talk = talks(10)
    expected = [[c.token_ids for c in cs] for cs in chat.sample(talk, n=2, seeds=range(10))]
    assert [
        [c.token_ids for c in cs] for cs in small.sample(talk, n=2, seeds=range(10))
    ] == expected


def test_without_seeds_completions_are_fresh(chat):
    sampling = Sampling(max_tokens=20)
    first, second = (chat.sample(talks(1), sampling=sampling)[0][0] for _ in range(2))
    assert first.token_ids != second.token_ids


def test_temperature_zero_takes_the_likeliest_token(chat):
    completion = chat.sample(talks(1), sampling=Sampling(temperature=0, max_tokens=5))[0][0]
    ids = list(completion.prompt_ids)
    for token in completion.token_ids:
        with torch.no_grad():
            assert int(chat.network(torch.tensor([ids])).logits[0, -1].argmax()) == token
        ids.append(token)
    assert completion.logprobs == pytest.approx(teacher_forced(chat, completion, 1.0), abs=1e-4)


def test_a_prompt_that_leaves_no_room_overflows_and_others_are_served(make_chat):
    chat = make_chat(context=16)
    # <bos> <user> 12 words <assistant> = 15 tokens: room for one. 13 words: none.
    fits, full = ({"role": "user", "content": " ".join(["mug"] * n)} for n in (12, 13))
    one, none = chat.sample([(fits,), (full,)], sampling=Sampling(max_tokens=9), seeds=[1, 2])
    assert (len(one[0].prompt_ids), len(one[0].token_ids)) == (15, 1)
    assert one[0].stop == "length" or one[0].token_ids == (chat.codec.eos,)
    assert (none[0].stop, none[0].token_ids, len(none[0].prompt_ids)) == ("overflow", (), 16)


def test_a_completion_stops_at_the_end_token_or_at_the_budget(chat):
    completions = [c for cs in chat.sample(talks(60), n=4, seeds=range(60)) for c in cs]
    with torch.no_grad():
        # The end token becomes likely, so that both kinds of stop occur.
        chat.network.lm_head.weight[chat.codec.eos] *= 3
    completions += [c for cs in chat.sample(talks(60), n=4, seeds=range(60)) for c in cs]
    assert {c.stop for c in completions} == {"stop", "length"}
    for completion in completions:
        assert (completion.token_ids[-1] == chat.codec.eos) == (completion.stop == "stop")
        assert chat.codec.eos not in completion.token_ids[:-1]
        assert len(completion.logprobs) == len(completion.token_ids) <= 32
        assert completion.stop == "stop" or len(completion.token_ids) == 32
        assert "<eos>" not in completion.text


def test_threads_that_sample_at_once_get_what_they_get_alone(chat):
    talk = talks(16)
    alone = [chat.sample([t], n=2, seeds=[i])[0] for i, t in enumerate(talk)]
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(chat.sample, [t], n=2, seeds=[i]) for i, t in enumerate(talk)]
        assert [job.result()[0] for job in jobs] == alone


def test_choose_inverts_the_distribution_function():
    # Probabilities 0.5, 0.25, 0.25: below 0.5 is token 0, below 0.75 token 1, else token 2.
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25]])).expand(5, -1)
    draws = torch.tensor([0.0, 0.49, 0.51, 0.76, 1 - 2**-53], dtype=torch.float64)
    tokens, logprobs = choose(logits, draws, 1.0)
    assert tokens.tolist() == [0, 0, 1, 2, 2]
    expected = np.log([0.5, 0.5, 0.25, 0.25, 0.25]).tolist()
    assert logprobs.tolist() == pytest.approx(expected)


def test_sampled_frequencies_are_the_probabilities():
    # 40,000 draws: four standard deviations of a share of 0.3 are 0.009.
    logits = torch.log(torch.tensor([[0.1, 0.6, 0.3]])).expand(40_000, -1)
    draws = uniforms(range(40_000), [0] * 40_000, 1)[:, 0]
    shares = torch.bincount(choose(logits, torch.from_numpy(draws), 1.0)[0]) / 40_000
    assert shares.tolist() == pytest.approx([0.1, 0.6, 0.3], abs=0.01)


def test_uniforms_depend_on_seed_index_and_step_only():
    whole = uniforms([5, 5, 6, -1], [0, 1, 0, 0], 4)
    assert np.array_equal(uniforms([5], [1], 2)[0], whole[1, :2])
    assert len(np.unique(whole)) == 16
    assert whole.min() >= 0
    assert whole.max() < 1


def test_a_saved_model_is_an_ordinary_hugging_face_folder(chat, tmp_path):
    chat.save(tmp_path)
    plain = AutoModelForCausalLM.from_pretrained(tmp_path)
    ids = torch.tensor([[1, 5, 30, 6]])
    with torch.no_grad():
        assert torch.equal(plain(ids).logits, chat.network(ids).logits)
    again = TinyChatModel.load(tmp_path)
    assert again.sample(talks(4), seeds=range(4)) == chat.sample(talks(4), seeds=range(4))


def test_wrong_arguments_name_the_value(chat):
    assert isinstance(chat, ChatModel)
    with pytest.raises(ConfigError, match="got 0"):
        chat.sample(talks(1), n=0)
    with pytest.raises(ConfigError, match="got 1 seeds for 2"):
        chat.sample(talks(2), seeds=[1])
    with pytest.raises(ConfigError, match="temperature=-1"):
        chat.sample(talks(1), sampling=Sampling(temperature=-1))
    assert chat.sample([]) == []
