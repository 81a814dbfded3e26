"""An untrained model of 126,000 parameters and the rows that all tests of this folder share."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

if os.environ.get("CI") != "true":
    pytest.importorskip("trl", reason="needs pip install 'rla-envs[train,trl]'")

import torch
from rla_adapters import load_model
from rla_adapters.tiny.sampler import TinyChatModel

from rla_envs.types import TrainingSample


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def make_chat() -> Callable[..., TinyChatModel]:
    """Return a maker of equal models, their weights spread: distributions are far from uniform."""

    def make(context: int = 128) -> TinyChatModel:
        chat = load_model("tiny:nano", seed=3, context=context)
        with torch.no_grad():
            for weight in chat.network.parameters():
                weight.mul_(4.0) if weight.ndim == 2 else weight.mul_(1.3)
        return chat

    return make


@pytest.fixture
def chat(make_chat: Callable[..., TinyChatModel]) -> TinyChatModel:
    return make_chat()


@pytest.fixture
def sample() -> Callable[..., TrainingSample]:
    def make(prompt=(1, 5, 30, 31, 6), tokens=(40, 41, 42, 2), advantage=1.0, logprobs=()):
        return TrainingSample(
            prompt_ids=prompt,
            token_ids=tokens,
            logprobs=logprobs,
            advantage=advantage,
            source="policy",
        )

    return make


@pytest.fixture
def turns(sample) -> list[TrainingSample]:
    """Return the golden rows: turn 1 with advantage +1, turn 2 with -0.5, four tokens each."""
    return [sample(), sample((1, 5, 32, 6), (43, 44, 45, 2), -0.5)]


@pytest.fixture
def rows(sample) -> list[TrainingSample]:
    """Return twelve rows of four prompts, replies of one to four tokens."""
    shapes = [(3, 2, 1.0), (9, 4, -0.5), (3, 3, 0.3), (20, 1, -1.2)] * 3
    return [
        sample((1, 5, *range(20, 20 + length), 6), tuple(range(60, 60 + reply)), advantage)
        for length, reply, advantage in shapes
    ]


@pytest.fixture
def apart() -> Callable[[TinyChatModel, TinyChatModel], float]:
    """Return the function that gives the largest difference of two models' weights."""

    def largest(one, other):
        pairs = zip(one.network.parameters(), other.network.parameters(), strict=True)
        return max(float((a.detach() - b.detach()).abs().max()) for a, b in pairs)

    return largest
