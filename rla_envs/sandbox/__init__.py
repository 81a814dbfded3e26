"""Run programs that a model wrote, and judge them, without trusting them.

``LocalSandbox`` needs bubblewrap and no daemon, ``DockerSandbox`` a Docker daemon; both run the
same tests with the same results. See docs/sandbox.md for what they protect against.
"""

from rla_envs.errors import SandboxError
from rla_envs.sandbox.docker import DockerSandbox
from rla_envs.sandbox.local import LocalSandbox
from rla_envs.sandbox.types import (
    CallTest,
    Checker,
    Custom,
    Exact,
    FloatTolerance,
    Isolation,
    Language,
    Limits,
    PassMatrix,
    Program,
    Reason,
    Result,
    Sandbox,
    ScriptTest,
    SolutionTest,
    StdioTest,
    Test,
    Tokens,
    Unordered,
)

__all__ = [
    "CallTest",
    "Checker",
    "Custom",
    "DockerSandbox",
    "Exact",
    "FloatTolerance",
    "Isolation",
    "Language",
    "Limits",
    "LocalSandbox",
    "PassMatrix",
    "Program",
    "Reason",
    "Result",
    "Sandbox",
    "SandboxError",
    "ScriptTest",
    "SolutionTest",
    "StdioTest",
    "Test",
    "Tokens",
    "Unordered",
]
