"""Llama-shaped models small enough for one CPU core, as ordinary ``LlamaForCausalLM``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from rla_envs.errors import ConfigError, TaskUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """The shape of a tiny model."""

    hidden: int
    """Width of the residual stream."""
    layers: int
    """Transformer blocks."""
    heads: int
    """Attention heads; hidden / heads is the head size."""
    inner: int
    """Width of the gated feed-forward layer."""


PRESETS = {
    "nano": Preset(hidden=64, layers=2, heads=4, inner=176),
    "micro": Preset(hidden=128, layers=2, heads=4, inner=352),
    "mini": Preset(hidden=192, layers=3, heads=6, inner=512),
}
"""About 0.13, 0.5 and 1.4 million parameters with a vocabulary of 406 words."""


_ENDS = ("pad", "bos", "eos")


def new_model(
    tokenizer: PreTrainedTokenizerFast, preset: str = "micro", *, seed: int, context: int = 512
) -> LlamaForCausalLM:
    """Return an untrained model for tokenizer; the same seed gives the same weights.

    Args:
        tokenizer: From ``build_tokenizer``; its size is the model's vocabulary.
        preset: A key of PRESETS.
        seed: Of the initial weights. The global torch generator is left as it was.
        context: Longest sequence, in tokens.

    Raises:
        ConfigError: no such preset.
    """
    if preset not in PRESETS:
        raise ConfigError(f"model preset must be one of {sorted(PRESETS)}, got {preset!r}")
    shape = PRESETS[preset]
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        **{f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in _ENDS},
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    return model.float().eval()


def save_model(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write a Hugging Face folder: config, safetensors, tokenizer, chat template."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def read_model(folder: Path) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """Return the model and tokenizer that ``save_model`` wrote.

    Raises:
        TaskUnavailable: folder holds no model.
    """
    if not (folder / "config.json").is_file():
        raise TaskUnavailable(
            f"no model in {folder} (config.json is missing); save one there first"
        )
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    return model.eval(), tokenizer
