"""Playing an environment by hand in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium

import rla_envs  # noqa: F401  # pyright: ignore[reportUnusedImport]  # registers the ids
from rla_envs.types import Trajectory
from rla_envs.wrappers.record_trajectory import RecordTrajectory

HELP = 'Type a command or its number; "list" shows the commands again, "quit" ends.'


def play(
    env_id: str = "rla/AlfWorld-v0",
    *,
    seed: int | None = None,
    task: str | None = None,
    read: Callable[[str], str] = input,
    write: Callable[[str], None] = print,
    **kwargs: Any,
) -> Trajectory | None:
    """Play one episode and return its record, or None when the player left early.

    Args:
        env_id: A registered id.
        seed: Seed of the episode; the task drawn follows from it.
        task: Id of the task to play; drawn when None.
        read: Asks the player for a line; end of file means "quit".
        write: Shows a line.
        **kwargs: Passed to ``gymnasium.make``.

    Raises:
        TaskUnavailable: no task has this id.
    """
    env = RecordTrajectory(gymnasium.make(env_id, **kwargs))
    try:
        observation, info = env.reset(seed=seed, options={"task": task} if task else None)
        write(HELP)
        write(f"\n{observation.strip()}")
        over = False
        while not over:
            commands: Sequence[str] = info["admissible_commands"]
            write(numbered(commands))
            line = _ask(read, write, commands)
            if line is None:
                return None
            observation, reward, terminated, truncated, info = env.step(line)
            write(f"\n{observation.strip()}")
            if info.get("feedback_reason"):
                write(f"({info['feedback_reason']})")
            over = terminated or truncated
            if over:
                won = "Won" if info["won"] else "Not solved"
                steps = len(info["trajectory"].steps)
                write(f"\n{won} after {steps} steps; last reward {float(reward):+g}.")
        return info["trajectory"]
    finally:
        env.close()


def numbered(commands: Sequence[str], *, width: int = 100) -> str:
    """Return the commands in columns with the numbers that ``step`` takes, counted from 0."""
    cells = [f"[{number}] {command}" for number, command in enumerate(commands)]
    if not cells:
        return ""
    cell = max(map(len, cells)) + 2
    columns = max(1, width // cell)
    rows = -(-len(cells) // columns)
    lines = ("".join(text.ljust(cell) for text in cells[row::rows]).rstrip() for row in range(rows))
    return "\n" + "\n".join(lines)


def _ask(
    read: Callable[[str], str], write: Callable[[str], None], commands: Sequence[str]
) -> str | None:
    while True:
        try:
            line = read("> ").strip()
        except (EOFError, KeyboardInterrupt):
            return None
        if line in ("quit", "exit"):
            return None
        if line and line != "list":
            return line
        write(numbered(commands))
