"""Verify one program: the verdict has a reason and says what was used."""

from __future__ import annotations

from rla_envs.sandbox import Limits, LocalSandbox, Program, StdioTest

PROGRAM = Program("a, b = map(int, input().split())\nprint(a - b)")

with LocalSandbox(workers=1) as sandbox:
    result = sandbox.run(PROGRAM, StdioTest("1 2\n", "3\n"), Limits(cpu_s=2, memory_mb=256))

print(result.reason, "-", result.detail)
print(
    f"{result.cpu_s * 1e3:.0f} ms of CPU, {result.memory_mb:.0f} MiB, {result.isolation} isolation"
)
