"""An ``EnvPool`` whose slots live in Ray actors."""

from __future__ import annotations

import os
from collections.abc import Sequence

import ray

from rla_adapters.ray_workers.cluster import Call, Crew, Lost
from rla_envs.errors import ConfigError
from rla_envs.rollout.pool import (
    Answer,
    Bench,
    EnvSpec,
    Request,
    two_cohorts,
    workers_of_slots,
)


class EnvActor:
    """The environments of some slots."""

    def __init__(self, spec: EnvSpec) -> None:
        self._bench = Bench(spec)

    def run(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer requests in order."""
        return [self._bench.run(request) for request in requests]

    def place(self) -> tuple[int, str]:
        """Return process id and node id."""
        return os.getpid(), ray.get_runtime_context().get_node_id()


class RayPool:
    """Environments in Ray actors, two cohorts (``rla_envs.rollout.EnvPool``).

    Gives the same trajectories as the pools in one machine. Records of episodes are kept by the
    collector, so that a dead actor costs the steps of the episodes that were running in it, which
    start again with the same seed, and no finished one. Back-pressure: a slot has at most one
    request under way, so that at most ``slots`` answers wait anywhere, however slow the model is.

    Args:
        spec: How environments are made. On a cluster, every node needs the domain's packages and
            data.
        slots: Number of environments, at least ``workers``.
        workers: Number of actors.
        cpus: CPUs that an actor reserves.
        restarts: How many deaths are tolerated in all before WorkerCrashed is raised.

    Raises:
        ConfigError: fewer slots than workers, or the cluster is too small.
    """

    def __init__(
        self, spec: EnvSpec, *, slots: int, workers: int, cpus: float = 1, restarts: int = 100
    ) -> None:
        if slots < workers:
            raise ConfigError(f"need slots >= workers, got {slots} and {workers}")
        self.cohorts: Sequence[Sequence[int]] = two_cohorts(slots)
        self._worker_of = workers_of_slots(slots, workers)
        self._crew = Crew(EnvActor, lambda: (spec,), size=workers, cpus=cpus, restarts=restarts)
        self._sent: list[tuple[Call, list[int]]] = []

    def send(self, requests: Sequence[Request]) -> None:
        """Hand requests to the actors."""
        batches: dict[int, list[Request]] = {}
        for request in requests:
            batches.setdefault(self._worker_of[request.slot], []).append(request)
        for worker, batch in batches.items():
            call = self._crew.call(worker, "run", batch)
            self._sent.append((call, [request.slot for request in batch]))

    def receive(self, slots: Sequence[int]) -> list[Answer]:
        """Wait for and return the answers of slots."""
        wanted = set(slots)
        due = [sent for sent in self._sent if not wanted.isdisjoint(sent[1])]
        self._sent = [sent for sent in self._sent if wanted.isdisjoint(sent[1])]
        answers: dict[int, Answer] = {}
        for call, waiting in due:
            try:
                done: list[Answer] = self._crew.wait_for(call)
            except Lost as error:
                done = [Answer(slot=slot, error=str(error)) for slot in waiting]
            answers |= {answer.slot: answer for answer in done}
        return [answers[slot] for slot in slots if slot in answers]

    def process_ids(self) -> list[int]:
        """Return the process ids of the actors, in order."""
        return [process for process, _ in self._crew.ask_all("place")]

    def nodes(self) -> list[str]:
        """Return the ids of the nodes on which the actors run, in order."""
        return [node for _, node in self._crew.ask_all("place")]

    def close(self) -> None:
        """End all actors."""
        self._crew.close()
