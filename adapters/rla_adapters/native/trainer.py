"""PPO-clip for models of this process: one sample a turn or vote, optimiser state kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path

import torch
from torch import Tensor

from rla_adapters.native.batches import Batch, Pair, batches
from rla_adapters.native.checkpoint import load_trainer, save_trainer
from rla_adapters.native.loss import clipped_surrogate, k3, mismatch_weights, sample_means
from rla_adapters.native.model import TrainableModel
from rla_adapters.native.updates import minibatches, select
from rla_envs.errors import ConfigError, ModelError
from rla_envs.seeding import derive_seed
from rla_envs.types import TrainingSample


@dataclass(frozen=True, slots=True, kw_only=True)
class PpoConfig:
    """Settings of the native trainer; defaults suit untrained models below 2 million weights."""

    lr: float = 1e-3
    """AdamW's step size, constant (the paper's 7B models: 1e-6)."""
    epochs: int = 2
    """Passes over the samples of one update."""
    minibatch: int = 128
    """Most samples an optimiser step; an update is split into equal parts of at most that."""
    clip: float = 0.2
    """Half-width of the trust region of the probability ratio."""
    kl: float = 0.01
    """Weight of the k3 penalty towards the policy before this update."""
    ratio_cap: float = 2.0
    """Upper bound of the weight that corrects a sampler/trainer mismatch."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""
    betas: tuple[float, float] = (0.9, 0.999)
    """AdamW's decay rates."""
    weight_decay: float = 0.0
    """AdamW's decoupled weight decay."""
    temperature: float = 1.0
    """Temperature the samples were drawn at; must be above 0 (trl#6789)."""
    max_length: int | None = None
    """Longest prompt and reply together, in tokens; the model's context when None."""
    tokens: int = 2048
    """Tokens in one forward and backward pass; changes the result by rounding only."""

    def __post_init__(self) -> None:
        for name in ("lr", "epochs", "minibatch", "clip", "max_grad_norm", "temperature", "tokens"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be above 0, got {getattr(self, name)}")
        if self.kl < 0 or self.ratio_cap < 1:
            raise ConfigError(
                f"kl must be >= 0 and ratio_cap >= 1, got {self.kl} and {self.ratio_cap}"
            )


@dataclass(slots=True)
class _Totals:
    """Sums over the samples and tokens of an update."""

    loss: float = 0.0
    kl: float = 0.0
    samples: int = 0
    clipped: int = 0
    tokens: int = 0
    ratio_max: float = 1.0
    grad_norm: float = 0.0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class _Before:
    """What the weights before the update say about the samples, all [N, T] and right-padded."""

    old: Tensor
    weights: Tensor
    mismatch: float
    entropy: float


class NativeTrainer:
    """PPO-clip with k3 KL on a chat model of this process (``rla_envs.types.Trainer``).

    An update recomputes the log-probabilities of all samples under the weights it starts from, then
    makes ``epochs`` passes in random minibatches; samples of one prompt (the votes on a step, the
    first turns of a group) stay neighbours, so that the prompt is computed once. The loss of a
    minibatch is the mean over its samples of the mean over their tokens. A sample that is too long
    is left out together with its advantage; one of advantage 0 has nothing to say and is left out
    as well. Both are counted, and neither changes the weight of the others.

    Weights are shared with ``model()``: a chat model that samples during an update waits until it
    is over.

    Args:
        model: The chat model whose weights are trained.
        config: Settings.
        seed: Of the order of samples. The order of update k depends on seed and k only.
    """

    def __init__(
        self, model: TrainableModel, config: PpoConfig | None = None, *, seed: int = 0
    ) -> None:
        self.config = config or PpoConfig()
        self.seed = seed
        self.updates = 0
        self._chat = model
        self._parameters = model.parameters
        self._optimizer = torch.optim.AdamW(
            self._parameters.values(),
            lr=self.config.lr,
            betas=self.config.betas,
            weight_decay=self.config.weight_decay,
        )

    def model(self) -> TrainableModel:
        """Return the chat model that samples from the current weights."""
        return self._chat

    def update(self, samples: Sequence[TrainingSample]) -> dict[str, float]:
        """Run one update and return its metrics.

        ``loss``, ``kl`` (means over samples and optimiser steps), ``entropy`` (nats a token, before
        the update), ``clip_share`` (share of tokens whose gradient the clip removes), ``grad_norm``
        (mean before scaling), ``ratio_max``, ``logprob_mismatch`` (largest |trainer - sampler|,
        nats), ``samples`` (given), ``trained``, ``dropped_overlong``, ``skipped_zero``,
        ``optimizer_steps``, ``tokens`` (reply tokens trained on, all epochs).

        Raises:
            ConfigError: a sample without reply tokens, or with another number of log-probabilities
                than tokens.
            ModelError: a gradient is not finite; the weights are those before the offending step.
        """
        limit = self.config.max_length or self._chat.context
        selected = select(samples, limit)
        kept = selected.kept
        totals = _Totals()
        with self._chat.lock:
            before = self._before(kept)
            generator = torch.Generator().manual_seed(derive_seed(self.seed, "order", self.updates))
            for _ in range(self.config.epochs if kept else 0):
                for part in minibatches(kept, generator, ceil(len(kept) / self.config.minibatch)):
                    self._step(kept, before, part, totals)
            self.updates += 1
        return {
            "loss": totals.loss / max(1, totals.samples),
            "kl": totals.kl / max(1, totals.samples),
            "entropy": before.entropy,
            "clip_share": totals.clipped / max(1, totals.tokens),
            "grad_norm": totals.grad_norm / max(1, totals.steps),
            "ratio_max": totals.ratio_max,
            "logprob_mismatch": before.mismatch,
            **selected.counts,
            "optimizer_steps": float(totals.steps),
            "tokens": float(totals.tokens),
        }

    def save(self, folder: Path) -> None:
        """Write model, optimiser's tensors (safetensors), the counters (JSON); no pickle."""
        state = {"seed": self.seed, "updates": self.updates, "config": asdict(self.config)}
        save_trainer(folder, self._chat, self._optimizer, state)

    def load(self, folder: Path) -> None:
        """Restore weights, optimiser state and counters in place; this trainer's settings stay.

        Raises:
            RunError: a file is missing, or belongs to a model of another shape.
        """
        state = load_trainer(folder, self._chat, self._optimizer)
        self.seed, self.updates = int(state["seed"]), int(state["updates"])

    def _before(self, samples: Sequence[TrainingSample]) -> _Before:
        """Return what the current weights say about samples."""
        longest = max((len(sample.token_ids) for sample in samples), default=0)
        old, weights = torch.zeros(len(samples), longest), torch.ones(len(samples), longest)
        mismatch = entropy = 0.0
        with torch.no_grad():
            score = self._chat.scorer()
            for batch in batches(_pairs(samples), tokens=self.config.tokens):
                logprobs, distribution = self._logprobs(batch, score(batch))
                width = logprobs.shape[1]
                old[batch.index_R, :width] = logprobs
                entropies = -(distribution.exp() * distribution).sum(dim=-1)
                entropy += float(sample_means(entropies, batch.mask_RT).sum())
                for row, i in enumerate(batch.index_R.tolist()):
                    if samples[i].logprobs:
                        sampled = torch.tensor(samples[i].logprobs)
                        mine = logprobs[row, : len(sampled)]
                        mismatch = max(mismatch, float((mine - sampled).abs().max()))
                        weights[i, : len(sampled)] = mismatch_weights(
                            mine, sampled, cap=self.config.ratio_cap
                        )
        return _Before(old, weights, mismatch, entropy / max(1, len(samples)))

    def _step(
        self, samples: Sequence[TrainingSample], before: _Before, part: Tensor, totals: _Totals
    ) -> None:
        """Make one optimiser step on the samples that part indexes."""
        chosen = [samples[i] for i in part.tolist()]
        self._optimizer.zero_grad(set_to_none=True)
        for batch in batches(_pairs(chosen), tokens=self.config.tokens):
            new, _ = self._logprobs(batch, self._chat.scorer()(batch))
            places, width = part[batch.index_R], new.shape[1]
            old, weights = before.old[places, :width], before.weights[places, :width]
            gains = torch.tensor([chosen[i].advantage for i in batch.index_R.tolist()])
            surrogate = clipped_surrogate(new, old, gains, clip=self.config.clip) * weights
            penalty = k3(new, old)
            losses = sample_means(surrogate + self.config.kl * penalty, batch.mask_RT)
            (losses.sum() / len(chosen)).backward()
            with torch.no_grad():
                self._count(totals, batch, new, old, gains, losses, penalty)
        norm = torch.nn.utils.clip_grad_norm_(self._parameters.values(), self.config.max_grad_norm)
        if not torch.isfinite(norm):
            raise ModelError(
                f"gradient norm {float(norm)} in update {self.updates}; lower lr ({self.config.lr})"
            )
        self._optimizer.step()
        totals.grad_norm += float(norm)
        totals.steps += 1

    def _count(
        self,
        totals: _Totals,
        batch: Batch,
        new: Tensor,
        old: Tensor,
        gains: Tensor,
        losses: Tensor,
        penalty: Tensor,
    ) -> None:
        ratio, gain = torch.exp(new - old), gains[:, None]
        clip = self.config.clip
        outside = ((ratio > 1 + clip) & (gain > 0)) | ((ratio < 1 - clip) & (gain < 0))
        totals.loss += float(losses.sum())
        totals.kl += float(sample_means(penalty, batch.mask_RT).sum())
        totals.samples += len(losses)
        totals.clipped += int((outside & batch.mask_RT).sum())
        totals.tokens += int(batch.mask_RT.sum())
        totals.ratio_max = max(totals.ratio_max, float(ratio[batch.mask_RT].max()))

    def _logprobs(self, batch: Batch, logits_RTV: Tensor) -> tuple[Tensor, Tensor]:
        """Return logprobs of the targets [R, T], 0 on padding, and of all tokens [R, T, V]."""
        distribution = torch.log_softmax(logits_RTV / self.config.temperature, dim=-1)
        chosen = distribution.gather(-1, batch.targets_RT.unsqueeze(-1)).squeeze(-1)
        return chosen.masked_fill(~batch.mask_RT, 0.0), distribution


def _pairs(samples: Sequence[TrainingSample]) -> list[Pair]:
    return [(sample.prompt_ids, sample.token_ids) for sample in samples]
