"""A chat model in several Ray actors: samplers, and judges by way of ``ModelJudge``."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ray

from rla_adapters.ray_workers.cluster import Call, Crew, Lost
from rla_envs.types import (
    ChatModel,
    Completion,
    Conversation,
    Sampling,
    Trainer,
    TrainingSample,
)

ModelMaker = Callable[[], ChatModel]


class ModelActor:
    """One copy of the model."""

    def __init__(self, make: ModelMaker) -> None:
        self.renew(make)

    def renew(self, make: ModelMaker) -> None:
        """Take another model, or other weights."""
        self._model = make()

    def sample(
        self,
        conversations: Sequence[Conversation],
        n: int,
        sampling: Sampling | None,
        seeds: Sequence[int] | None,
    ) -> list[list[Completion]]:
        """Sample as the model does."""
        return self._model.sample(conversations, n=n, sampling=sampling, seeds=seeds)

    def process_id(self) -> int:
        """Return the process id, which means something on this actor's node only."""
        return os.getpid()


class RayModel:
    """A chat model whose conversations are shared out evenly over actors (``ChatModel``).

    Completions of a seeded conversation do not depend on what else is in its batch, so that the
    result is that of one model. What a dead actor had not answered is sampled again by the one
    that takes its place. Judges on Ray are ``ModelJudge(RayModel(...), ...)``: all votes on a step
    stay in one actor and share its prompt.

    Args:
        make: Makes the model; called in every actor. ``lambda: model`` sends a model that can be
            pickled, with the weights that it has now.
        actors: Number of copies.
        cpus: CPUs that an actor reserves.
        gpus: GPUs that an actor reserves: those of one copy of the model.
        restarts: How many deaths are tolerated in all before WorkerCrashed is raised.

    Raises:
        ConfigError: the cluster is too small.
    """

    def __init__(
        self,
        make: ModelMaker,
        *,
        actors: int,
        cpus: float = 1,
        gpus: float = 0,
        restarts: int = 100,
    ) -> None:
        # Stored once, whatever the number of actors; a replacement gets the latest one.
        self._make: Any = ray.put(make)
        self._crew = Crew(
            ModelActor,
            lambda: (self._make,),
            size=actors,
            cpus=cpus,
            gpus=gpus,
            restarts=restarts,
        )

    def renew(self, make: ModelMaker) -> None:
        """Give every actor another model; calls that come later are answered by it."""
        self._make = ray.put(make)
        for call in [self._crew.call(k, "renew", self._make) for k in range(len(self._crew))]:
            try:
                self._crew.wait_for(call)
            except Lost:
                # The replacement was made with the new one.
                continue

    def sample(
        self,
        conversations: Sequence[Conversation],
        *,
        n: int = 1,
        sampling: Sampling | None = None,
        seeds: Sequence[int] | None = None,
    ) -> list[list[Completion]]:
        """Return n completions for each conversation, in order (see ``ChatModel.sample``).

        Raises:
            WorkerCrashed: actors keep dying.
        """
        size = len(self._crew)
        ends = [len(conversations) * k // size for k in range(size + 1)]
        shares = [range(a, b) for a, b in itertools.pairwise(ends)]

        def send(number: int) -> Call:
            share = shares[number]
            return self._crew.call(
                number,
                "sample",
                [conversations[i] for i in share],
                n,
                sampling,
                None if seeds is None else [seeds[i] for i in share],
            )

        results: list[list[Completion]] = []
        for number, call in [(k, send(k)) for k in range(size) if shares[k]]:
            answer = None
            while answer is None:
                try:
                    answer = self._crew.wait_for(call)
                except Lost:
                    call = send(number)
            results += answer
        return results

    def process_ids(self) -> list[int]:
        """Return the process ids of the actors, in order."""
        return self._crew.ask_all("process_id")

    def close(self) -> None:
        """End all actors."""
        self._crew.close()


class SyncedTrainer:
    """A trainer whose every update reaches the copies of its model (``rla_envs.types.Trainer``).

    Args:
        trainer: Trains the weights, in this process.
        copies: The model that samples; its actors hold the trainer's weights after every update.
    """

    def __init__(self, trainer: Trainer, copies: RayModel) -> None:
        self.trainer, self.copies = trainer, copies

    def update(self, samples: Sequence[TrainingSample]) -> dict[str, float]:
        """Run one update, then send the weights."""
        metrics = self.trainer.update(samples)
        self._sync()
        return metrics

    def model(self) -> ChatModel:
        """Return the copies."""
        return self.copies

    def save(self, folder: Path) -> None:
        """Write what the trainer writes."""
        self.trainer.save(folder)

    def load(self, folder: Path) -> None:
        """Restore what save wrote, then send the weights."""
        self.trainer.load(folder)
        self._sync()

    def _sync(self) -> None:
        model = self.trainer.model()
        self.copies.renew(lambda: model)


def spread(
    model: ChatModel, trainer: Trainer | None, *, actors: int
) -> tuple[RayModel, SyncedTrainer | None]:
    """Return copies of model in actors, and trainer such that its updates reach them."""
    copies = RayModel(lambda: model, actors=actors)
    return copies, None if trainer is None else SyncedTrainer(trainer, copies)
