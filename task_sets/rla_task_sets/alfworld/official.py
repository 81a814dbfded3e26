"""The official games, read where ALFWorld's own download puts them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import overload

from rla_envs.errors import ConfigError, TaskError, TaskUnavailable
from rla_envs.types import Task

SPLITS = ("train", "valid_seen", "valid_unseen", "valid_train")
"""Folder names; "valid_seen" is in-domain, "valid_unseen" out-of-domain."""

GAME_FILE = "game.tw-pddl"

_DATA_FOLDER = "json_2.1.1"
_SKIPPED = ("movable", "Sliced")
"""ALFWorld skips games with these words in their path: the domain cannot express them."""

_TASK = re.compile(r'Your task is to: ((?:[^"\\]|\\.)*?)\\?"')


class OfficialTasks(Sequence[Task]):
    """The games of one split, in alphabetical order of their ids.

    Only folder names are read at first; a game's file is opened when its task is asked for.

    Attributes:
        root: The folder that holds the split; ids are relative to it.
        split: Its name.
        ids: Ids of all tasks, e.g.
            "valid_seen/pick_and_place_simple-Book-None-Sofa-229/trial_T20190909_044715_250790".
    """

    def __init__(self, root: Path, split: str) -> None:
        """List the games below root/split.

        Raises:
            TaskUnavailable: there is no such folder, or no game in it.
        """
        self.root = root
        self.split = split
        self.ids = tuple(_list_games(root / split, split))
        if not self.ids:
            raise TaskUnavailable(
                f"no {GAME_FILE} below {root / split}; expected "
                "<split>/<task>-<object>-None-<receptacle>-<scene>/<trial>/" + GAME_FILE
            )

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Task: ...

    @overload
    def __getitem__(self, index: slice) -> list[Task]: ...

    def __getitem__(self, index: int | slice) -> Task | list[Task]:
        """Read one task, or several."""
        if isinstance(index, slice):
            return [self._read(id_) for id_ in self.ids[index]]
        return self._read(self.ids[index])

    def _read(self, id_: str) -> Task:
        path = self.root / id_ / GAME_FILE
        try:
            game = json.loads(path.read_text(encoding="utf-8"))
            sentence = _TASK.search(game["grammar"])
        except OSError as error:
            raise TaskUnavailable(f"cannot read game {path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise TaskError(f"game {path} is malformed: {error}") from error
        if sentence is None:
            raise TaskError(f"game {path} has no task sentence in its grammar")
        walkthrough = game.get("walkthrough")
        return Task(
            id=id_,
            domain="alfworld",
            instruction=sentence[1],
            payload={
                "game_file": str(path),
                "task_type": task_type_of(id_),
                "walkthrough": walkthrough,
            },
            difficulty=None if walkthrough is None else float(len(walkthrough)),
        )


def load_official(
    *, root: str | os.PathLike[str] | None = None, split: str = "train"
) -> OfficialTasks:
    """Return the official games of a split.

    Args:
        root: The folder that holds the splits, or one that holds ``json_2.1.1`` with them;
            ``$ALFWORLD_DATA`` when None.
        split: "train", "valid_seen", "valid_unseen" or "valid_train".

    Raises:
        ConfigError: there is no such split.
        TaskUnavailable: no root was given, or it does not hold the split.
    """
    if split not in SPLITS:
        raise ConfigError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    given = root if root is not None else os.environ.get("ALFWORLD_DATA")
    if not given:
        raise TaskUnavailable(
            "no folder of official games: give root= (or set ALFWORLD_DATA) to the folder that "
            "`alfworld-download` filled"
        )
    folder = Path(given).expanduser()
    for candidate in (folder, folder / _DATA_FOLDER):
        if (candidate / split).is_dir():
            return OfficialTasks(candidate, split)
    raise TaskUnavailable(
        f"no split {split!r} in {folder} or {folder / _DATA_FOLDER}; give root= (or set "
        "ALFWORLD_DATA) to the folder that `alfworld-download` filled, or choose another split"
    )


def task_type_of(id_: str) -> str:
    """Return the task type that a game's folder name begins with."""
    return id_.split("/")[-2].partition("-")[0]


def _list_games(folder: Path, split: str) -> list[str]:
    if not folder.is_dir():
        raise TaskUnavailable(f"no folder {folder}")
    ids: list[str] = []
    with os.scandir(folder) as tasks:
        for task in tasks:
            if any(word in task.name for word in _SKIPPED) or not task.is_dir():
                continue
            with os.scandir(task.path) as trials:
                ids += [
                    f"{split}/{task.name}/{trial.name}"
                    for trial in trials
                    if os.path.isfile(f"{trial.path}/{GAME_FILE}")
                ]
    return sorted(ids)
