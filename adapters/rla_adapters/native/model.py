"""What the native trainer and the warm start ask of a model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from torch import Tensor, nn

from rla_adapters.native.batches import Batch
from rla_adapters.sampling import Codec
from rla_envs.types import ChatModel


class TrainableModel(ChatModel, Protocol):
    """A chat model whose weights are in this process: ``TinyChatModel`` and ``HfChatModel``."""

    lock: threading.RLock
    """Held while weights change or are sampled from."""

    @property
    def codec(self) -> Codec:
        """Its tokenizer and chat template."""
        ...

    @property
    def context(self) -> int:
        """Longest sequence, in tokens."""
        ...

    @property
    def unknown(self) -> int | None:
        """Id of what the vocabulary lacks; None if it lacks nothing."""
        ...

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """Name -> weights that train."""
        ...

    def scorer(self) -> Callable[[Batch], Tensor]:
        """Return the function from a batch to logits [R, T, V] under the present weights.

        Logits [r, t] predict targets_RT[r, t]. They are differentiable, once a scorer.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write the weights below folder."""
        ...

    def restore(self, folder: Path) -> None:
        """Take over in place the weights that ``save`` wrote.

        Raises:
            RunError: they are missing, or those of a model of another shape.
        """
        ...
