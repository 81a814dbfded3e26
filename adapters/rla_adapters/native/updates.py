"""What every trainer does with the samples of an update before it computes anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rla_envs.errors import ConfigError
from rla_envs.types import TrainingSample


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The samples of an update that train, and what became of the others.

    Attributes:
        kept: Samples that fit and have an advantage other than 0, in order.
        counts: ``samples`` (given), ``trained``, ``dropped_overlong``, ``skipped_zero``.
    """

    kept: list[TrainingSample]
    counts: dict[str, float]


def select(samples: Sequence[TrainingSample], limit: int) -> Selected:
    """Leave out what is longer than limit, advantage and all, and what has advantage 0.

    Raises:
        ConfigError: a sample without prompt or reply tokens, or with another number of
            log-probabilities than tokens.
    """
    fitting = [sample for sample in samples if _length(sample) <= limit]
    kept = [sample for sample in fitting if sample.advantage != 0]
    return Selected(
        kept=kept,
        counts={
            "samples": float(len(samples)),
            "trained": float(len(kept)),
            "dropped_overlong": float(len(samples) - len(fitting)),
            "skipped_zero": float(len(fitting) - len(kept)),
        },
    )


def minibatches(
    samples: Sequence[TrainingSample], generator: torch.Generator, parts: int
) -> Sequence[Tensor]:
    """Return the indices of samples in parts of nearly equal size, one an optimiser step.

    Prompts come in random order; samples of one prompt stay neighbours, so that a part seldom has
    to compute a prompt that another one computes as well.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, sample in enumerate(samples):
        groups.setdefault(sample.prompt_ids, []).append(i)
    members = list(groups.values())
    order = torch.randperm(len(members), generator=generator).tolist()
    return torch.tensor([i for place in order for i in members[place]]).tensor_split(parts)


def _length(sample: TrainingSample) -> int:
    if not sample.prompt_ids or not sample.token_ids:
        raise ConfigError(
            f"a {sample.source} sample needs prompt and reply tokens, got "
            f"{len(sample.prompt_ids)} and {len(sample.token_ids)}"
        )
    if sample.logprobs and len(sample.logprobs) != len(sample.token_ids):
        raise ConfigError(
            f"a {sample.source} sample has {len(sample.logprobs)} log-probabilities for "
            f"{len(sample.token_ids)} tokens"
        )
    return len(sample.prompt_ids) + len(sample.token_ids)
