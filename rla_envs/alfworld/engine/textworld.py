"""The real TextWorld engine behind the methods of World, one process each.

It needs the extra "alfworld", which compiles a planner from source, takes seconds to load a game
and 0.2 s a step. Use it to check the embedded engine, or for games with a grammar of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import MissingExtra, TaskError, TaskUnavailable, WorkerCrashed
from .game import Game, game_to_json

_PACKAGE_ROOT = Path(__file__).resolve().parents[3]


class RealWorld:
    """One episode of a game in the real engine.

    A context manager; close ends the process. ``load`` starts another episode in the same process,
    which saves the seconds that the imports take.

    Attributes:
        feedback: Text after the last command; at first the intro.
        won: Whether the goal holds now.
    """

    def __init__(self, source: Game | Path | str | Mapping[str, Any]) -> None:
        """Start the engine and an episode of source: a game, a game file, or its parsed JSON.

        Raises:
            MissingExtra: alfworld or textworld is not installed.
            TaskUnavailable: the game file cannot be read.
            TaskError: the engine does not accept the game.
            WorkerCrashed: the process died.
        """
        path = [str(_PACKAGE_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rla_envs.alfworld.engine.textworld_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
            text=True,
            encoding="utf-8",
        )
        self.feedback = ""
        self.won = False
        self._admissible: list[str] = []
        try:
            self.load(source)
        except BaseException:
            self.close()
            raise

    def load(self, source: Game | Path | str | Mapping[str, Any]) -> str:
        """Start an episode of source and return the intro; errors as for the constructor."""
        self._ask({"game": _game_data(source)})
        return self.feedback

    @property
    def pid(self) -> int:
        """The engine's process."""
        return self._process.pid

    def admissible(self) -> list[str]:
        """Return all commands that are possible now, sorted."""
        return list(self._admissible)

    def step(self, command: str) -> str:
        """Carry out a command and return the feedback; "Nothing happens." if it is not possible.

        Raises:
            WorkerCrashed: the process died.
        """
        self._ask({"command": command})
        return self.feedback

    def close(self) -> None:
        """End the process; closing twice is fine."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not pipe.closed:
                with suppress(BrokenPipeError):
                    pipe.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def __enter__(self) -> RealWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: dict[str, Any]) -> None:
        line = ""
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        if pipe_in is not None and pipe_out is not None and not pipe_in.closed:
            # Of a process that ended, the last words may still be in the other pipe.
            with suppress(BrokenPipeError):
                pipe_in.write(json.dumps(request) + "\n")
                pipe_in.flush()
            line = pipe_out.readline()
        if not line:
            raise WorkerCrashed(
                f"the TextWorld process ended (exit code {self._process.poll()}); start a new "
                "RealWorld"
            )
        answer = json.loads(line)
        if "missing" in answer:
            raise MissingExtra(
                f"the real engine needs alfworld and textworld ({answer['missing']}); "
                "pip install 'rla-envs[alfworld]'"
            )
        if "error" in answer:
            raise TaskError(f"the real engine refuses this: {answer['error']}")
        self.feedback, self.won = answer["feedback"], answer["won"]
        self._admissible = answer["admissible"]


def _game_data(source: Game | Path | str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(source, Game):
        return game_to_json(source)
    if isinstance(source, Mapping):
        return dict(source)
    try:
        return json.loads(Path(source).read_text(encoding="utf-8"))
    except OSError as error:
        raise TaskUnavailable(f"cannot read game file {source}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise TaskError(f"{source} is no JSON: {error}") from error
