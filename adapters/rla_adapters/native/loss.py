"""The PPO-clip objective with a k3 penalty, on per-sample advantages, as plain tensor functions."""

from __future__ import annotations

import torch
from torch import Tensor


def clipped_surrogate(
    new_RT: Tensor, old_RT: Tensor, advantages_R: Tensor, *, clip: float
) -> Tensor:
    """Return the token losses -min(r A, clip(r, 1 +- clip) A) [R, T] with r = exp(new - old).

    Args:
        new_RT: Log-probabilities under the weights being trained.
        old_RT: Log-probabilities before this update; no gradient flows into them.
        advantages_R: One advantage a sample.
        clip: Half-width of the trust region (the paper: 0.2).
    """
    ratio = torch.exp(new_RT - old_RT)
    gain = advantages_R[:, None]
    return -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)


def k3(new_RT: Tensor, old_RT: Tensor) -> Tensor:
    """Return Schulman's k3 estimate [R, T] of KL(new || old): e^d - d - 1 with d = old - new.

    It is never negative, and 0 where both agree. As a loss its gradient is (1 - e^d) times that of
    new.
    """
    difference = old_RT - new_RT
    return torch.exp(difference) - difference - 1


def sample_means(values_RT: Tensor, mask_RT: Tensor) -> Tensor:
    """Return the mean [R] of each row over its unmasked tokens; every row must have one."""
    kept = values_RT.masked_fill(~mask_RT, 0.0)
    return kept.sum(dim=1) / mask_RT.sum(dim=1)


def mismatch_weights(old_RT: Tensor, sampled_RT: Tensor, *, cap: float) -> Tensor:
    """Return min(exp(old - sampled), cap) [R, T]: corrects for a sampler that disagrees.

    Truncated importance sampling (trl#3867): exactly 1 where both agree, never above cap.
    """
    return torch.exp(old_RT - sampled_RT).clamp(max=cap)
