"""The examples of the sandbox run and print what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sandbox_verify", ["wrong_answer", "strong isolation"]),
        ("sandbox_matrix", ["[[1 1 1]\n [1 0 0]\n [1 1 1]]"]),
        ("sandbox_reward", ["[1.0, 0.5]"]),
    ],
)
def test_example_runs(name, words, local):
    ran = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, check=True
    )
    for word in words:
        assert word in ran.stdout
