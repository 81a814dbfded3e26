"""A programming problem as the payload of a task, and reading it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from rla_envs.errors import TaskError
from rla_envs.types import Task

Kind = Literal["call", "solution", "stdio", "script"]
"""How a program is run: a function is called, a method of ``class Solution`` is called, the program
reads standard input, or a test script uses what the program defines."""

_TEST_KEYS: Mapping[str, tuple[str, str]] = {
    "call": ("args", "expected"),
    "solution": ("args", "expected"),
    "stdio": ("stdin", "stdout"),
    "script": ("code", "code"),
}

Case = Mapping[str, str]
"""A ground-truth test as strings: "args" (a Python tuple) and "expected" (a Python literal), or
"stdin" and "stdout", or "code"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What ``Task.payload`` holds in the coding domain.

    Attributes:
        kind: How a program is run.
        tests: Ground truth, at least one.
        language: "python", "cpp" or "javascript" (those two: kind "stdio" only).
        entry_point: Name of the function or method; "" for stdio.
        public: Places of the tests that may be shown.
        checker: How results are compared: {"name": "exact"}, "tokens", "unordered", "float" (with
            "tolerance"), or "custom" (with "source").
        starter: What a programmer starts from: a signature, or "".
        reference: A program that passes all tests, where one is known.
        mutants: Programs that fail at least one test.
        epilogue: Python that is put after every program, e.g. to list what a generator yields.
        cpu_seconds: CPU limit of one test.
        memory_mb: Memory limit of one test.
    """

    kind: Kind
    tests: tuple[Case, ...]
    language: str = "python"
    entry_point: str = ""
    public: tuple[int, ...] = ()
    checker: Mapping[str, Any] = field(default_factory=lambda: {"name": "exact"})
    starter: str = ""
    reference: str | None = None
    mutants: tuple[str, ...] = ()
    epilogue: str = ""
    cpu_seconds: float = 5.0
    memory_mb: int = 512

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise TaskError(f"kind must be one of {get_args(Kind)}, got {self.kind!r}")
        if not self.tests:
            # Zero tests are passed by every program (olmo-eval#354).
            raise TaskError("a problem needs at least one ground-truth test, got none")
        wanted = _TEST_KEYS[self.kind]
        for place, case in enumerate(self.tests):
            if any(not isinstance(case.get(key), str) for key in wanted):
                raise TaskError(f"test {place} of a {self.kind} problem needs text in {wanted}")
        if any(not 0 <= place < len(self.tests) for place in self.public):
            raise TaskError(f"public must be places of the {len(self.tests)} tests: {self.public}")
        if self.kind in ("call", "solution") and not self.entry_point.isidentifier():
            raise TaskError(f"entry_point must name a function, got {self.entry_point!r}")

    def payload(self) -> dict[str, Any]:
        """Return the problem as JSON-serialisable data; ``problem_of`` reads it back."""
        return {
            "kind": self.kind,
            "language": self.language,
            "entry_point": self.entry_point,
            "tests": [dict(case) for case in self.tests],
            "public": list(self.public),
            "checker": dict(self.checker),
            "starter": self.starter,
            "reference": self.reference,
            "mutants": list(self.mutants),
            "epilogue": self.epilogue,
            "cpu_seconds": self.cpu_seconds,
            "memory_mb": self.memory_mb,
        }


def problem_of(task: Task) -> Problem:
    """Return the problem of a coding task.

    Raises:
        TaskError: the task is of another domain, or its payload is malformed.
    """
    if task.domain != "coding":
        raise TaskError(f"task {task.id} is of domain {task.domain!r}, wanted coding")
    data = task.payload
    try:
        return Problem(
            kind=data["kind"],
            tests=tuple(data["tests"]),
            language=data.get("language", "python"),
            entry_point=data.get("entry_point", ""),
            public=tuple(data.get("public", ())),
            checker=data.get("checker", {"name": "exact"}),
            starter=data.get("starter", ""),
            reference=data.get("reference"),
            mutants=_texts(data.get("mutants", ())),
            epilogue=data.get("epilogue", ""),
            cpu_seconds=float(data.get("cpu_seconds", 5.0)),
            memory_mb=int(data.get("memory_mb", 512)),
        )
    except TaskError as error:
        raise TaskError(f"task {task.id}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TaskError(f"task {task.id} has a malformed payload: {error!r}") from error


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    if any(not isinstance(value, str) for value in values):
        raise TaskError("mutants must be program texts")
    return tuple(values)
