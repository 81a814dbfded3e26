"""Supervised warm start: cross-entropy on replies, be they expert commands or verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import torch

from rla_adapters.native.batches import Pair, batches
from rla_adapters.native.loss import sample_means
from rla_adapters.native.model import TrainableModel
from rla_envs.errors import ConfigError, ModelError
from rla_envs.seeding import derive_seed
from rla_envs.types import Conversation

Row = tuple[Conversation, str, float]
"""A conversation that ends with a user message, the reply to learn, a weight (at least 0)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitConfig:
    """Settings of the warm start."""

    lr: float = 3e-3
    """AdamW's highest step size: reached after 5 % of the steps, then a cosine down to a tenth."""
    epochs: int = 10
    """Passes over the rows."""
    minibatch: int = 64
    """Largest number of rows an optimiser step."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""
    weight_decay: float = 0.01
    """AdamW's decoupled weight decay."""
    target_loss: float = 0.0
    """Stop after an epoch whose mean loss (nats a token) is at or below this."""
    tokens: int = 2048
    """Tokens in one forward and backward pass."""
    seed: int = 0
    """Of the order of rows."""

    def __post_init__(self) -> None:
        for name in ("lr", "epochs", "minibatch", "max_grad_norm", "tokens"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be above 0, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a fit stands after an epoch."""

    epoch: int
    """Epochs done."""
    epochs: int
    """Epochs planned."""
    loss: float
    """Weighted mean over the epoch's rows of the mean loss of their tokens, in nats."""


def fit(
    model: TrainableModel,
    rows: Sequence[Row],
    config: FitConfig | None = None,
    *,
    progress: Callable[[Progress], bool | None] | None = None,
    on_step: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, float]:
    """Train model to give the replies in rows; return metrics.

    These are ``loss``, ``epochs``, ``rows``, ``dropped_overlong`` and ``unknown``.

    The end token is part of every reply. ``unknown`` is the share of reply tokens that the
    vocabulary lacks: such a reply cannot be given back letter by letter.

    Args:
        model: Its weights are changed in place.
        rows: What to learn. A row longer than the model's context is left out and counted; weight 0
            is left out.
        config: Settings.
        progress: Called after every epoch; returning True stops the fit (for instance at a measured
            success rate).
        on_step: Called after every optimiser step with the number of steps done and planned.

    Raises:
        ConfigError: no row is left, or a weight is negative.
        ModelError: a gradient is not finite.
    """
    config = config or FitConfig()
    pairs, weights, dropped = _encode(model, rows)
    unknown = model.unknown
    reply_tokens = [token for _, reply in pairs for token in reply]
    parameters = list(model.parameters.values())
    optimizer = torch.optim.AdamW(parameters, lr=config.lr, weight_decay=config.weight_decay)
    parts = ceil(len(pairs) / config.minibatch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _warm_cosine(parts * config.epochs))
    generator = torch.Generator().manual_seed(derive_seed(config.seed, "fit"))
    loss, epoch = 0.0, 0
    for epoch in range(1, config.epochs + 1):
        order = torch.randperm(len(pairs), generator=generator)
        total = 0.0
        with model.lock:
            for place, part in enumerate(order.tensor_split(parts), start=1):
                chosen, chosen_weights = [pairs[i] for i in part.tolist()], weights[part]
                optimizer.zero_grad(set_to_none=True)
                total += _backward(model, chosen, chosen_weights, config.tokens)
                norm = torch.nn.utils.clip_grad_norm_(parameters, config.max_grad_norm)
                if not torch.isfinite(norm):
                    raise ModelError(
                        f"gradient norm {float(norm)} in epoch {epoch}; lower lr ({config.lr})"
                    )
                optimizer.step()
                schedule.step()
                on_step((epoch - 1) * parts + place, parts * config.epochs)
        loss = total / float(weights.sum())
        wants_stop = progress and progress(Progress(epoch=epoch, epochs=config.epochs, loss=loss))
        if wants_stop or loss <= config.target_loss:
            break
    return {
        "loss": loss,
        "epochs": float(epoch),
        "rows": float(len(pairs)),
        "dropped_overlong": float(dropped),
        "unknown": sum(token == unknown for token in reply_tokens) / len(reply_tokens),
    }


def reply_logprobs(
    model: TrainableModel, rows: Sequence[tuple[Conversation, str]], *, tokens: int = 2048
) -> list[float]:
    """Return the log-probability in nats of each reply, its end token included.

    It scores a closed set of replies without sampling, e.g. the two verdicts of a judge.

    Raises:
        ConfigError: a row is longer than the model's context.
    """
    pairs, _, dropped = _encode(model, [(conversation, reply, 1.0) for conversation, reply in rows])
    if dropped:
        raise ConfigError(f"{dropped} rows are longer than the model's context ({model.context})")
    result = [0.0] * len(pairs)
    with model.lock, torch.inference_mode():
        score = model.scorer()
        for batch in batches(pairs, tokens=tokens):
            logprobs = torch.log_softmax(score(batch), dim=-1)
            chosen = logprobs.gather(-1, batch.targets_RT.unsqueeze(-1)).squeeze(-1)
            sums = chosen.masked_fill(~batch.mask_RT, 0.0).sum(dim=1)
            for i, value in zip(batch.index_R.tolist(), sums.tolist(), strict=True):
                result[i] = value
    return result


def _backward(
    model: TrainableModel, pairs: Sequence[Pair], weights: torch.Tensor, tokens: int
) -> float:
    """Add the gradient of the weighted mean loss of pairs; return the weighted sum of losses."""
    total = 0.0
    for batch in batches(pairs, tokens=tokens):
        logits = model.scorer()(batch)
        losses = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), batch.targets_RT.flatten(), reduction="none"
        ).view_as(batch.targets_RT)
        weighted = (sample_means(losses, batch.mask_RT) * weights[batch.index_R]).sum()
        (weighted / weights.sum()).backward()
        total += float(weighted.detach())
    return total


def _encode(model: TrainableModel, rows: Sequence[Row]) -> tuple[list[Pair], torch.Tensor, int]:
    pairs: list[Pair] = []
    weights: list[float] = []
    dropped = 0
    for conversation, text, weight in rows:
        if weight < 0:
            raise ConfigError(f"a row's weight must be at least 0, got {weight}")
        prompt, reply = model.codec.prompt(conversation), model.codec.reply(text)
        if len(prompt) + len(reply) > model.context:
            dropped += 1
        elif weight > 0:
            pairs.append((prompt, reply))
            weights.append(weight)
    if not pairs:
        raise ConfigError(f"nothing to learn: of {len(rows)} rows {dropped} are too long")
    return pairs, torch.tensor(weights), dropped


def _warm_cosine(steps: int) -> Callable[[int], float]:
    warm = max(1, steps // 20)

    def factor(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        done = (step - warm) / max(1, steps - warm)
        return 0.1 + 0.45 * (1 + float(torch.cos(torch.tensor(done * torch.pi))))

    return factor
