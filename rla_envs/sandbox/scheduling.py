"""One scheduler for all backends: coroutines of jobs over a pool of cells."""

from __future__ import annotations

import hashlib
import queue
import selectors
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from rla_envs.errors import ConfigError, SandboxError
from rla_envs.sandbox import judging
from rla_envs.sandbox.cell import Cell, CellDied, End, Job, Outcome
from rla_envs.sandbox.types import (
    CallTest,
    Custom,
    Isolation,
    Limits,
    OnResult,
    PassMatrix,
    Program,
    Result,
    ScriptTest,
    SolutionTest,
    StdioTest,
    Test,
)

_Key = TypeVar("_Key")
_GRACE_S = 15.0
_DEFAULT = Limits()


class Slot:
    """A place for a cell; the cell is started when first needed and replaced when it breaks."""

    def __init__(self) -> None:
        self.cell: Cell | None = None


class PooledSandbox(ABC):
    """What all backends share; a backend says how a cell is started.

    Args:
        workers: Number of cells, each running one test at a time.
    """

    isolation: Isolation = "strong"

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise ConfigError(f"workers must be at least 1, got {workers}")
        self._slots = [Slot() for _ in range(workers)]
        self._free: queue.LifoQueue[Slot] = queue.LifoQueue()
        for slot in reversed(self._slots):
            self._free.put(slot)
        self._proven: set[str] = {"python"}
        self._proving = threading.Lock()
        self._closed = False

    @abstractmethod
    def start_cell(self) -> Cell:
        """Start a cell. Raises SandboxError that says what to install or enable."""

    @property
    def process_ids(self) -> list[int]:
        """Process ids, outside, of the first processes of all running cells."""
        return [slot.cell.process_id for slot in self._slots if slot.cell is not None]

    def warm_up(self) -> None:
        """Start all cells that are not in use now."""
        slots = self._take(len(self._slots))
        try:
            for slot in slots:
                slot.cell = slot.cell or self.start_cell()
        finally:
            self._give(slots)

    def run(self, program: Program, test: Test, limits: Limits | None = None) -> Result:
        """Run one test. Raises SandboxError if the sandbox, not the program, fails."""
        return self.matrix([program], [test], limits).results[0][0]

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
        stream = self.stream(programs, tests, limits)
        try:
            for k, c, result in stream:
                found[k, c] = result
                if on_result is not None:
                    on_result(k, c, result)
        finally:
            stream.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        return PassMatrix(
            tuple(tuple(found[k, c] for c in range(len(tests))) for k in range(len(programs)))
        )

    def stream(
        self, programs: Sequence[Program], tests: Sequence[Test], limits: Limits | None = None
    ) -> Iterator[tuple[int, int, Result]]:
        """Yield (k, c, result) of every pair as it is known; closing the iterator cancels."""
        if not programs or not tests:
            raise ConfigError(
                f"need at least one program and one test, got {len(programs)} and {len(tests)}"
            )
        limits = limits or _DEFAULT
        places: dict[tuple[Program, bytes], list[tuple[int, int]]] = {}
        first: dict[tuple[Program, bytes], Test] = {}
        names = [_name(test) for test in tests]
        for k, program in enumerate(programs):
            for c, test in enumerate(tests):
                places.setdefault((program, names[c]), []).append((k, c))
                first.setdefault((program, names[c]), test)
        for language in sorted({program.language for program in programs} - self._proven):
            self._prove(language)
        binaries: judging.Binaries = {}
        compiled = {program: None for program in programs if program.language == "cpp"}
        for _ in self._drive((p, judging.compile_steps(p, binaries)) for p in compiled):
            pass
        pairs = (
            (key, judging.verdict_steps(key[0], test, limits, binaries))
            for key, test in first.items()
        )
        for key, result in self._drive(pairs):
            result = replace(result, isolation=self.isolation)
            for k, c in places[key]:
                yield k, c, result

    def _prove(self, language: str) -> None:
        """Run a trivial program once, so that a missing compiler is not a verdict."""
        with self._proving:
            if language in self._proven:
                return
            program, test = judging.probe(language)
            binaries: judging.Binaries = {}
            if language == "cpp":
                for _ in self._drive([(0, judging.compile_steps(program, binaries))]):
                    pass
            steps = judging.verdict_steps(program, test, _DEFAULT, binaries)
            for _, result in self._drive([(0, steps)]):
                if not result.passed:
                    tool = {"cpp": "g++", "javascript": "nodejs"}[language]
                    raise SandboxError(
                        f"{language} does not work in the cell ({result.detail}); install {tool} "
                        "system-wide, or rebuild the image with `make docker-images`"
                    )
            self._proven.add(language)

    def _drive(self, work: Iterable[tuple[_Key, judging.Steps]]) -> Iterator[tuple[_Key, Result]]:
        """Run coroutines on the cells that are free, at least one; yield in order of completion."""
        todo = iter(work)
        ready: deque[tuple[_Key, judging.Steps, Job]] = deque()
        busy: dict[Slot, tuple[_Key, judging.Steps, Job, float]] = {}
        done: deque[tuple[_Key, Result]] = deque()

        def advance(key: _Key, steps: judging.Steps, outcome: Outcome | None) -> None:
            try:
                ready.append((key, steps, next(steps) if outcome is None else steps.send(outcome)))
            except StopIteration as stop:
                done.append((key, stop.value))

        def fill() -> bool:
            while not ready:
                following = next(todo, None)
                if following is None:
                    return False
                advance(*following, None)
            return True

        if not fill():
            yield from done
            return
        slots = self._take(1)
        idle = [*slots]
        selector = selectors.DefaultSelector()
        try:
            while fill() or busy or done:
                while ready or fill():
                    if not idle:
                        more = self._take(1, wait=False)
                        if not more:
                            break
                        slots += more
                        idle += more
                    slot = idle.pop()
                    key, steps, job = ready.popleft()
                    cell = self._begin(slot, job)
                    selector.register(cell, selectors.EVENT_READ, slot)
                    busy[slot] = key, steps, job, time.monotonic() + job.limits["wall"] + _GRACE_S
                while done:
                    yield done.popleft()
                if not busy:
                    continue
                wait = min(deadline for *_, deadline in busy.values()) - time.monotonic()
                events = selector.select(max(0.0, wait))
                finished = [entry.data for entry, _ in events] or [
                    slot for slot, (*_, end) in busy.items() if end <= time.monotonic()
                ]
                outcomes: list[tuple[_Key, judging.Steps, Outcome]] = []
                for slot in finished:
                    key, steps, job, _ = busy.pop(slot)
                    assert slot.cell is not None
                    selector.unregister(slot.cell)
                    outcomes.append((key, steps, self._finish(slot, job, bool(events))))
                    idle.append(slot)
                    # The next test starts before this one is judged: cells never wait for us.
                    if fill():
                        key, steps, job = ready.popleft()
                        slot = idle.pop()
                        cell = self._begin(slot, job)
                        selector.register(cell, selectors.EVENT_READ, slot)
                        end = time.monotonic() + job.limits["wall"] + _GRACE_S
                        busy[slot] = key, steps, job, end
                for outcome in outcomes:
                    advance(*outcome)
        finally:
            selector.close()
            for slot in busy:
                self._drop(slot)
            self._give(slots)

    def _begin(self, slot: Slot, job: Job) -> Cell:
        if slot.cell is not None and slot.cell.worn():
            self._drop(slot)
        slot.cell = slot.cell or self.start_cell()
        try:
            slot.cell.send(job)
        except CellDied:
            self._drop(slot)
            slot.cell = self.start_cell()
            slot.cell.send(job)
        return slot.cell

    def _finish(self, slot: Slot, job: Job, answered: bool) -> Outcome:
        """Return the job's outcome; a cell that died gets a second try and then a fair trial."""
        assert slot.cell is not None
        try:
            if not answered:
                raise CellDied("the cell did not answer in time")
            return slot.cell.receive()
        except CellDied:
            self._drop(slot)
        try:
            return self._attempt(slot, job)
        except CellDied as error:
            self._drop(slot)
            program, test = judging.probe("python")
            try:
                self._attempt(slot, next(judging.verdict_steps(program, test, _DEFAULT, {})))
            except CellDied:
                self._drop(slot)
                raise SandboxError(f"cells do not stay alive: {error}") from error
        # Two cells died of this job and a third is well: it is the program's doing.
        end = End(
            status=-9, cpu=0.0, memory=0.0, output=b"", error=b"took its cell down", answer=b""
        )
        return Outcome(ends=[end for _ in job.roles], wall=0.0, stop=None)

    def _attempt(self, slot: Slot, job: Job) -> Outcome:
        slot.cell = slot.cell or self.start_cell()
        slot.cell.send(job)
        with selectors.DefaultSelector() as selector:
            selector.register(slot.cell, selectors.EVENT_READ)
            if not selector.select(job.limits["wall"] + _GRACE_S):
                raise CellDied("the cell did not answer in time")
        return slot.cell.receive()

    def _take(self, count: int, *, wait: bool = True) -> list[Slot]:
        if self._closed:
            raise SandboxError("the sandbox is closed")
        slots: list[Slot] = []
        try:
            while len(slots) < count:
                slots.append(self._free.get(block=wait and not slots))
        except queue.Empty:
            pass
        return slots

    def _give(self, slots: Sequence[Slot]) -> None:
        for slot in slots:
            if self._closed:
                self._drop(slot)
            self._free.put(slot)

    def _drop(self, slot: Slot) -> None:
        if slot.cell is not None:
            slot.cell.close()
            slot.cell = None

    def close(self) -> None:
        """End all cells; the sandbox cannot be used afterwards."""
        self._closed = True
        for slot in self._slots:
            self._drop(slot)

    def __enter__(self) -> PooledSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _name(test: Test) -> bytes:
    """Return equal bytes for equal tests; arguments may be unhashable."""
    match test:
        case StdioTest() | ScriptTest():
            parts = repr(test)
        case CallTest(name, args, expected, checker) | SolutionTest(name, args, expected, checker):
            parts = repr((type(test).__name__, name, checker))
            parts += judging.encode(list(args)) + judging.encode(expected)
            if isinstance(checker, Custom):
                parts += checker.source
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).digest()
