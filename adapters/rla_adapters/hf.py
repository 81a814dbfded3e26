"""Any causal language model of transformers, as policy or judge, whole or with LoRA adapters."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, DynamicCache, LlamaForCausalLM

from rla_adapters.hf_codec import HfCodec
from rla_adapters.native.batches import Batch
from rla_adapters.sampling import choose, sample_rows
from rla_envs.errors import ConfigError, RunError, TaskUnavailable
from rla_envs.types import Completion, Conversation, Sampling

PREFILL_TOKENS = 2048
"""Prompt tokens that are run at once; bounds the memory of activations."""
COMPACT_AT = 0.75
"""Finished rows are dropped once less than this share of the batch is alive."""
ADAPTER = "adapter_config.json"
"""What peft's folders have and a whole model's do not."""
CACHE = "cache" if "cache" in signature(LlamaForCausalLM.forward).parameters else "past_key_values"
"""What this version of transformers calls keys and values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """Low-rank adapters on all linear layers; the model's own weights stay as they are."""

    rank: int = 16
    """Rank of the two factors."""
    alpha: int = 32
    """The adapters' output is scaled by alpha / rank."""


class HfChatModel:
    """Policy or judge over a transformers model (``rla_envs.types.ChatModel``).

    Prompts that are equal are computed once a batch: the n completions of a conversation share the
    keys and values of their prompt. Rows draw from random numbers of their own, as those of the
    embedded models do (``TinyChatModel``), so that seeds promise the same here. At temperature 0
    the likeliest token is taken and log-probabilities are those of temperature 1.

    Calls from several threads, and updates of a trainer that shares the weights, take turns
    (``lock``).

    Args:
        network: A causal language model, or a peft model around one.
        codec: Its tokenizer and chat template.
        sampling: Default of ``sample``.
        rows: Completions that are decoded at once.
        context: Longest sequence, in tokens; what the model's config says when None.
    """

    def __init__(
        self,
        network: Any,
        codec: HfCodec,
        *,
        sampling: Sampling | None = None,
        rows: int = 32,
        context: int | None = None,
    ) -> None:
        if rows < 1:
            raise ConfigError(f"rows must be at least 1, got {rows}")
        longest = int(network.config.max_position_embeddings)
        if context is not None and not 0 < context <= longest:
            raise ConfigError(f"context must be in 1 to {longest}, got {context}")
        self.network, self.codec, self.tokenizer = network.eval(), codec, codec.tokenizer
        self.sampling = sampling or Sampling()
        self.rows = rows
        self.context = context or longest
        self.lock = threading.RLock()

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        lora: Lora | None = None,
        seed: int = 0,
        sampling: Sampling | None = None,
        rows: int = 32,
        context: int | None = None,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> HfChatModel:
        """Return the model in a Hugging Face folder, or with the adapters in a folder of peft's.

        Args:
            folder: Holds a whole model, or adapters that name theirs.
            lora: Put new adapters on the model; None leaves it whole.
            seed: Of new adapters' weights. The global torch generator is left as it was.
            sampling: Default of ``sample``.
            rows: Completions that are decoded at once.
            context: Longest sequence, in tokens; the model's own when None.
            device: Where the weights are.
            dtype: Of the weights. Log-probabilities of a 16-bit model are exact to about 1e-2.

        Raises:
            TaskUnavailable: folder holds no model.
            ConfigError: new adapters are asked for on top of adapters.
        """
        base = _base_of(folder)
        if not (base / "config.json").is_file():
            raise TaskUnavailable(
                f"no model in {base} (config.json is missing); name a Hugging Face folder"
            )
        codec = HfCodec.load(base)
        network: Any = AutoModelForCausalLM.from_pretrained(
            base, dtype=dtype, local_files_only=True
        )
        network = network.to(device)
        if base != folder:
            if lora is not None:
                raise ConfigError(f"{folder} holds adapters already; load it without lora")
            from peft import PeftModel

            network = PeftModel.from_pretrained(network, str(folder), is_trainable=True)
        elif lora is not None:
            network = _with_lora(network, lora, seed)
        return cls(network, codec, sampling=sampling, rows=rows, context=context)

    def save(self, folder: Path) -> None:
        """Write a Hugging Face folder; of a model with adapters only these, and where theirs is."""
        self.network.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def restore(self, folder: Path) -> None:
        """Take over in place the weights that ``save`` wrote.

        Raises:
            RunError: they are missing, or those of a model of another shape.
        """
        if (folder / ADAPTER).is_file() != self._adapted:
            raise RunError(f"{folder} and the model differ in whether they have adapters")
        try:
            if self._adapted:
                from peft import set_peft_model_state_dict
                from peft.utils import load_peft_weights

                found = set_peft_model_state_dict(
                    self.network, load_peft_weights(str(folder), device="cpu")
                )
                unexpected = list(found.unexpected_keys)
            else:
                saved: Any = AutoModelForCausalLM.from_pretrained(
                    folder, dtype=self.network.dtype, local_files_only=True
                )
                unexpected = self.network.load_state_dict(saved.state_dict()).unexpected_keys
        except (OSError, ValueError, RuntimeError) as error:
            raise RunError(f"cannot restore a model from {folder}: {error}") from error
        if unexpected:
            raise RunError(f"{folder} has weights {unexpected[:3]}, which this model lacks")

    @property
    def unknown(self) -> int | None:
        """Id of what the vocabulary lacks; None if it lacks nothing."""
        token = self.tokenizer.unk_token_id
        return None if token is None else int(str(token))

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """Name -> weights that train: the adapters, or all of a whole model's."""
        return {name: p for name, p in self.network.named_parameters() if p.requires_grad}

    def scorer(self) -> Callable[[Batch], Tensor]:
        """Return the function from a batch to its replies' logits [R, T, V]; differentiable."""
        return self._score

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
                decode=self._decode,
            )

    def _decode(
        self,
        prompts: Sequence[tuple[int, ...]],
        places_R: Tensor,
        draws_RT: Tensor,
        sampling: Sampling,
    ) -> tuple[Tensor, Tensor]:
        """Return tokens and logprobs, both [R, max_tokens]; meaningless after an end token."""
        device, (rows, steps) = self.network.device, draws_RT.shape
        cache, mask_RS = self._prefill(prompts)
        if len(prompts) < rows:
            cache.batch_select_indices(places_R.to(device))
            mask_RS = mask_RS[places_R]
        stops = torch.tensor(sorted(self.codec.stops))
        tokens_RT = torch.full((rows, steps), self.codec.eos)
        logprobs_RT = torch.zeros(rows, steps)
        alive, going = torch.arange(rows), torch.ones(rows, dtype=torch.bool)
        current = torch.tensor([prompt[-1] for prompt in prompts])[places_R]
        for step in range(steps):
            positions = mask_RS.sum(dim=1)
            mask_RS = torch.cat([mask_RS, torch.ones_like(mask_RS[:, :1])], dim=1)
            logits = self.network(
                input_ids=current[:, None].to(device),
                attention_mask=mask_RS.to(device),
                position_ids=positions[:, None].to(device),
                use_cache=True,
                **{CACHE: cache},
            ).logits
            current, logprobs = choose(
                logits[:, -1].float().cpu(), draws_RT[alive, step], sampling.temperature
            )
            current = torch.where(going, current, self.codec.eos)
            tokens_RT[alive, step], logprobs_RT[alive, step] = current, logprobs
            going &= ~torch.isin(current, stops) & (positions + 2 < self.context)
            left = int(going.sum())
            if left == 0:
                break
            if left < COMPACT_AT * len(alive):
                keep = going.nonzero().squeeze(1)
                cache.batch_select_indices(keep.to(device))
                alive, current, mask_RS, going = (
                    kept[keep] for kept in (alive, current, mask_RS, going)
                )
        return tokens_RT, logprobs_RT

    def _prefill(self, prompts: Sequence[tuple[int, ...]]) -> tuple[DynamicCache, Tensor]:
        """Return keys and values of prompts without their last token, and which are real [U, P].

        Prompts are padded on the left, so that sliding windows see what they would see alone.
        """
        longest = max(map(len, prompts)) - 1
        ids_UP = torch.full((len(prompts), longest), self.codec.eos)
        mask_UP = torch.zeros(len(prompts), longest, dtype=torch.int64)
        for row, prompt in enumerate(prompts):
            ids_UP[row, longest - len(prompt) + 1 :] = torch.tensor(prompt[:-1])
            mask_UP[row, longest - len(prompt) + 1 :] = 1
        chunk = max(1, PREFILL_TOKENS // max(1, longest))
        pieces = [
            self._keys_values(ids, mask)
            for ids, mask in zip(ids_UP.split(chunk), mask_UP.split(chunk), strict=True)
        ]
        whole = pieces[0]
        for layer, *others in zip(*(piece.layers for piece in pieces), strict=True):
            if others:
                layer.keys = torch.cat([layer.keys, *(other.keys for other in others)])
                layer.values = torch.cat([layer.values, *(other.values for other in others)])
        return whole, mask_UP

    def _keys_values(self, ids_UP: Tensor, mask_UP: Tensor) -> DynamicCache:
        cache = DynamicCache(config=self.network.config)
        if ids_UP.shape[1]:
            device = self.network.device
            self.network(
                input_ids=ids_UP.to(device),
                attention_mask=mask_UP.to(device),
                position_ids=(mask_UP.cumsum(dim=1) - 1).clamp(min=0).to(device),
                use_cache=True,
                logits_to_keep=1,
                **{CACHE: cache},
            )
        return cache

    def _score(self, batch: Batch) -> Tensor:
        device, longest = self.network.device, batch.prefix_UP.shape[1]
        rows = torch.arange(len(batch.lengths_R)) if batch.rows_R is None else batch.rows_R
        lengths_U = torch.zeros(len(batch.prefix_UP), dtype=torch.int64)
        lengths_U[rows] = batch.lengths_R
        # From right to left padding; see _prefill.
        places_UP = torch.arange(longest) - (longest - lengths_U)[:, None]
        mask_UP = (places_UP >= 0).long()
        cache = self._keys_values(batch.prefix_UP.gather(1, places_UP.clamp(min=0)), mask_UP)
        if batch.rows_R is not None:
            cache.batch_select_indices(rows.to(device))
        mask_RS = torch.cat([mask_UP[rows], batch.mask_RT.long()], dim=1)
        steps = torch.arange(batch.inputs_RT.shape[1])
        logits = self.network(
            input_ids=batch.inputs_RT.to(device),
            attention_mask=mask_RS.to(device),
            position_ids=(batch.lengths_R[:, None] + steps).to(device),
            use_cache=True,
            **{CACHE: cache},
        ).logits
        return logits.float().cpu()

    @property
    def _adapted(self) -> bool:
        return hasattr(self.network, "peft_config")


def _base_of(folder: Path) -> Path:
    """Return the folder of the whole model: folder itself, or the one its adapters name."""
    if not (folder / ADAPTER).is_file():
        return folder
    from peft import PeftConfig

    return Path(str(PeftConfig.from_pretrained(str(folder)).base_model_name_or_path))


def _with_lora(network: Any, lora: Lora, seed: int) -> Any:
    from peft import LoraConfig, get_peft_model

    settings = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return get_peft_model(network, settings)
