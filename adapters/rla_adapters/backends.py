"""Which class serves which model spec; nothing is imported before it is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rla_adapters.sampling import EMBEDDED_CONTEXT
from rla_envs.errors import ConfigError, TaskUnavailable
from rla_envs.types import ChatModel, Sampling

if TYPE_CHECKING:
    from rla_adapters.native.model import TrainableModel
    from rla_adapters.tiny.sampler import TinyChatModel

EMBEDDED = ("nano", "micro", "mini")
"""Names of the embedded models' shapes."""
REMOTE = ("vllm:", "openai:", "http://", "https://")
"""How specs begin of models whose weights are not in reach of a trainer of this process."""
KNOWN = (
    "tiny:nano, smollm2, the folder of a Hugging Face model, hf:FOLDER, vllm:FOLDER,"
    " 'http://host:port/v1 MODEL [TOKENIZER FOLDER]' for a vLLM server, openai:MODEL@BASE_URL"
)


def open_model(
    spec: str,
    *,
    seed: int = 0,
    context: int | None = None,
    lora: int = 0,
    sampling: Sampling | None = None,
) -> ChatModel:
    """Return the chat model that spec names; see ``rla_adapters.load_model``."""
    kind, _, rest = spec.partition(":")
    if kind == "tiny":
        return embedded_model(rest, seed=seed, context=context, sampling=sampling)
    if kind == "vllm":
        from rla_adapters.vllm_engine import VllmChatModel

        return VllmChatModel(Path(rest), context=context, sampling=sampling)
    if kind == "openai":
        from rla_adapters.openai_api import OpenAIChatModel

        model, _, url = rest.partition("@")
        if not model or not url:
            raise ConfigError(f"expected openai:MODEL@BASE_URL, got {spec!r}")
        return OpenAIChatModel(url, model, sampling=sampling)
    if kind in ("http", "https"):
        from rla_adapters.vllm_server import VllmServerModel

        url, *words = spec.split()
        if len(words) not in (1, 2):
            raise ConfigError(f"expected 'URL MODEL [TOKENIZER FOLDER]', got {spec!r}")
        folder = Path(words[1]) if len(words) == 2 else None
        return VllmServerModel(url, words[0], tokenizer=folder, sampling=sampling)
    if spec == "smollm2":
        from rla_adapters.smollm2 import get_smollm2

        return _transformers(get_smollm2(), seed, context, lora, sampling)
    folder = Path(rest if kind == "hf" else spec)
    if is_embedded(folder) and kind != "hf":
        return saved_model(folder, sampling=sampling)
    return _transformers(folder, seed, context, lora, sampling)


def require(spec: str) -> None:
    """Check, without loading anything, that the folder which spec names holds a model.

    Raises:
        TaskUnavailable: it does not.
    """
    if spec not in (*EMBEDDED, "smollm2") and not spec.startswith((*REMOTE, "tiny:")):
        is_embedded(Path(spec.removeprefix("hf:")))


def embedded_model(
    preset: str,
    *,
    seed: int,
    context: int | None = None,
    sampling: Sampling | None = None,
) -> TinyChatModel:
    """Return an untrained embedded model with ALFWorld's vocabulary.

    Raises:
        ConfigError: no such preset.
    """
    from rla_adapters.tiny.model import new_model
    from rla_adapters.tiny.sampler import TinyChatModel
    from rla_adapters.tiny.tokenizer import build_tokenizer
    from rla_adapters.tiny.words import alfworld_words

    tokenizer = build_tokenizer(alfworld_words())
    network = new_model(tokenizer, preset, seed=seed, context=context or EMBEDDED_CONTEXT)
    return TinyChatModel(network, tokenizer, sampling=sampling)


def saved_model(folder: Path, *, sampling: Sampling | None = None) -> TrainableModel:
    """Return the model that a ``TinyChatModel`` or an ``HfChatModel`` has saved in folder."""
    if is_embedded(folder):
        from rla_adapters.tiny.sampler import TinyChatModel

        return TinyChatModel.load(folder, sampling=sampling)
    from rla_adapters.hf import HfChatModel

    return HfChatModel.load(folder, sampling=sampling)


def is_embedded(folder: Path) -> bool:
    """Return whether folder holds an embedded model, by its config and its tokenizer.

    Raises:
        TaskUnavailable: folder holds no model at all.
    """
    if (folder / "adapter_config.json").is_file():
        return False
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TaskUnavailable(
            f"no model in {folder} (config.json is missing); a model is one of: {KNOWN}"
        ) from None
    try:
        words: dict[str, Any] = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    return config.get("model_type") == "llama" and words["model"].get("type") == "WordLevel"


def _transformers(
    folder: Path, seed: int, context: int | None, lora: int, sampling: Sampling | None
) -> ChatModel:
    from rla_adapters.hf import HfChatModel, Lora

    adapters = Lora(rank=lora, alpha=2 * lora) if lora else None
    return HfChatModel.load(folder, lora=adapters, seed=seed, context=context, sampling=sampling)
