"""Sampling that the models of this process share: rows to draw, their seeds, where they end."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rla_envs.errors import ConfigError
from rla_envs.types import Completion, Conversation, Sampling

EMBEDDED_CONTEXT = 512
"""Longest sequence of the embedded models, in tokens: a large room before and after a step."""

Decode = Callable[
    [Sequence[tuple[int, ...]], Tensor, Tensor, Sampling],
    tuple[Tensor, Tensor],
]
"""Distinct prompts, the prompt of each row [R], uniform numbers [R, T] and how to draw -> tokens
and their logprobs, both [R, T] and meaningless after a row's end token."""


class Codec(Protocol):
    """Conversations to ids and back."""

    @property
    def stops(self) -> Collection[int]:
        """Ids that end a completion."""
        ...

    def prompt(self, conversation: Conversation) -> tuple[int, ...]:
        """Return the ids of the conversation, up to where the assistant's reply begins."""
        ...

    def reply(self, text: str) -> tuple[int, ...]:
        """Return the ids of an assistant's reply, the end token included."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids without special tokens."""
        ...


class Local(Protocol):
    """What ``sample_rows`` asks of a model."""

    rows: int
    """Completions that are decoded at once."""

    @property
    def codec(self) -> Codec:
        """Its tokenizer and chat template."""
        ...

    @property
    def context(self) -> int:
        """Longest sequence, in tokens."""
        ...


@dataclass(frozen=True, slots=True)
class _Row:
    """One completion to draw."""

    prompt: tuple[int, ...]
    conversation: int
    index: int
    seed: int


def sample_rows(
    conversations: Sequence[Conversation],
    *,
    n: int,
    sampling: Sampling,
    seeds: Sequence[int] | None,
    model: Local,
    decode: Decode,
) -> list[list[Completion]]:
    """Return n completions for each conversation, in order; see ``ChatModel.sample``.

    Raises:
        ConfigError: n < 1, a temperature below 0, or another number of seeds than conversations.
    """
    check_request(conversations, n, sampling, seeds)
    if seeds is None:
        seeds = [secrets.randbits(64) for _ in conversations]
    results: list[list[Completion | None]] = [[None] * n for _ in conversations]
    rows: list[_Row] = []
    for place, (conversation, seed) in enumerate(zip(conversations, seeds, strict=True)):
        prompt = model.codec.prompt(conversation)
        if len(prompt) >= model.context:
            results[place] = [Completion(text="", prompt_ids=prompt, stop="overflow")] * n
        else:
            rows += [_Row(prompt, place, index, seed) for index in range(n)]
    # Equal prompts become neighbours, and neighbours are of nearly equal length.
    rows.sort(key=lambda row: (len(row.prompt), row.prompt))
    for start in range(0, len(rows), model.rows):
        batch = rows[start : start + model.rows]
        for row, completion in zip(batch, _draw(batch, sampling, model, decode), strict=True):
            results[row.conversation][row.index] = completion
    return [[c for c in completions if c is not None] for completions in results]


def _draw(
    rows: Sequence[_Row], sampling: Sampling, model: Local, decode: Decode
) -> list[Completion]:
    prompts = list(dict.fromkeys(row.prompt for row in rows))
    places = {prompt: place for place, prompt in enumerate(prompts)}
    draws = uniforms([r.seed for r in rows], [r.index for r in rows], sampling.max_tokens)
    tokens, logprobs = decode(
        prompts,
        torch.tensor([places[row.prompt] for row in rows]),
        torch.from_numpy(draws),
        sampling,
    )
    return [
        cut_completion(row.prompt, ids, values, codec=model.codec, context=model.context)
        for row, ids, values in zip(rows, tokens.tolist(), logprobs.tolist(), strict=True)
    ]


def cut_completion(
    prompt: tuple[int, ...],
    tokens: Sequence[int],
    logprobs: Sequence[float],
    *,
    codec: Codec,
    context: int,
) -> Completion:
    """Return tokens as a completion, cut after the first end token or at the end of the context."""
    room = min(len(tokens), context - len(prompt))
    end = next((i + 1 for i, token in enumerate(tokens[:room]) if token in codec.stops), None)
    ids = tuple(tokens[: end or room])
    return Completion(
        text=codec.decode(ids),
        prompt_ids=prompt,
        token_ids=ids,
        logprobs=tuple(logprobs[: len(ids)]),
        stop="stop" if end else "length",
    )


def choose(logits_RV: Tensor, draws_R: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return tokens [R] and their logprobs [R], by inverting each row's distribution function.

    Args:
        logits_RV: Raw logits.
        draws_R: Uniform numbers in [0, 1), float64.
        temperature: 0 takes the likeliest token and reports log-probabilities at temperature 1.
    """
    logprobs_RV = torch.log_softmax(logits_RV / (temperature or 1.0), dim=-1)
    if temperature == 0:
        tokens = logprobs_RV.argmax(dim=-1)
    else:
        distribution = logprobs_RV.double().exp_().cumsum(dim=-1)
        levels = draws_R[:, None] * distribution[:, -1:]
        tokens = torch.searchsorted(distribution, levels, right=True).squeeze(1)
        tokens.clamp_(max=logits_RV.shape[1] - 1)
    return tokens, logprobs_RV.gather(1, tokens[:, None]).squeeze(1)


def uniforms(seeds: Sequence[int], indices: Sequence[int], steps: int) -> NDArray[np.float64]:
    """Return numbers [R, steps] in [0, 1), each a hash of its row's seed and index and its step.

    SplitMix64 (Steele, Lea, Flood 2014) used as a counter-based generator: no state, all rows at
    once.
    """
    seeds_R = np.array([seed & 0xFFFF_FFFF_FFFF_FFFF for seed in seeds], dtype=np.uint64)
    indices_R = np.array(indices, dtype=np.uint64)
    stream_R = _mix(_mix(seeds_R) + (indices_R + np.uint64(1)) * _GOLDEN)
    counters_T = np.arange(1, steps + 1, dtype=np.uint64) * _GOLDEN
    bits_RT = _mix(stream_R[:, None] + counters_T) >> np.uint64(11)
    return bits_RT.astype(np.float64) * 2.0**-53


_GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return z ^ (z >> np.uint64(31))


def check_request(
    conversations: Sequence[Conversation],
    n: int,
    sampling: Sampling,
    seeds: Sequence[int] | None,
) -> None:
    """Raise ConfigError when the arguments of ``ChatModel.sample`` contradict each other."""
    if n < 1:
        raise ConfigError(f"n must be at least 1, got {n}")
    if sampling.temperature < 0 or sampling.max_tokens < 1:
        raise ConfigError(f"sampling needs temperature >= 0 and max_tokens >= 1, got {sampling}")
    if seeds is not None and len(seeds) != len(conversations):
        raise ConfigError(
            f"one seed a conversation: got {len(seeds)} seeds for {len(conversations)} chats"
        )
