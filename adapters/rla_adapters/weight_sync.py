"""After every update the sampler gets the trainer's weights: vLLM in process or behind a server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol
from urllib.error import URLError
from urllib.request import Request, urlopen

import torch
from torch import Tensor

from rla_envs.errors import ConfigError, ModelError
from rla_envs.types import ChatModel, Trainer, TrainingSample

TIMEOUT = 600.0
"""Seconds that a server may take to load weights."""


class Source(Protocol):
    """The trainer's model: ``HfChatModel`` or ``TinyChatModel``."""

    @property
    def network(self) -> Any:
        """The transformers network, or peft's wrapper of one."""
        ...

    def save(self, folder: Path) -> None:
        """Write a Hugging Face folder; of a model with adapters only these."""
        ...


class WeightSync(Protocol):
    """Carries weights from a trainer to a sampler."""

    def push(self, model: Source) -> None:
        """Give the sampler model's present weights; afterwards it samples from them.

        Raises:
            ModelError: the sampler did not take them.
        """
        ...


class Engine(Protocol):
    """A sampler of this process that takes weights: ``VllmChatModel``."""

    def load_weights(self, weights: Any) -> None:
        """Take over named weights."""
        ...


class EngineSync:
    """Into an engine of this process: tensors change hands, nothing is written.

    Adapters are merged into a copy of the weights they adapt, so the engine needs no LoRA support.

    Args:
        engine: The sampler.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def push(self, model: Source) -> None:
        """See ``WeightSync.push``."""
        with whole_weights(model.network) as weights:
            self.engine.load_weights(weights.items())


class ServerSync:
    """Into a vLLM server, over a folder that it can read.

    The server has to run with VLLM_SERVER_DEV_MODE=1, on an address that only trusted machines
    reach: that mode lets callers run methods of the workers. Requests that are under way while
    weights change may have tokens of both; a loop that updates between collections has none.

    Args:
        base_url: As of ``VllmServerModel``; ends with "/v1".
        folder: Where weights are written; the latest only.
    """

    def __init__(self, base_url: str, folder: Path) -> None:
        self._root, self._folder = _root(base_url), folder

    def push(self, model: Source) -> None:
        """See ``WeightSync.push``."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with whole_weights(model.network) as weights:
            from safetensors.torch import save_file

            copied = {name: value.contiguous().clone() for name, value in weights.items()}
            save_file(copied, self._folder / "model.safetensors", {"format": "pt"})
        call = {"method": "reload_weights", "kwargs": {"weights_path": str(self._folder)}}
        _post(f"{self._root}/collective_rpc", call)
        _post(f"{self._root}/reset_prefix_cache", None)


class LoraServer(Protocol):
    """A sampler that asks a server for a model by name: ``VllmServerModel``."""

    model: str
    """Name under which the server serves it."""


class LoraServerSync:
    """Into a vLLM server as adapters of a new name: requests under way keep the old ones.

    The server has to run with --enable-lora, --max-lora-rank at least the adapters' and
    VLLM_ALLOW_RUNTIME_LORA_UPDATING=1. A name that was served before would be answered from its
    cache, hence a new one for every push; the one before is unloaded afterwards.

    Args:
        base_url: Ends with "/v1".
        sampler: Asks for the new name from then on.
        folder: Where adapters are written, the latest only; the server has to read it.
        name: What all names begin with.
    """

    def __init__(
        self, base_url: str, sampler: LoraServer, folder: Path, *, name: str = "policy"
    ) -> None:
        self._base, self._sampler, self._folder, self._name = base_url, sampler, folder, name
        self._pushes = 0
        self._served: str | None = None

    def push(self, model: Source) -> None:
        """See ``WeightSync.push``.

        Raises:
            ConfigError: model has no adapters.
        """
        if not hasattr(model.network, "peft_config"):
            raise ConfigError("LoraServerSync needs a model with adapters; use ServerSync")
        self._pushes += 1
        name = f"{self._name}-{self._pushes}"
        folder = self._folder / name
        model.save(folder)
        _post(f"{self._base}/load_lora_adapter", {"lora_name": name, "lora_path": str(folder)})
        self._sampler.model = name
        if self._served is not None:
            _post(f"{self._base}/unload_lora_adapter", {"lora_name": self._served})
            shutil.rmtree(self._folder / self._served, ignore_errors=True)
        self._served = name


class SyncedTrainer:
    """A trainer whose model samples elsewhere (``rla_envs.types.Trainer``).

    Every update and every load is followed by a push; ``model()`` is the sampler. The service
    stops for the swap alone: the update itself runs beside it.

    Args:
        trainer: Computes the updates; its own model is the source of weights.
        sampler: Samples for the loop.
        sync: Carries weights from the one to the other.
    """

    def __init__(self, trainer: Trainer, sampler: ChatModel, sync: WeightSync) -> None:
        self.trainer, self.sampler, self.sync = trainer, sampler, sync

    def model(self) -> ChatModel:
        """Return the sampler."""
        return self.sampler

    def update(self, samples: Sequence[TrainingSample]) -> dict[str, float]:
        """Run one update and push; metrics are the trainer's and ``sync_seconds``."""
        metrics = self.trainer.update(samples)
        start = perf_counter()
        self._push()
        return {**metrics, "sync_seconds": perf_counter() - start}

    def save(self, folder: Path) -> None:
        """Write the trainer's checkpoint."""
        self.trainer.save(folder)

    def load(self, folder: Path) -> None:
        """Restore the trainer and push."""
        self.trainer.load(folder)
        self._push()

    def _push(self) -> None:
        source: Any = self.trainer.model()
        self.sync.push(source)


@contextmanager
def whole_weights(network: Any) -> Iterator[dict[str, Tensor]]:
    """Give the weights of network by the names they have in a folder, adapters merged.

    A tied head is among them although a folder leaves it out: vLLM on a CPU keeps a repacked copy
    of its own, which goes stale otherwise.

    They are valid inside only: merged weights are taken apart again.
    """
    with torch.no_grad():
        if not hasattr(network, "peft_config"):
            yield network.state_dict()
            return
        network.merge_adapter()
        try:
            base = network.get_base_model()
            plain = {
                name.replace(".base_layer.", "."): value
                for name, value in base.state_dict().items()
                if ".lora_" not in name
            }
            yield plain
        finally:
            network.unmerge_adapter()


def _root(base_url: str) -> str:
    return base_url.rstrip("/").removesuffix("/v1")


def _post(url: str, body: Any) -> None:
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data=data, method="POST", headers={"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=TIMEOUT) as answer:
            answer.read()
    except (URLError, OSError) as error:
        raise ModelError(
            f"{url} did not take new weights: {error}; see rla_adapters.weight_sync for how the "
            "server has to be started"
        ) from error
