"""Models and trainers: the only package that imports torch and transformers, when asked to.

``import rla_adapters`` costs nothing. ``load_model`` and ``load_trainer`` bring in what they need
and name the extra to install when it is missing.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rla_envs.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from rla_adapters.native.trainer import PpoConfig
    from rla_adapters.tiny.sampler import TinyChatModel
    from rla_envs.types import ChatModel, Sampling, Trainer

__all__ = ["load_model", "load_trainer", "needs"]


def load_model(
    spec: str, *, seed: int = 0, context: int = 512, sampling: Sampling | None = None
) -> TinyChatModel:
    """Return an embedded chat model.

    Args:
        spec: "tiny:nano", "tiny:micro" or "tiny:mini" for an untrained model with ALFWorld's
            vocabulary, otherwise the path of a folder written by ``TinyChatModel.save``.
        seed: Of an untrained model's weights.
        context: Of an untrained model: longest sequence, in tokens.
        sampling: The model's default sampling.

    Raises:
        MissingExtra: torch, transformers, tokenizers or safetensors is not installed.
        ConfigError: no such preset.
        TaskUnavailable: no model in that folder.
    """
    sampler = needs("rla_adapters.tiny.sampler", extra="train")
    if not spec.startswith("tiny:"):
        return sampler.TinyChatModel.load(Path(spec), sampling=sampling)
    models = needs("rla_adapters.tiny.model", extra="train")
    tokenizers = needs("rla_adapters.tiny.tokenizer", extra="train")
    words = needs("rla_adapters.tiny.words", extra="train")
    tokenizer = tokenizers.build_tokenizer(words.alfworld_words())
    network = models.new_model(tokenizer, spec.removeprefix("tiny:"), seed=seed, context=context)
    return sampler.TinyChatModel(network, tokenizer, sampling=sampling)


def load_trainer(
    spec: str,
    model: ChatModel,
    config: PpoConfig | None = None,
    *,
    seed: int = 0,
    name: str = "policy",
) -> Trainer:
    """Return a trainer that shares the weights of model.

    Args:
        spec: "native", the PPO loop of this package, or "trl", TRL's trainer on the same samples
            (more than one process, its loggers, every optimiser of transformers).
        model: Samples from the weights that the trainer changes.
        config: The trainer's settings; its defaults when None.
        seed: Of the order of samples.
        name: Tells the trainers of a run apart when several processes train.

    Raises:
        MissingExtra: torch or trl is not installed.
        ConfigError: no such trainer, or a TRL that is not supported.
    """
    if spec == "trl":
        needs("rla_adapters.grpo.seam", extra="trl").require_trl()
        backend = needs("rla_adapters.grpo.backend", extra="trl")
        return backend.TrlTrainer(model, config, seed=seed, name=name)
    if spec != "native":
        raise ConfigError(f"trainer must be 'native' or 'trl', got {spec!r}")
    trainer = needs("rla_adapters.native.trainer", extra="train")
    return trainer.NativeTrainer(model, config, seed=seed)


def needs(module: str, *, extra: str) -> ModuleType:
    """Import a module of this package that only an extra makes importable.

    Raises:
        MissingExtra: a third-party package that it imports is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("rla_"):
            raise
        raise MissingExtra(
            f"{module} needs {error.name!r}, which is missing: pip install 'rla-envs[{extra}]'"
        ) from error
