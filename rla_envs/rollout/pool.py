"""Slots for running environments: in this process, or spread over worker processes that may die.

A pool has numbered slots, each with one environment. Requests are queued by ``reset`` and ``step``;
``receive`` sends what is queued and returns one answer a request. Slots belong to *cohorts*: while
the model samples for one cohort, the workers step the other, and because a cohort is always awaited
as a whole, batches do not depend on timing.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium as gym

from rla_envs.errors import ConfigError, WorkerCrashed
from rla_envs.types import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvSpec:
    """How a worker makes its environments: ``gymnasium.make(id, **kwargs)``."""

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def make(self) -> gym.Env[Any, Any]:
        """Make one environment."""
        return gym.make(self.id, **self.kwargs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Start an episode (task set) or take a step (action set) in a slot."""

    slot: int
    task: Task | None = None
    seed: int | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the environment in a slot said, or error when the world, not the agent, failed."""

    slot: int
    observation: str = ""
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: str | None = None


class EnvPool(Protocol):
    """Environments in numbered slots."""

    cohorts: Sequence[Sequence[int]]
    """Slot numbers, split into groups that are stepped and awaited together."""

    def send(self, requests: Sequence[Request]) -> None:
        """Start working on requests, at most one a slot."""
        ...

    def receive(self, slots: Sequence[int]) -> list[Answer]:
        """Return the answers to all requests sent to slots, ordered by slot."""
        ...

    def close(self) -> None:
        """Close all environments and end all workers."""
        ...


def make_pool(spec: EnvSpec, *, slots: int, workers: int) -> EnvPool:
    """Return ``slots`` environments in ``workers`` processes, or in this one if workers is 0."""
    if slots < 1 or workers < 0:
        raise ConfigError(f"need slots >= 1 and workers >= 0, got {slots} and {workers}")
    return ProcessPool(spec, slots=slots, workers=workers) if workers else LocalPool(spec, slots)


def two_cohorts(slots: int) -> Sequence[Sequence[int]]:
    """Return even and odd slots, without an empty cohort."""
    return tuple(cohort for cohort in (range(0, slots, 2), range(1, slots, 2)) if len(cohort))


def workers_of_slots(slots: int, workers: int) -> list[int]:
    """Return [slots] the worker of each slot.

    Consecutive pairs of slots share a worker, so that each cohort keeps every worker busy.
    """
    return [slot // 2 % workers for slot in range(slots)]


class LocalPool:
    """All environments in this process: right when they cost less than a pipe."""

    def __init__(self, spec: EnvSpec, slots: int) -> None:
        self.cohorts: Sequence[Sequence[int]] = (range(slots),)
        self._bench = Bench(spec)
        self._answers: dict[int, Answer] = {}

    def send(self, requests: Sequence[Request]) -> None:
        """Run requests at once."""
        for request in requests:
            self._answers[request.slot] = self._bench.run(request)

    def receive(self, slots: Sequence[int]) -> list[Answer]:
        """Return the answers of slots."""
        return [self._answers.pop(slot) for slot in slots if slot in self._answers]

    def close(self) -> None:
        """Close all environments."""
        self._bench.close()


class ProcessPool:
    """Environments in worker processes, two cohorts.

    A worker that dies is replaced; the requests it had not answered come back as answers with
    ``error`` set, and so does every later step of an episode that lived in it, until the slot is
    reset.

    Args:
        spec: How environments are made.
        slots: Number of environments, at least ``workers``.
        workers: Number of processes.
        restarts: How many deaths are tolerated in all before WorkerCrashed is raised.
    """

    def __init__(self, spec: EnvSpec, *, slots: int, workers: int, restarts: int = 100) -> None:
        self._spec = spec
        self._context = multiprocessing.get_context("spawn")
        self._restarts = restarts
        self.cohorts: Sequence[Sequence[int]] = two_cohorts(slots)
        self._worker_of = workers_of_slots(slots, workers)
        self._workers = [self._start() for _ in range(workers)]
        self._waiting: dict[int, list[int]] = {worker: [] for worker in range(workers)}
        self._answers: dict[int, Answer] = {}

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._spec), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def send(self, requests: Sequence[Request]) -> None:
        """Hand requests to the workers."""
        batches: dict[int, list[Request]] = {}
        for request in requests:
            batches.setdefault(self._worker_of[request.slot], []).append(request)
        for worker, batch in batches.items():
            self._waiting[worker] += [request.slot for request in batch]
            try:
                self._workers[worker].pipe.send(batch)
            except OSError:
                self._replace(worker)

    def receive(self, slots: Sequence[int]) -> list[Answer]:
        """Wait for and return the answers of slots."""
        wanted = set(slots)
        while any(wanted.intersection(waiting) for waiting in self._waiting.values()):
            busy = [w for w, waiting in self._waiting.items() if waiting]
            pipes = {self._workers[w].pipe: w for w in busy}
            for pipe in multiprocessing.connection.wait(list(pipes)):
                worker = pipes[pipe]  # pyright: ignore[reportArgumentType]
                try:
                    answers: list[Answer] = self._workers[worker].pipe.recv()
                except (EOFError, OSError):
                    self._replace(worker)
                    continue
                for answer in answers:
                    self._waiting[worker].remove(answer.slot)
                    self._answers[answer.slot] = answer
        return [self._answers.pop(slot) for slot in slots if slot in self._answers]

    def _replace(self, worker: int) -> None:
        self._workers[worker].process.join(timeout=5)
        code = self._workers[worker].process.exitcode
        if self._restarts == 0:
            raise WorkerCrashed(
                f"environment worker {worker} died (exit code {code}) and no restart is left; "
                "look at its standard error, or raise restarts"
            )
        self._restarts -= 1
        self._workers[worker].stop()
        self._workers[worker] = self._start()
        for slot in self._waiting[worker]:
            self._answers[slot] = Answer(slot=slot, error=f"worker died (exit code {code})")
        self._waiting[worker] = []

    @property
    def process_ids(self) -> list[int]:
        """Process ids of the workers, in order."""
        return [worker.process.pid or -1 for worker in self._workers]

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.stop()


class _Worker:
    """A worker process and our end of its pipe."""

    def __init__(self, process: Any, pipe: multiprocessing.connection.Connection[Any, Any]) -> None:
        self.process, self.pipe = process, pipe

    def stop(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join(timeout=5)


class Bench:
    """The environments of one process, made when their slot gets its first episode."""

    def __init__(self, spec: EnvSpec) -> None:
        self._spec = spec
        self._envs: dict[int, gym.Env[Any, Any]] = {}

    def run(self, request: Request) -> Answer:
        """Answer a request; what goes wrong in an environment ends up in the answer."""
        try:
            return self._run(request)
        except Exception:
            # The world failed; the collector decides whether to try again or to mask the episode.
            self._envs.pop(request.slot, None)
            return Answer(slot=request.slot, error=traceback.format_exc(limit=8))

    def _run(self, request: Request) -> Answer:
        slot = request.slot
        if request.task is not None:
            if slot not in self._envs:
                self._envs[slot] = self._spec.make()
            observation, info = self._envs[slot].reset(
                seed=request.seed, options={"task": request.task}
            )
            return Answer(slot=slot, observation=observation, info=_portable(info))
        if slot not in self._envs:
            return Answer(slot=slot, error="the worker in which this episode ran has died")
        observation, _, terminated, truncated, info = self._envs[slot].step(request.action)
        return Answer(
            slot=slot,
            observation=observation,
            terminated=terminated,
            truncated=truncated,
            info=_portable(info),
        )

    def close(self) -> None:
        """Close all environments."""
        for env in self._envs.values():
            env.close()
        self._envs.clear()


def _portable(info: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the task: the collector has it, and it is most of the bytes."""
    return {key: value for key, value in info.items() if key not in ("task", "lineage")}


def _serve(pipe: multiprocessing.connection.Connection[Any, Any], spec: EnvSpec) -> None:
    bench = Bench(spec)
    try:
        while True:
            requests: list[Request] = pipe.recv()
            pipe.send([bench.run(request) for request in requests])
    except (EOFError, KeyboardInterrupt, BrokenPipeError):
        bench.close()
