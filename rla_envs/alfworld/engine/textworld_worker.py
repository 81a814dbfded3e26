"""The process in which the real engine lives; RealWorld starts it as a module.

Reads one JSON request a line from stdin and answers with one JSON line. TextWorld leaks a loaded
library a game, rewrites ``sys.argv`` and swaps stdout, so it gets a process of its own, and what it
prints must not reach the pipe.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from importlib import import_module
from typing import Any, TextIO


def serve() -> None:
    """Answer requests until stdin closes."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # Importing alfworld creates a data folder in the user's home unless told where to.
    os.environ.setdefault("ALFWORLD_DATA", tempfile.gettempdir())
    try:
        textworld: Any = import_module("textworld")
        pddl: Any = import_module("textworld.envs.pddl")
        alfworld: Any = import_module("alfworld.agents.environment.alfred_tw_env")
        infos = textworld.EnvInfos(won=True, admissible_commands=True)
        real = alfworld.AlfredDemangler(pddl.PddlEnv(infos))
    except ImportError as error:
        _answer(answers, {"missing": str(error)})
        return
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "game" in request:
                real.load(request["game"])
                state = real.reset()
            else:
                state, _, _ = real.step(request["command"])
        except Exception as error:  # The engine raises whatever its parsers raise.
            _answer(answers, {"error": f"{type(error).__name__}: {error}"})
            continue
        _answer(
            answers,
            {
                "feedback": state["feedback"],
                "admissible": state["admissible_commands"],
                "won": bool(state["won"]),
            },
        )


def _answer(answers: TextIO, data: dict[str, Any]) -> None:
    answers.write(json.dumps(data) + "\n")
    answers.flush()


if __name__ == "__main__":
    serve()
