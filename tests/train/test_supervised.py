"""The warm start learns what it is shown and says what it left out."""

from __future__ import annotations

import pytest
import torch
from rla_adapters.native.supervised import FitConfig, fit, reply_logprobs

from rla_envs.errors import ConfigError
from rla_envs.types import Sampling


def row(question, reply, weight=1.0):
    return ({"role": "user", "content": question},), reply, weight


ROWS = [row(f"{thing} {n}", f"take {thing} {n}") for thing in ("mug", "pan") for n in range(1, 5)]


def test_replies_are_learned_to_the_letter(chat):
    seen = []
    metrics = fit(
        chat, ROWS, FitConfig(epochs=150, target_loss=0.02, lr=5e-3), progress=seen.append
    )
    assert metrics["loss"] <= 0.02
    assert metrics["epochs"] == seen[-1].epoch < 150
    assert metrics["unknown"] == 0
    completions = chat.sample([r[0] for r in ROWS], sampling=Sampling(temperature=0))
    assert [c[0].text for c in completions] == [r[1] for r in ROWS]
    assert [c[0].stop for c in completions] == ["stop"] * 8


def test_weights_decide_between_contradicting_rows(chat):
    rows = [row("which ?", "mug", 3.0), row("which ?", "pan", 1.0), row("which ?", "bed", 0.0)]
    fit(chat, rows, FitConfig(epochs=200, lr=3e-3, weight_decay=0.0))
    question = rows[0][0]
    scores = reply_logprobs(chat, [(question, "mug"), (question, "pan")])
    # Cross-entropy is least at the weighted shares: 3/4 and 1/4.
    shares = torch.tensor(scores).exp().tolist()
    assert shares == pytest.approx([0.75, 0.25], abs=0.05)


def test_progress_can_stop_the_fit(chat):
    assert fit(chat, ROWS, FitConfig(epochs=9), progress=lambda p: p.epoch == 2)["epochs"] == 2


def test_over_long_rows_are_dropped_and_unknown_words_counted(chat):
    rows = [row("mug " * 200, "take mug"), row("mug", "take zeppelin")]
    metrics = fit(chat, rows, FitConfig(epochs=1))
    assert (metrics["dropped_overlong"], metrics["rows"]) == (1, 1)
    # take, zeppelin, <eos>: one of three is unknown.
    assert metrics["unknown"] == pytest.approx(1 / 3)


def test_nothing_to_learn_is_an_error(chat):
    with pytest.raises(ConfigError, match="of 1 rows 1 are too long"):
        fit(chat, [row("mug " * 200, "take mug")])


def test_a_replys_score_is_the_sum_of_its_sampled_logprobs(chat):
    talk = ({"role": "user", "content": "mug 1 in cabinet 2"},)
    completion = chat.sample([talk], n=1, sampling=Sampling(temperature=0, max_tokens=1))[0][0]
    word = chat.codec.decode(completion.token_ids)
    tail = torch.tensor([completion.prompt_ids + chat.codec.reply(word)])
    with torch.no_grad():
        end = torch.log_softmax(chat.network(tail).logits[0, -2], -1)[chat.codec.eos]
    expected = completion.logprobs[0] + float(end)
    assert reply_logprobs(chat, [(talk, word)]) == pytest.approx([expected], abs=1e-4)
