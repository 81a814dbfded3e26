"""Programs, tests, limits and verdicts: what goes into a sandbox and what comes out.

A failing program is data (a ``Result`` with a reason). A failing sandbox is a ``SandboxError``.
Values of arguments and answers are Python literals: None, bool, int, float, complex, str, bytes,
list, tuple, dict, set and frozenset, nested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from rla_envs.errors import ConfigError

Language = Literal["python", "cpp", "javascript"]
Isolation = Literal["strong", "weak"]
Reason = Literal[
    "passed",
    "wrong_answer",
    "exception",
    "cpu_limit",
    "wall_limit",
    "memory_limit",
    "output_limit",
    "killed",
    "invalid",
]


@dataclass(frozen=True, slots=True)
class Program:
    """Source text in one language; C++ (C++17) and JavaScript (Node.js) take StdioTests only."""

    source: str
    language: Language = "python"


@dataclass(frozen=True, slots=True)
class Exact:
    """Equal line by line after CRLF and trailing blanks are dropped; values: equal, exact types.

    As in Python ``1 == 1.0`` and, unlike it, ``(1,) == [1]`` and ``True != 1``.
    """


@dataclass(frozen=True, slots=True)
class Tokens:
    """Equal sequences of words between blanks; line structure does not matter. Text only."""


@dataclass(frozen=True, slots=True)
class FloatTolerance:
    """As Tokens (text) or Exact (values), but numbers may differ by either tolerance."""

    relative: float = 1e-6
    absolute: float = 1e-6


@dataclass(frozen=True, slots=True)
class Unordered:
    """The same lines (text) or the same elements of the outermost sequence (values), any order."""


@dataclass(frozen=True, slots=True)
class Custom:
    """A Python program with ``check(given, output, expected) -> bool``, run in the sandbox itself.

    ``given`` is the test's stdin or list of arguments. Only a returned ``True`` accepts; a checker
    that fails in any way makes the result "invalid".
    """

    source: str


Checker: TypeAlias = Exact | Tokens | FloatTolerance | Unordered | Custom


@dataclass(frozen=True, slots=True)
class StdioTest:
    """Run the program as ``__main__`` with stdin (a real file descriptor), judge its output."""

    stdin: str
    expected: str
    checker: Checker = Exact()


@dataclass(frozen=True, slots=True)
class CallTest:
    """Call a function of a Python program and judge the value it returns."""

    function: str
    args: Sequence[Any]
    expected: Any
    checker: Checker = Exact()


@dataclass(frozen=True, slots=True)
class SolutionTest:
    """Call a method of a new ``Solution()`` and judge the value it returns."""

    method: str
    args: Sequence[Any]
    expected: Any
    checker: Checker = Exact()


@dataclass(frozen=True, slots=True)
class ScriptTest:
    """Test code with asserts, ``test_*`` functions or unittest classes, in a process of its own.

    The names that the program defines are there, by themselves and in a module ``solution``; calls
    travel to the program's process and plain values come back, so that no object of the program
    can vouch for itself. Passes iff all of it ran and nothing raised. With ``entry``, the code's
    ``check(candidate)`` is called with that function (HumanEval's form).
    """

    code: str
    entry: str | None = None


Test: TypeAlias = StdioTest | CallTest | SolutionTest | ScriptTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one test may use."""

    cpu_s: float = 10.0
    """CPU seconds of a process; the limit that decides."""
    wall_s: float | None = None
    """Wall seconds, a loose guard against sleeping; None means 4 * cpu_s + 5."""
    memory_mb: int = 1024
    """Address space of a process and, where cgroups exist, memory of all together, in MiB."""
    output_bytes: int = 4 << 20
    """Longest standard output, and largest file that may be written, in bytes."""
    processes: int = 64
    """Processes and threads at a time."""

    def __post_init__(self) -> None:
        for name, value in (
            ("cpu_s", self.cpu_s),
            ("wall_s", self.wall),
            ("memory_mb", self.memory_mb),
            ("output_bytes", self.output_bytes),
            ("processes", self.processes),
        ):
            if value <= 0:
                raise ConfigError(f"Limits.{name} must be above 0, got {value}")

    @property
    def wall(self) -> float:
        """The wall limit in force, in seconds."""
        return 4 * self.cpu_s + 5 if self.wall_s is None else self.wall_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The verdict on one program and one test.

    Attributes:
        passed: True iff reason is "passed".
        reason: Why. "exception" covers errors, exit codes and a missing answer; "killed" a signal;
            "invalid" means that the test, not the program, cannot be used.
        cpu_s: CPU seconds used, children that were waited for included.
        wall_s: Wall seconds from fork to death.
        memory_mb: Largest resident set of a process, in MiB.
        output: Start of standard output, at most 2,000 characters; for calls, the value's repr.
        detail: What a human wants to know next: traceback, first difference, signal.
        isolation: "weak" only if the caller asked for it by name.
    """

    passed: bool
    reason: Reason
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_mb: float = 0.0
    output: str = ""
    detail: str = ""
    isolation: Isolation = "strong"


@dataclass(frozen=True, slots=True)
class PassMatrix:
    """Results of K programs on C tests: ``results[k][c]``."""

    results: tuple[tuple[Result, ...], ...]
    passed_KC: npt.NDArray[np.bool_] = field(init=False)
    """[K, C] True where program k passes test c."""

    def __post_init__(self) -> None:
        rows = [[result.passed for result in row] for row in self.results]
        object.__setattr__(self, "passed_KC", np.array(rows, dtype=np.bool_))


OnResult: TypeAlias = Callable[[int, int, Result], None]


class Sandbox(Protocol):
    """Where hostile programs run. Thread-safe; a context manager that closes itself."""

    def run(self, program: Program, test: Test, limits: Limits | None = None) -> Result:
        """Run one test. Raises SandboxError if the sandbox, not the program, fails."""
        ...

    def stream(
        self, programs: Sequence[Program], tests: Sequence[Test], limits: Limits | None = None
    ) -> Iterator[tuple[int, int, Result]]:
        """Yield (k, c, result) of every pair as it is known; closing the iterator cancels."""
        ...

    def matrix(
        self,
        programs: Sequence[Program],
        tests: Sequence[Test],
        limits: Limits | None = None,
        *,
        on_result: OnResult | None = None,
    ) -> PassMatrix:
        """Run every program on every test, identical pairs once; raising in on_result cancels."""
        ...

    def close(self) -> None:
        """End all processes; the sandbox cannot be used afterwards."""
        ...

    def __enter__(self) -> Sandbox: ...

    def __exit__(self, *_: object) -> None: ...
