"""A ``Sandbox`` whose cells are spread over a cluster."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from rla_adapters.ray_workers.cluster import Call, Crew, Lost
from rla_envs.errors import ConfigError, SandboxError
from rla_envs.sandbox.types import Limits, OnResult, PassMatrix, Program, Result, Sandbox, Test

ATTEMPTS = 3
"""A program that was running whenever its actor died, this often, is not sent again."""
QUEUED = 2
"""Programs that an actor has at a time: one at work, and the next so that it never waits for us."""


class SandboxActor:
    """The sandbox of one machine."""

    def __init__(self, make: Callable[[], Sandbox]) -> None:
        self._sandbox = make()

    def row(self, program: Program, tests: Sequence[Test], limits: Limits | None) -> list[Result]:
        """Return the results of one program on all tests."""
        return list(self._sandbox.matrix([program], tests, limits).results[0])

    def process_id(self) -> int:
        """Return the process id, which means something on this actor's node only."""
        return os.getpid()


class RaySandbox:
    """Sandboxes in Ray actors, shared by all callers (``rla_envs.sandbox.Sandbox``).

    A program with all its tests goes to an actor that is free. Back-pressure: an actor has at most
    two of a caller's programs, so that the rest waits with its caller, however many there are.

    Args:
        make: Makes an actor's sandbox, e.g. ``partial(LocalSandbox, workers=8)``.
        actors: Number of actors.
        cpus: CPUs that an actor reserves: as many as its sandbox has cells.
        restarts: How many deaths are tolerated in all before WorkerCrashed is raised.

    Raises:
        ConfigError: the cluster is too small.
        WorkerCrashed: a sandbox does not start.
    """

    def __init__(
        self, make: Callable[[], Sandbox], *, actors: int, cpus: float = 1, restarts: int = 100
    ) -> None:
        self._crew = Crew(SandboxActor, lambda: (make,), size=actors, cpus=cpus, restarts=restarts)

    def run(self, program: Program, test: Test, limits: Limits | None = None) -> Result:
        """Run one test. Raises SandboxError if the sandbox, not the program, fails."""
        return self.matrix([program], [test], limits).results[0][0]

    def stream(
        self, programs: Sequence[Program], tests: Sequence[Test], limits: Limits | None = None
    ) -> Iterator[tuple[int, int, Result]]:
        """Yield (k, c, result) of every pair, a program at a time; closing the iterator cancels.

        Raises:
            SandboxError: a sandbox failed, or actors die whenever they get this program.
            WorkerCrashed: actors keep dying.
        """
        if not programs or not tests:
            raise ConfigError(
                f"need at least one program and one test, got {len(programs)} and {len(tests)}"
            )
        places: dict[Program, list[int]] = {}
        for k, program in enumerate(programs):
            places.setdefault(program, []).append(k)
        todo = deque((program, 1) for program in places)
        free = deque(range(len(self._crew))) * QUEUED
        running: dict[Call, tuple[Program, int]] = {}
        while todo or running:
            while todo and free:
                program, attempt = todo.popleft()
                call = self._crew.call(free.popleft(), "row", program, tests, limits)
                running[call] = program, attempt
            call = self._crew.first(list(running))
            program, attempt = running.pop(call)
            free.append(call.number)
            try:
                results: list[Result] = self._crew.wait_for(call)
            except Lost as error:
                if attempt == ATTEMPTS:
                    raise SandboxError(
                        f"{ATTEMPTS} times with the same program: {error}"
                    ) from error
                todo.appendleft((program, attempt + 1))
                continue
            for k in places[program]:
                for c, result in enumerate(results):
                    yield k, c, result

    def matrix(
        self,
        programs: Sequence[Program],
        tests: Sequence[Test],
        limits: Limits | None = None,
        *,
        on_result: OnResult | None = None,
    ) -> PassMatrix:
        """Run every program on every test, identical pairs once; raising in on_result cancels."""
        found: dict[tuple[int, int], Result] = {}
        for k, c, result in self.stream(programs, tests, limits):
            found[k, c] = result
            if on_result is not None:
                on_result(k, c, result)
        return PassMatrix(
            tuple(tuple(found[k, c] for c in range(len(tests))) for k in range(len(programs)))
        )

    def process_ids(self) -> list[int]:
        """Return the process ids of the actors, in order."""
        return self._crew.ask_all("process_id")

    def close(self) -> None:
        """End all actors; the sandbox cannot be used afterwards."""
        self._crew.close()

    def __enter__(self) -> RaySandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
