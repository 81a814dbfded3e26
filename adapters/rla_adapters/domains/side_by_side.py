"""Fitting the models of a warm start at the same time, a process and a thread each."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from queue import Empty, Queue
from typing import cast

import torch

from rla_adapters import load_model
from rla_adapters.backends import EMBEDDED
from rla_adapters.native.model import TrainableModel
from rla_adapters.native.supervised import FitConfig, Row, fit
from rla_adapters.tiny.model import new_model
from rla_adapters.tiny.sampler import TinyChatModel
from rla_adapters.tiny.tokenizer import build_tokenizer
from rla_envs.tracking import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """One model to fit.

    Attributes:
        role: "policy" or "judge", for the progress.
        shape: "nano", "micro" or "mini", or what ``rla_adapters.load_model`` knows.
        words: Vocabulary of an embedded model.
        context: Longest sequence of an embedded model, in tokens.
        rows: What it learns.
        config: How; its seed is that of the untrained weights as well.
        folder: Where it goes.
        lora: Rank of new adapters on a model that is not embedded; 0 trains all its weights.
    """

    role: str
    shape: str
    words: Sequence[str]
    context: int
    rows: Sequence[Row]
    config: FitConfig
    folder: Path
    lora: int = 0


def fit_side_by_side(fits: Sequence[Fit], progress: Progress) -> None:
    """Fit all models and write each into its folder."""
    spawn = get_context("spawn")
    with spawn.Manager() as manager, ProcessPoolExecutor(len(fits), mp_context=spawn) as pool:
        said = manager.Queue()
        running = [pool.submit(_fit, job, said) for job in fits]
        while not all(future.done() for future in running):
            with suppress(Empty):
                role, done, total = said.get(timeout=0.2)
                progress.phase(f"warm start: {role}", done, total)
        for future in running:
            future.result()


def _fit(job: Fit, said: Queue[tuple[str, int, int]]) -> None:
    torch.set_num_threads(1)
    model = _new(job)
    fit(model, job.rows, job.config, on_step=lambda done, total: said.put((job.role, done, total)))
    model.save(job.folder)


def _new(job: Fit) -> TrainableModel:
    if job.shape not in EMBEDDED:
        return cast(TrainableModel, load_model(job.shape, seed=job.config.seed, lora=job.lora))
    tokenizer = build_tokenizer(job.words)
    network = new_model(tokenizer, job.shape, seed=job.config.seed, context=job.context)
    return TinyChatModel(network, tokenizer)
