"""A reward function for somebody else's trainer: completions in, rewards out."""

from __future__ import annotations

from rla_envs.sandbox import LocalSandbox, Program, ScriptTest

SANDBOX = LocalSandbox()


def reward(completions: list[str], asserts: list[str]) -> list[float]:
    """Return, for each completion, the share of asserts that hold. SandboxError masks the batch."""
    programs = [Program(text.split("```python\n")[-1].split("```")[0]) for text in completions]
    matrix = SANDBOX.matrix(programs, [ScriptTest(code) for code in asserts])
    return matrix.passed_KC.mean(axis=1).tolist()


if __name__ == "__main__":
    answers = ["```python\ndef f(x):\n    return x + 1\n```", "```python\ndef f(x): return 2\n```"]
    print(reward(answers, ["assert f(1) == 2", "assert f(2) == 3"]))
    SANDBOX.close()
