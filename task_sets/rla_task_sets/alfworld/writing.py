"""Writes tasks as game files in the official folder layout."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from rla_envs.alfworld.engine import Game, game_of, game_to_json
from rla_envs.errors import TaskError
from rla_envs.types import Task

from .official import GAME_FILE, SPLITS


def write_games(tasks: Iterable[Task], out: Path) -> list[Path]:
    """Write each task to <out>/<split>/<task>-<object>-None-<receptacle>-<scene>/<trial>/.

    The folder gets ``game.tw-pddl``, which the embedded and the real engine load, and a
    ``traj_data.json`` with what ALFWorld's loader reads of it. The split is the one in the task's
    id, "train" if there is none. Files of the same name are overwritten.

    Returns:
        The game files, in the order of the tasks.

    Raises:
        TaskError: a task is no ALFWorld task, cannot be written as PDDL, or two share a folder.
    """
    written: dict[Path, str] = {}
    for task in tasks:
        if task.domain != "alfworld":
            raise TaskError(f"task {task.id!r} is of domain {task.domain!r}, not alfworld")
        game = game_of(task)
        folder = Path(out) / _folder(task, game)
        path = folder / GAME_FILE
        if path in written:
            raise TaskError(f"tasks {written[path]!r} and {task.id!r} would both be in {folder}")
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(game_to_json(game)), encoding="utf-8")
        trajectory = json.dumps(_trajectory(task, game), indent=1)
        (folder / "traj_data.json").write_text(trajectory, encoding="utf-8")
        written[path] = task.id
    return list(written)


def _folder(task: Task, game: Game) -> PurePosixPath:
    """Return <split>/<task>-<object>-None-<receptacle>-<scene>/<trial> for a task."""
    parts = task.id.split("/")
    split = next((part for part in parts if part in SPLITS), "train")
    goal = game.scene.goal
    target = goal.receptacle_type or goal.lamp_type
    size = parts[2] if parts[0] == "generated" and len(parts) == 5 else "other"
    name = f"{goal.task_type}-{goal.object_type}-None-{target}-{size}"
    return PurePosixPath(split, name, f"trial_{''.join(filter(_is_plain, parts[-1]))}")


def _is_plain(letter: str) -> bool:
    return letter.isascii() and (letter.isalnum() or letter in "-_")


def _trajectory(task: Task, game: Game) -> dict[str, Any]:
    goal = game.scene.goal
    return {
        "task_id": task.id,
        "task_type": goal.task_type,
        "pddl_params": {
            "object_target": goal.object_type,
            "parent_target": goal.receptacle_type or "",
            "toggle_target": goal.lamp_type or "",
            "mrecep_target": "",
            "object_sliced": False,
        },
        "turk_annotations": {"anns": [{"task_desc": task.instruction}]},
    }
