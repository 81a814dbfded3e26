"""Models and trainers: the only package that imports torch and transformers, when asked to.

``import rla_adapters`` costs nothing. ``load_model`` and ``load_trainer`` bring in what they need
and name the extra to install when it is missing.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from rla_envs.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from rla_adapters.native.trainer import PpoConfig
    from rla_envs.types import ChatModel, Sampling, Trainer

__all__ = ["load_model", "load_trainer", "needs"]

_EXTRAS = {"peft": "models", "gguf": "models", "vllm": "vllm", "openai": "openai"}


def load_model(
    spec: str,
    *,
    seed: int = 0,
    context: int | None = None,
    lora: int = 0,
    sampling: Sampling | None = None,
) -> ChatModel:
    """Return a chat model.

    Args:
        spec: "tiny:nano", "tiny:micro" or "tiny:mini" for an untrained embedded model with
            ALFWorld's vocabulary; "smollm2"; the folder of an embedded or any other Hugging Face
            model, told apart by their configs, or "hf:FOLDER" for transformers in any case;
            "vllm:FOLDER" for vLLM in this process; "http://host:port/v1 MODEL [TOKENIZER FOLDER]"
            for a vLLM server; "openai:MODEL@BASE_URL" for any OpenAI-compatible service.
        seed: Of untrained weights: those of an embedded model or of new adapters.
        context: Longest sequence, in tokens; None is 512 for an untrained embedded model and what
            the config says for others.
        lora: Rank of new adapters on a transformers model; 0 leaves it whole.
        sampling: The model's default sampling.

    Raises:
        MissingExtra: a package is not installed.
        ConfigError: no such preset, or a spec that is incomplete.
        TaskUnavailable: no model in that folder.
        ModelError: the server does not answer.
    """
    try:
        backends = import_module("rla_adapters.backends")
        return backends.open_model(spec, seed=seed, context=context, lora=lora, sampling=sampling)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        raise _missing(f"model {spec!r}", error, _EXTRAS.get(name, "train")) from error


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
        raise _missing(module, error, extra) from error


def _missing(what: str, error: ModuleNotFoundError, extra: str) -> ImportError:
    """Return the error that names the extra; error itself when a module of ours is missing."""
    if error.name is None or error.name.startswith("rla_"):
        return error
    return MissingExtra(
        f"{what} needs {error.name!r}, which is missing: pip install 'rla-envs[{extra}]'"
    )
