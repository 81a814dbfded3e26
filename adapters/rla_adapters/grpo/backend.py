"""The trainer "trl" of a run: one call of GRPOTrainer.train an update, weights shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, cast

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from trl import GRPOConfig  # pyright: ignore[reportPrivateImportUsage]

from rla_adapters.grpo.trainer import StepGRPOTrainer
from rla_adapters.native.checkpoint import load_trainer, save_trainer
from rla_adapters.native.model import TrainableModel
from rla_adapters.native.trainer import PpoConfig
from rla_adapters.native.updates import Selected, select
from rla_envs.errors import ConfigError
from rla_envs.types import TrainingSample

SET_HERE = frozenset(
    {
        "per_device_train_batch_size",
        "gradient_accumulation_steps",
        "steps_per_generation",
        "generation_batch_size",
        "max_steps",
        "num_train_epochs",
        "num_iterations",
        "num_generations",
        "save_strategy",
        "use_vllm",
        "loss_type",
    }
)
"""Arguments of GRPOConfig that follow from the samples of an update."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrlConfig(PpoConfig):
    """Settings of the TRL trainer: those of the native one, and whatever else TRL can do."""

    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments of ``trl.GRPOConfig``: bf16, report_to, logging_dir, fsdp, optim,
    activation_checkpointing, ..."""

    def __post_init__(self) -> None:
        # super() without arguments does not work in a class with slots.
        PpoConfig.__post_init__(self)
        if taken := sorted(SET_HERE & self.arguments.keys()):
            raise ConfigError(f"{taken[0]} cannot be set: it follows from an update's samples")


class NetworkModel(TrainableModel, Protocol):
    """A chat model around a transformers network: ``TinyChatModel`` and ``HfChatModel``."""

    @property
    def network(self) -> PreTrainedModel:
        """The network, or peft's wrapper of one."""
        ...

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Its tokenizer."""
        ...


class TrlTrainer:
    """TRL behind ``rla_envs.types.Trainer``: same samples, same objective as ``NativeTrainer``.

    Weights are shared with ``model()``; they train on the device where they are. Under ``accelerate
    launch`` the main process runs the loop and calls ``update``, ``load`` and, at the end,
    ``close``, while all others are in ``follow``. DeepSpeed is set up anew by every
    ``train`` call and would forget its optimiser's state: use ``StepGRPOTrainer`` with one long
    ``train`` call there.

    Args:
        model: The chat model whose weights are trained.
        config: Settings.
        seed: Of the order of samples. The order of update k depends on seed and k only.
        name: Tells the trainers of a run apart in ``follow``.
        folder: Where TRL's loggers write; a temporary one when None.
    """

    def __init__(
        self,
        model: NetworkModel,
        config: PpoConfig | None = None,
        *,
        seed: int = 0,
        name: str = "policy",
        folder: Path | None = None,
    ) -> None:
        config = config or TrlConfig()
        if not isinstance(config, TrlConfig):
            config = TrlConfig(**asdict(config))
        self.config = config
        # TRL hands it to NumPy, which takes 32 bits.
        self.seed = seed % 2**32
        self.name = name
        self._chat = model
        self._scratch = TemporaryDirectory(prefix="rla-trl-") if folder is None else None
        self._selected = Selected(kept=[], counts={})
        self._steps = 0
        arguments = self._arguments(str(folder or cast("Any", self._scratch).name))
        self._trainer = StepGRPOTrainer(
            model.network,
            lambda number: self._selected.kept,
            arguments,
            model.tokenizer,
            ratio_cap=config.ratio_cap,
            max_length=config.max_length or model.context,
        )
        self._trainer.create_optimizer()
        self._chat.network.eval()

    @property
    def updates(self) -> int:
        """Updates so far."""
        return self._trainer.collections

    def model(self) -> NetworkModel:
        """Return the chat model that samples from the current weights."""
        return self._chat

    def update(self, samples: Sequence[TrainingSample]) -> dict[str, float]:
        """Run one update and return its metrics.

        Those of ``NativeTrainer.update`` except ``ratio_max``; ``kl`` and ``clip_share`` are means
        over optimiser steps of what TRL logs.

        Raises:
            ConfigError: a malformed sample.
            ModelError: a gradient is not finite; the weights are those before the offending step.
        """
        limit = self.config.max_length or self._chat.context
        self._selected = select(samples, limit)
        _broadcast((self.name, self._selected))
        return self._update()

    def save(self, folder: Path) -> None:
        """Write model, optimiser's tensors (safetensors), the counters (JSON); no pickle."""
        folder.mkdir(parents=True, exist_ok=True)
        state = {
            "seed": self.seed,
            "updates": self.updates,
            "steps": self._steps,
            "config": asdict(self.config),
        }
        save_trainer(folder, self._chat, self._optimizer(), state)

    def load(self, folder: Path) -> None:
        """Restore weights, optimiser state and counters in place; this trainer's settings stay.

        Checkpoints are those of ``NativeTrainer``: a run may go on with the other trainer.

        Raises:
            RunError: a file is missing, or belongs to a model of another shape.
        """
        _broadcast((self.name, folder))
        self._load(folder)

    def close(self) -> None:
        """Let the processes in ``follow`` go."""
        _broadcast(None)

    def _load(self, folder: Path) -> None:
        state = load_trainer(folder, self._chat, self._optimizer())
        self.seed = self._trainer.args.seed = int(state["seed"])
        self._trainer.collections = int(state["updates"])
        self._steps = int(state.get("steps", 0))

    def _update(self) -> dict[str, float]:
        trainer, kept = self._trainer, self._selected.kept
        trainer.logged.clear()
        steps = self._plan(kept) if kept else 0
        if kept:
            with self._chat.lock:
                try:
                    trainer.train()
                finally:
                    self._chat.network.eval()
        else:
            trainer.collections += 1
        logs = [row for row in trainer.logged if "grad_norm" in row]
        before = trainer.before if kept else None

        def mean(key: str) -> float:
            return sum(row[key] for row in logs) / max(1, len(logs))

        return {
            "loss": mean("loss"),
            "kl": mean("kl") if self.config.kl else 0.0,
            "entropy": before.entropy if before else 0.0,
            "clip_share": mean("clip_ratio/region_mean"),
            "grad_norm": mean("grad_norm"),
            "logprob_mismatch": before.mismatch if before else 0.0,
            **self._selected.counts,
            "optimizer_steps": float(steps * self.config.epochs),
            "tokens": float(self.config.epochs * sum(len(s.token_ids) for s in kept)),
        }

    def _plan(self, kept: Sequence[TrainingSample]) -> int:
        """Fit TRL's batch sizes to samples; return the number of optimiser steps an epoch."""
        args, world = self._trainer.args, self._trainer.accelerator.num_processes
        steps = ceil(len(kept) / self.config.minibatch)
        longest = max(len(sample.prompt_ids) + len(sample.token_ids) for sample in kept)
        share = ceil(ceil(len(kept) / steps) / world)
        rows = min(share, max(1, self.config.tokens // longest))
        passes = ceil(share / rows)
        args.per_device_train_batch_size = rows
        args.gradient_accumulation_steps = passes
        args.steps_per_generation = passes * steps
        args.generation_batch_size = rows * world * passes * steps
        self._trainer.steps_before = self._steps
        self._steps += steps * self.config.epochs
        args.max_steps = self._steps
        return steps

    def _optimizer(self) -> torch.optim.Optimizer:
        optimizer: Any = self._trainer.optimizer
        return getattr(optimizer, "optimizer", optimizer)  # accelerate wraps it

    def _arguments(self, folder: str) -> GRPOConfig:
        config = self.config
        given: dict[str, Any] = {
            "output_dir": folder,
            "use_cpu": self._chat.network.device.type == "cpu",
            "learning_rate": config.lr,
            "adam_beta1": config.betas[0],
            "adam_beta2": config.betas[1],
            "weight_decay": config.weight_decay,
            "max_grad_norm": config.max_grad_norm,
            "lr_scheduler_type": "constant",
            "optim": "adamw_torch",
            "num_iterations": config.epochs,
            "num_generations": 2,  # TRL's lower bound; it has no part in the objective
            "per_device_train_batch_size": 2,
            "loss_type": "dapo",
            "epsilon": config.clip,
            "beta": config.kl,
            "use_bias_correction_kl": False,
            "temperature": config.temperature,
            "bf16": False,
            "activation_checkpointing": False,
            "disable_dropout": True,
            "disable_tqdm": True,
            "logging_steps": 1,
            "report_to": [],
            "log_level": "error",
            "save_strategy": "no",
            "seed": self.seed,
        }
        return GRPOConfig(**{**given, **self.config.arguments})


def follow(*trainers: TrlTrainer) -> None:
    """Take part in everything that the main process does with its trainers, until it closes them.

    For the other processes of ``accelerate launch``; their trainers have the same names and start
    from the same weights.
    """
    by_name = {trainer.name: trainer for trainer in trainers}
    while (order := _broadcast(None)) is not None:
        name, what = order
        if isinstance(what, Path):
            by_name[name]._load(what)
        else:
            by_name[name]._selected = what
            by_name[name]._update()


def leads() -> bool:
    """Return whether this process runs the loop: the main one, or the only one."""
    return PartialState().is_main_process


def _broadcast(order: tuple[str, Any] | None) -> Any:
    """Return the main process's order on every process."""
    if PartialState().num_processes == 1:
        return order
    return broadcast_object_list([order])[0]
