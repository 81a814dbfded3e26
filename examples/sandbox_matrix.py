"""Score K programs on C tests in one call, as results arrive."""

from __future__ import annotations

from rla_envs.sandbox import CallTest, LocalSandbox, Program, Result, ScriptTest, Test

PROGRAMS = [Program(f"def power(x):\n    return {body}") for body in ("x ** 2", "2 * x", "x * x")]
TESTS: list[Test] = [
    CallTest("power", [2], 4),
    CallTest("power", [3], 9),
    ScriptTest("assert power(-1) == 1 and power(0) == 0"),
]


def show(k: int, c: int, result: Result) -> None:
    """Print one result when it is known."""
    print(f"program {k}, test {c}: {result.reason}")


with LocalSandbox() as sandbox:
    matrix = sandbox.matrix(PROGRAMS, TESTS, on_result=show)
print(matrix.passed_KC.astype(int))
