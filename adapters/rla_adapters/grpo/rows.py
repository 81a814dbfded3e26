"""Samples as the dictionary of tensors that ``GRPOTrainer._compute_loss`` eats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rla_adapters.native.loss import mismatch_weights
from rla_envs.types import TrainingSample


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Rows of one forward pass: prompts padded on the left, replies on the right.

    Attributes:
        prompt_RP: Prompt ids.
        prompt_mask_RP: 1 on prompt tokens.
        reply_RT: Reply ids.
        reply_mask_RT: 1 on reply tokens.
    """

    prompt_RP: Tensor
    prompt_mask_RP: Tensor
    reply_RT: Tensor
    reply_mask_RT: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What the weights that an update starts from say about its samples.

    Attributes:
        old_NT: Log-probability of every reply token, right-padded.
        weights_NT: Weight of every token, which corrects for a sampler that disagrees.
        mismatch: Largest |trainer - sampler| of a token's log-probability, in nats.
        entropy: Mean over samples of the mean over tokens, in nats.
    """

    old_NT: Tensor
    weights_NT: Tensor
    mismatch: float
    entropy: float


def tokens(samples: Sequence[TrainingSample], *, pad: int, device: torch.device) -> Tokens:
    """Return the ids of samples as tensors on device; at least one sample."""
    prompts = [sample.prompt_ids for sample in samples]
    replies = [sample.token_ids for sample in samples]
    prompt_RP, prompt_mask_RP = _padded(prompts, pad, left=True)
    reply_RT, reply_mask_RT = _padded(replies, pad, left=False)
    return Tokens(
        prompt_RP=prompt_RP.to(device),
        prompt_mask_RP=prompt_mask_RP.to(device),
        reply_RT=reply_RT.to(device),
        reply_mask_RT=reply_mask_RT.to(device),
    )


def loss_inputs(
    samples: Sequence[TrainingSample],
    index: Sequence[int],
    before: Before,
    *,
    padding: int,
    step_rows: int,
    passes: float,
    pad: int,
    device: torch.device,
) -> dict[str, Tensor]:
    """Return one forward pass's rows under the names of TRL.

    Under ``loss_type="dapo"`` the loss is the sum over tokens of loss times ``tool_mask``, divided
    by ``num_items_in_batch``. With a ``tool_mask`` of 1 / T on the T tokens of a row, and the
    number of rows as items, it is the mean over rows of the mean over tokens; rows that only fill a
    batch have a ``tool_mask`` of 0 and count nowhere. The correction of a sampler that disagrees is
    part of the advantages [R, T]: it is never negative, so it commutes with the clip.

    Args:
        samples: All samples of the update.
        index: Which of them are in this pass.
        before: What the weights before the update say about samples.
        padding: Rows to add that must not count.
        step_rows: Samples in the optimiser step, over all its passes and processes.
        passes: Optimiser steps between two collections: TRL divides by it.
        pad: Token id on padding.
        device: Where the tensors go.
    """
    # A row that only fills: real tokens keep its forward pass finite.
    places = [*index, *[index[0] if index else 0] * padding]
    rows = [samples[i] for i in places]
    filled = tokens(rows, pad=pad, device=device)
    width = filled.reply_RT.shape[1]
    weights_RT = filled.reply_mask_RT / filled.reply_mask_RT.sum(dim=1, keepdim=True)
    weights_RT[len(index) :] = 0.0
    gains_R = torch.tensor([row.advantage for row in rows])
    advantages_RT = gains_R[:, None] * before.weights_NT[places, :width]
    old_RT = before.old_NT[places, :width]
    return {
        "prompt_ids": filled.prompt_RP,
        "prompt_mask": filled.prompt_mask_RP,
        "completion_ids": filled.reply_RT,
        "completion_mask": filled.reply_mask_RT,
        "tool_mask": weights_RT,
        "advantages": advantages_RT.to(device),
        "old_per_token_logps": old_RT.to(device),
        "ref_per_token_logps": old_RT.to(device),
        "num_items_in_batch": torch.tensor(step_rows * passes, device=device),
    }


def correction(
    samples: Sequence[TrainingSample], old_NT: Tensor, *, cap: float
) -> tuple[Tensor, float]:
    """Return the weight of every token [N, T] and the largest disagreement with the sampler."""
    weights_NT, mismatch = torch.ones_like(old_NT), 0.0
    for i, sample in enumerate(samples):
        if sample.logprobs:
            sampled, mine = torch.tensor(sample.logprobs), old_NT[i, : len(sample.logprobs)]
            mismatch = max(mismatch, float((mine - sampled).abs().max()))
            weights_NT[i, : len(sampled)] = mismatch_weights(mine, sampled, cap=cap)
    return weights_NT, mismatch


def _padded(rows: Sequence[tuple[int, ...]], pad: int, *, left: bool) -> tuple[Tensor, Tensor]:
    longest = max(map(len, rows))
    ids = torch.full((len(rows), longest), pad)
    mask = torch.zeros(len(rows), longest, dtype=torch.int64)
    for place, row in enumerate(rows):
        where = slice(longest - len(row), None) if left else slice(len(row))
        ids[place, where] = torch.tensor(row)
        mask[place, where] = 1
    return ids, mask
