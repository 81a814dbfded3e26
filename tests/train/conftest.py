"""A model of 126,000 untrained parameters that all tests of this folder share by copying."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="needs pip install 'rla-envs[train]'")
pytest.importorskip("transformers", reason="needs pip install 'rla-envs[train]'")

from rla_adapters import load_model  # noqa: E402
from rla_adapters.tiny.sampler import TinyChatModel  # noqa: E402


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
