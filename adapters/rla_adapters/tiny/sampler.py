"""A chat model over a tiny Llama: batched, seeded row by row, with exact log-probabilities."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_model
from torch import Tensor, nn
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from rla_adapters.native.batches import Batch
from rla_adapters.sampling import choose, sample_rows
from rla_adapters.tiny.forward import Cache, Packed, pack, prefix_cache, rotation_table, step_logits
from rla_adapters.tiny.model import read_model, save_model
from rla_adapters.tiny.tokenizer import ChatCodec
from rla_envs.errors import ConfigError, RunError
from rla_envs.types import Completion, Conversation, Sampling

PREFILL_TOKENS = 2048
"""Prompt tokens that are run at once: as many as keep the activations in the core's cache."""
COMPACT_AT = 0.75
"""Finished rows are dropped once less than this share of the batch is alive."""


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

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle weights, tokenizer and settings: the lock stays where it is."""
        make = partial(TinyChatModel, sampling=self.sampling, rows=self.rows)
        return make, (self.network, self.tokenizer)

    @classmethod
    def load(cls, folder: Path, *, sampling: Sampling | None = None) -> TinyChatModel:
        """Return the model in a Hugging Face folder written by ``save``."""
        return cls(*read_model(folder), sampling=sampling)

    def save(self, folder: Path) -> None:
        """Write an ordinary Hugging Face folder: config, safetensors, tokenizer, chat template."""
        save_model(self.network, self.tokenizer, folder)

    def restore(self, folder: Path) -> None:
        """Take over in place the weights that ``save`` wrote.

        Raises:
            RunError: they are missing, or those of a model of another shape.
        """
        try:
            load_model(self.network, folder / "model.safetensors")
        except (OSError, RuntimeError, SafetensorError) as error:
            raise RunError(f"cannot restore a model from {folder}: {error}") from error

    @property
    def unknown(self) -> int | None:
        """Id of what the vocabulary lacks; None if it lacks nothing."""
        token = self.tokenizer.unk_token_id
        return None if token is None else int(str(token))

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """Name -> weights that train: all of them."""
        return dict(self.network.named_parameters())

    def scorer(self) -> Callable[[Batch], Tensor]:
        """Return the function from a batch to its replies' logits [R, T, V]; differentiable."""
        packed = pack(self.network, self.rotation)
        return lambda batch: batch.logits(packed)

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
        with self.lock, torch.inference_mode():
            return sample_rows(
                conversations,
                n=n,
                sampling=sampling or self.sampling,
                seeds=seeds,
                model=self,
                decode=partial(self._decode, pack(self.network, self.rotation)),
            )

    def _decode(
        self,
        packed: Packed,
        prompts: Sequence[tuple[int, ...]],
        places_R: Tensor,
        draws_RT: Tensor,
        sampling: Sampling,
    ) -> tuple[Tensor, Tensor]:
        """Return tokens and logprobs, both [R, max_tokens]; meaningless after an end token."""
        rows, steps = draws_RT.shape
        cache, lengths_R, bias = self._prefill(packed, prompts, places_R, steps)
        prefix = cache[0][0].shape[2] - steps
        tokens_RT = torch.full((rows, steps), self.codec.eos)
        logprobs_RT = torch.zeros(rows, steps)
        alive = torch.arange(rows)
        current = torch.tensor([prompt[-1] for prompt in prompts])[places_R]
        going = torch.ones(rows, dtype=torch.bool)
        for step in range(steps):
            positions = lengths_R + step
            logits = step_logits(packed, cache, current, positions, prefix + step, bias)
            current, logprobs = choose(logits, draws_RT[alive, step], sampling.temperature)
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
