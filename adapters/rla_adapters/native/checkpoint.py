"""A trainer on disk: model, optimiser's tensors (safetensors), counters (JSON); no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from rla_adapters.native.model import TrainableModel
from rla_envs.errors import RunError


def save_trainer(
    folder: Path,
    model: TrainableModel,
    optimizer: torch.optim.Optimizer,
    counters: Mapping[str, Any],
) -> None:
    """Write what ``load_trainer`` restores; optimiser state is kept by the parameters' names."""
    model.save(folder / "model")
    tensors = {
        f"{name}/{key}": value
        for name, parameter in model.parameters.items()
        for key, value in optimizer.state.get(parameter, {}).items()
    }
    save_file(tensors, folder / "optimizer.safetensors")
    (folder / "trainer.json").write_text(json.dumps(counters, indent=2) + "\n", encoding="utf-8")


def load_trainer(
    folder: Path, model: TrainableModel, optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Restore weights and optimiser state in place, and return the counters.

    Raises:
        RunError: a file is missing, or belongs to a model of another shape.
    """
    try:
        counters = json.loads((folder / "trainer.json").read_text(encoding="utf-8"))
        tensors = load_file(folder / "optimizer.safetensors")
        with model.lock:
            model.restore(folder / "model")
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise RunError(f"cannot restore a trainer from {folder}: {error}") from error
    parameters = model.parameters
    optimizer.state.clear()
    for key, value in tensors.items():
        name, field = key.rsplit("/", 1)
        if name not in parameters:
            raise RunError(f"{folder} has optimiser state of {name!r}, which this model lacks")
        parameter = parameters[name]
        # AdamW counts its steps on the CPU, wherever the weights are.
        placed = value if field == "step" else value.to(parameter.device)
        optimizer.state[parameter][field] = placed
    return counters
