"""A chat model over a tiny Llama: batched, seeded row by row, with exact log-probabilities."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from rla_adapters.tiny.forward import Cache, Packed, pack, prefix_cache, rotation_table, step_logits
from rla_adapters.tiny.model import read_model, save_model
from rla_adapters.tiny.tokenizer import ChatCodec
from rla_envs.errors import ConfigError
from rla_envs.types import Completion, Conversation, Sampling

PREFILL_TOKENS = 2048
"""Prompt tokens that are run at once: as many as keep the activations in the core's cache."""
COMPACT_AT = 0.75
"""Finished rows are dropped once less than this share of the batch is alive."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One completion to draw."""

    prompt: tuple[int, ...]
    conversation: int
    index: int
    seed: int


class TinyChatModel:
    """Policy or judge of a few hundred thousand parameters (``rla_envs.types.ChatModel``).

    Every row draws from random numbers of its own, a function of its conversation's seed, its index
    among the n completions and the token's position. What else is in the batch can change logits
    only by rounding (about 1e-6), so that a token differs only if its random number falls that
    close to a boundary; the same batch gives the same bits. At temperature 0 the likeliest token is
    taken and log-probabilities are those of temperature 1.

    Calls from several threads, and updates of a trainer that shares the weights, take turns
    (``lock``).

    Args:
        model: The weights; shared, not copied.
        tokenizer: From ``build_tokenizer``.
        sampling: Default of ``sample``.
        rows: Completions that are decoded at once.
    """

    def __init__(
        self,
        model: LlamaForCausalLM,
        tokenizer: PreTrainedTokenizerFast,
        *,
        sampling: Sampling | None = None,
        rows: int = 128,
    ) -> None:
        if rows < 1:
            raise ConfigError(f"rows must be at least 1, got {rows}")
        self.network, self.tokenizer = model, tokenizer
        self.codec = ChatCodec(tokenizer)
        self.sampling = sampling or Sampling()
        self.rows = rows
        self.lock = threading.RLock()
        self.rotation = rotation_table(model)

    @classmethod
    def load(cls, folder: Path, *, sampling: Sampling | None = None) -> TinyChatModel:
        """Return the model in a Hugging Face folder written by ``save``."""
        return cls(*read_model(folder), sampling=sampling)

    def save(self, folder: Path) -> None:
        """Write an ordinary Hugging Face folder: config, safetensors, tokenizer, chat template."""
        save_model(self.network, self.tokenizer, folder)

    @property
    def context(self) -> int:
        """Longest sequence, prompt and completion together, in tokens."""
        return int(self.network.config.max_position_embeddings)

    def sample(
        self,
        conversations: Sequence[Conversation],
        *,
        n: int = 1,
        sampling: Sampling | None = None,
        seeds: Sequence[int] | None = None,
    ) -> list[list[Completion]]:
        """Return n completions for each conversation, in order (see ``ChatModel.sample``).

        A prompt that leaves no room for a single token overflows; one that leaves less room than
        ``max_tokens`` stops with "length" at the end of the context.

        Raises:
            ConfigError: n < 1, a temperature below 0, or another number of seeds than
                conversations.
        """
        sampling = sampling or self.sampling
        _check(conversations, n, sampling, seeds)
        if seeds is None:
            seeds = [secrets.randbits(64) for _ in conversations]
        results: list[list[Completion | None]] = [[None] * n for _ in conversations]
        rows: list[_Row] = []
        for place, (conversation, seed) in enumerate(zip(conversations, seeds, strict=True)):
            prompt = self.codec.prompt(conversation)
            if len(prompt) >= self.context:
                results[place] = [Completion(text="", prompt_ids=prompt, stop="overflow")] * n
            else:
                rows += [_Row(prompt, place, index, seed) for index in range(n)]
        # Equal prompts become neighbours, and neighbours are of nearly equal length.
        rows.sort(key=lambda row: (len(row.prompt), row.prompt))
        with self.lock, torch.inference_mode():
            packed = pack(self.network, self.rotation)
            for start in range(0, len(rows), self.rows):
                batch = rows[start : start + self.rows]
                for row, completion in zip(batch, self._draw(packed, batch, sampling), strict=True):
                    results[row.conversation][row.index] = completion
        return [[c for c in completions if c is not None] for completions in results]

    def _draw(self, packed: Packed, rows: Sequence[_Row], sampling: Sampling) -> list[Completion]:
        prompts = list(dict.fromkeys(row.prompt for row in rows))
        places = {prompt: place for place, prompt in enumerate(prompts)}
        tokens, logprobs = self._decode(
            packed,
            prompts,
            torch.tensor([places[row.prompt] for row in rows]),
            uniforms([row.seed for row in rows], [row.index for row in rows], sampling.max_tokens),
            sampling,
        )
        return [
            self._completion(row.prompt, ids, values)
            for row, ids, values in zip(rows, tokens.tolist(), logprobs.tolist(), strict=True)
        ]

    def _completion(
        self, prompt: tuple[int, ...], tokens: list[int], logprobs: list[float]
    ) -> Completion:
        """Cut a row of the batch at its end token or at the end of the context."""
        length = min(len(tokens), self.context - len(prompt))
        stopped = self.codec.eos in tokens[:length]
        if stopped:
            length = tokens.index(self.codec.eos) + 1
        ids = tuple(tokens[:length])
        return Completion(
            text=self.codec.decode(ids),
            prompt_ids=prompt,
            token_ids=ids,
            logprobs=tuple(logprobs[:length]),
            stop="stop" if stopped else "length",
        )

    def _decode(
        self,
        packed: Packed,
        prompts: Sequence[tuple[int, ...]],
        places_R: Tensor,
        uniforms_RT: NDArray[np.float64],
        sampling: Sampling,
    ) -> tuple[Tensor, Tensor]:
        """Return tokens and logprobs, both [R, max_tokens]; meaningless after an end token."""
        rows, steps = uniforms_RT.shape
        cache, lengths_R, bias = self._prefill(packed, prompts, places_R, steps)
        prefix = cache[0][0].shape[2] - steps
        draws = torch.from_numpy(uniforms_RT)
        tokens_RT = torch.full((rows, steps), self.codec.eos)
        logprobs_RT = torch.zeros(rows, steps)
        alive = torch.arange(rows)
        current = torch.tensor([prompt[-1] for prompt in prompts])[places_R]
        going = torch.ones(rows, dtype=torch.bool)
        for step in range(steps):
            positions = lengths_R + step
            logits = step_logits(packed, cache, current, positions, prefix + step, bias)
            current, logprobs = choose(logits, draws[alive, step], sampling.temperature)
            tokens_RT[alive, step] = torch.where(going, current, self.codec.eos)
            logprobs_RT[alive, step] = logprobs
            going &= (current != self.codec.eos) & (positions + 2 < self.context)
            left = int(going.sum())
            if left == 0:
                break
            if left < COMPACT_AT * len(alive):
                keep = going.nonzero().squeeze(1)
                cache = [(k[keep], v[keep]) for k, v in cache]
                bias = None if bias is None else bias[keep]
                alive, current, lengths_R = alive[keep], current[keep], lengths_R[keep]
                going = going[keep]
        return tokens_RT, logprobs_RT

    def _prefill(
        self, packed: Packed, prompts: Sequence[tuple[int, ...]], places_R: Tensor, room: int
    ) -> tuple[Cache, Tensor, Tensor | None]:
        """Return every row's prefix with room behind it, prefix lengths, the padding's bias."""
        lengths = [len(prompt) - 1 for prompt in prompts]
        longest = max(lengths)
        ids = torch.full((len(prompts), longest), self.codec.pad)
        for row, prompt in enumerate(prompts):
            ids[row, : len(prompt) - 1] = torch.tensor(prompt[:-1])
        lengths_U = torch.tensor(lengths)
        kv, _, size = packed.groups
        shape = (len(places_R), kv, longest + room, size)
        cache = [(torch.empty(shape), torch.empty(shape)) for _ in packed.blocks]
        chunk = max(1, PREFILL_TOKENS // max(1, longest))
        # Rows of one prompt are neighbours, so a chunk of prompts fills a slice of rows.
        ends = torch.bincount(places_R, minlength=len(prompts)).cumsum(0).tolist()
        start = 0
        for first in range(0, len(prompts), chunk):
            last = min(first + chunk, len(prompts))
            part = slice(start, ends[last - 1])
            shared = part.stop - part.start > last - first
            pieces = prefix_cache(packed, ids[first:last])
            for buffers, piece in zip(cache, pieces, strict=True):
                for buffer, prefixes in zip(buffers, piece, strict=True):
                    rows = prefixes[places_R[part] - first] if shared else prefixes
                    buffer[part, :, :longest] = rows
            start = part.stop
        bias = None
        if min(lengths) < longest:
            padded = torch.arange(longest) >= lengths_U[:, None]
            bias = torch.zeros(padded.shape).masked_fill_(padded, float("-inf"))[places_R]
        return cache, lengths_U[places_R], bias


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


def _check(
    conversations: Sequence[Conversation],
    n: int,
    sampling: Sampling,
    seeds: Sequence[int] | None,
) -> None:
    if n < 1:
        raise ConfigError(f"n must be at least 1, got {n}")
    if sampling.temperature < 0 or sampling.max_tokens < 1:
        raise ConfigError(f"sampling needs temperature >= 0 and max_tokens >= 1, got {sampling}")
    if seeds is not None and len(seeds) != len(conversations):
        raise ConfigError(
            f"one seed a conversation: got {len(seeds)} seeds for {len(conversations)} chats"
        )
