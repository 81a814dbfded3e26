"""Joining a Ray cluster, and actors that are replaced when they die."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError

from rla_envs.errors import ConfigError, WorkerCrashed

T = TypeVar("T")

OBJECT_STORE_BYTES = 200_000_000
"""Of a local cluster: messages are small and stay out of the store, weights are a few megabytes."""

REACH_SECONDS = 10
"""How long a cluster may take to accept a connection."""
START_SECONDS = 300
"""How long actors may take to start; a node that installs its environment first takes minutes."""


def connect(address: str = "local", *, cpus: int = 1) -> None:
    """Join the Ray cluster at address; do nothing if this process has joined one.

    Args:
        address: "local" starts a cluster that ends with this process; "auto" is the one that runs
            on this machine; otherwise "host:port", or "ray://host:port" through Ray's client.
        cpus: Of a local cluster: how many actors of one CPU it holds, whatever the machine has.

    Raises:
        ConfigError: no cluster answers at address.
    """
    if ray.is_initialized():
        return
    _check_reachable(address)
    # A training library reports to nobody unless its user says so.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    local: dict[str, Any] = {}
    if address == "local":
        local = {
            "num_cpus": cpus,
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE_BYTES,
        }
    try:
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **local)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _unreachable(address, error) from error


def _check_reachable(address: str) -> None:
    # Ray itself tries for many minutes.
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host:
        return
    try:
        socket.create_connection((host, int(port)), timeout=REACH_SECONDS).close()
    except (OSError, ValueError) as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"no Ray cluster at {address!r} ({error}); start one with `ray start --head`, or use "
        '"local"'
    )


class Lost(Exception):
    """An actor died before it answered."""


class Call(NamedTuple):
    """A call under way."""

    number: int
    """Of the actor."""
    actor: Any
    """The actor that had this number when the call was sent."""
    reference: Any
    """Stands for the result."""


class Crew(Generic[T]):
    """Numbered actors of one class, spread over the cluster's nodes; a dead one is replaced.

    An actor runs its calls one after the other, in the order in which they were sent. Several
    threads may call at the same time.

    Args:
        cls: The actors' class, as plain Python.
        arguments: Called for every actor that is started; returns its constructor's arguments.
        size: Number of actors.
        cpus: CPUs that each one reserves.
        gpus: GPUs that each one reserves.
        restarts: How many deaths are tolerated in all before WorkerCrashed is raised.

    Raises:
        ConfigError: the cluster has too few CPUs or GPUs for all actors.
        WorkerCrashed: an actor's constructor failed.
    """

    def __init__(
        self,
        cls: type[T],
        arguments: Callable[[], tuple[Any, ...]],
        *,
        size: int,
        cpus: float = 1,
        gpus: float = 0,
        restarts: int = 100,
    ) -> None:
        if size < 1:
            raise ConfigError(f"need at least one actor, got {size}")
        self.cpus, self.gpus = cpus, gpus
        self._name, self._arguments, self._restarts = cls.__name__, arguments, restarts
        self._lock = threading.Lock()
        self._remote = ray.remote(cls)
        if lacking := self._lacking(size):
            raise ConfigError(
                f"{size} actors need {lacking}; add nodes to the cluster or lower their number"
            )
        self._actors = [self._start(cpus) for _ in range(size)]
        self._await_start()

    def __len__(self) -> int:
        return len(self._actors)

    def call(self, number: int, method: str, *arguments: Any) -> Call:
        """Send a call to an actor; ``wait_for`` gets its result."""
        actor = self._actors[number]
        return Call(number, actor, getattr(actor, method).remote(*arguments))

    def first(self, calls: Sequence[Call]) -> Call:
        """Wait until one of calls is done, or lost, and return it."""
        done, _ = ray.wait([call.reference for call in calls])
        return next(call for call in calls if call.reference == done[0])

    def wait_for(self, call: Call) -> Any:
        """Return a call's result.

        Raises:
            Lost: the actor died before; by now another one has its number.
            WorkerCrashed: it died, and no restart is left.
        """
        try:
            return ray.get(call.reference)
        except RayTaskError as error:
            # What the actor's code raised, as the exception it was.
            raise error.as_instanceof_cause() from None
        except RayError as error:
            with self._lock:
                # Several calls of one dead actor fail, and only the first one replaces it.
                if self._actors[call.number] is call.actor:
                    self._replace(call.number, error)
            raise Lost(f"actor {call.number} died: {_first_line(error)}") from error

    def ask_all(self, method: str) -> list[Any]:
        """Return every actor's result of a method without arguments.

        Raises:
            Lost, WorkerCrashed: see ``wait_for``.
        """
        calls = [self.call(number, method) for number in range(len(self))]
        return [self.wait_for(call) for call in calls]

    def close(self) -> None:
        """End all actors."""
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []

    def _start(self, cpus: float) -> Any:
        return self._remote.options(
            num_cpus=cpus, num_gpus=self.gpus, scheduling_strategy="SPREAD", max_restarts=0
        ).remote(*self._arguments())

    def _replace(self, number: int, error: RayError) -> None:
        while True:
            if self._restarts == 0:
                raise WorkerCrashed(
                    f"{self._name} {number} died ({_first_line(error)}) and no restart is left; "
                    "look at the logs of its node, or raise restarts"
                ) from error
            self._restarts -= 1
            # An actor that is only out of reach must not come back to work for nobody.
            ray.kill(self._actors[number])
            # A node that died took its CPUs along, and a replacement must not wait for another one.
            self._actors[number] = self._start(0)
            try:
                ray.get(self._actors[number].__ray_ready__.remote(), timeout=START_SECONDS)
            except RayError as again:
                # It was sent to a node whose death nobody had noticed yet.
                error = again
            else:
                return

    def _await_start(self) -> None:
        ready = [actor.__ray_ready__.remote() for actor in self._actors]
        _, late = ray.wait(ready, num_returns=len(ready), timeout=START_SECONDS)
        if late:
            self.close()
            raise ConfigError(
                f"{len(late)} of {len(ready)} actors found no place within {START_SECONDS} s: the "
                f"cluster has {ray.cluster_resources().get('CPU', 0):g} CPUs, and other actors "
                "hold some; add nodes or lower the number of actors"
            )
        try:
            ray.get(ready)
        except RayError as error:
            self.close()
            raise WorkerCrashed(f"{self._name} does not start on the cluster: {error}") from error

    def _lacking(self, size: int) -> str:
        there = ray.cluster_resources()
        for name, each in (("CPU", self.cpus), ("GPU", self.gpus)):
            if size * each > there.get(name, 0):
                return f"{size * each:g} {name}s, the cluster has {there.get(name, 0):g}"
        return ""


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
