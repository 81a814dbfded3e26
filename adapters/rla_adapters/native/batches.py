"""Prompts and replies as tensors: bucketed by length, equal prompts once, logits on replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rla_adapters.tiny.forward import Packed, prefix_cache, suffix_logits

Pair = tuple[tuple[int, ...], tuple[int, ...]]
"""Prompt ids [P] and reply ids [T], both at least one token long."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that fit into memory together.

    Attributes:
        index_R: Which of the caller's pairs each row is.
        prefix_UP: The distinct prompts without their last token, right-padded.
        rows_R: Which prefix each row continues; None when every row has one of its own, in order.
        lengths_R: Length of that prefix.
        inputs_RT: Last prompt token, then the reply without its last token, right-padded.
        targets_RT: The reply, right-padded.
        mask_RT: True on reply tokens.
    """

    index_R: Tensor
    prefix_UP: Tensor
    rows_R: Tensor | None
    lengths_R: Tensor
    inputs_RT: Tensor
    targets_RT: Tensor
    mask_RT: Tensor

    def logits(self, packed: Packed) -> Tensor:
        """Return logits [R, T, V]: [r, t] predicts targets_RT[r, t] where the mask is True."""
        cache = prefix_cache(packed, self.prefix_UP)
        return suffix_logits(packed, cache, self.inputs_RT, self.lengths_R, self.rows_R)


def batches(pairs: Sequence[Pair], *, tokens: int) -> Iterator[Batch]:
    """Yield all pairs once, those of similar length together, about ``tokens`` tokens a batch.

    Every batch holds at least one pair; equal prompts are counted and computed once.
    """
    order = sorted(
        range(len(pairs)), key=lambda i: (len(pairs[i][0]), pairs[i][0], len(pairs[i][1]))
    )
    batch: list[int] = []
    prompts, longest = 0, 0
    for i in order:
        prompt, reply = pairs[i]
        fresh = not batch or pairs[batch[-1]][0] != prompt
        longest_now = max(longest, len(reply))
        size = (prompts + fresh) * len(prompt) + (len(batch) + 1) * longest_now
        if batch and size > tokens:
            yield _batch(pairs, batch)
            batch, prompts, fresh, longest_now = [], 0, True, len(reply)
        batch.append(i)
        prompts, longest = prompts + fresh, longest_now
    if batch:
        yield _batch(pairs, batch)


def _batch(pairs: Sequence[Pair], index: Sequence[int]) -> Batch:
    prompts = list(dict.fromkeys(pairs[i][0] for i in index))
    places = {prompt: place for place, prompt in enumerate(prompts)}
    replies = [pairs[i][1] for i in index]
    lengths = torch.tensor([len(reply) for reply in replies])
    longest = int(lengths.max())
    return Batch(
        index_R=torch.tensor(index),
        prefix_UP=_padded([prompt[:-1] for prompt in prompts]),
        rows_R=(
            torch.tensor([places[pairs[i][0]] for i in index])
            if len(prompts) < len(index)
            else None
        ),
        lengths_R=torch.tensor([len(pairs[i][0]) - 1 for i in index]),
        inputs_RT=_padded([(pairs[i][0][-1], *pairs[i][1][:-1]) for i in index]),
        targets_RT=_padded(replies),
        mask_RT=torch.arange(longest) < lengths[:, None],
    )


def _padded(rows: Sequence[tuple[int, ...]]) -> Tensor:
    """Return rows right-padded with token 0; padding is never attended to nor scored."""
    longest = max(map(len, rows))
    return torch.tensor([row + (0,) * (longest - len(row)) for row in rows], dtype=torch.int64)
