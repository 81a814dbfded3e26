"""Problems as JSON lines, written and read back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rla_envs.coding.problem import problem_of
from rla_envs.errors import TaskError
from rla_envs.types import Task

from .records import Root, read_records


def write_problems(tasks: Sequence[Task], path: Path) -> Path:
    """Write one task a line and return path; its folder is made when missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(asdict(task), ensure_ascii=False) for task in tasks]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def load_problems(*, root: Root = None, split: str | None = None) -> list[Task]:
    """Return problems that ``write_problems`` (or ``rla tasks generate coding``) wrote.

    Args:
        root: A file, or a folder with one file a split.
        split: What the file's name begins with; all files when None.

    Raises:
        TaskUnavailable: no such file.
        TaskError: a line is no coding task.
    """
    tasks: list[Task] = []
    for record in read_records(root, name="coding/local", split=split):
        try:
            task = Task(**record)
        except TypeError as error:
            raise TaskError(f"a line of {root} is no task: {error}") from error
        problem_of(task)
        tasks.append(task)
    return tasks
