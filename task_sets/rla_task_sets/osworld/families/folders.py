"""Tidying up in the file manager: make, rename, move."""

from __future__ import annotations

from random import Random

from rla_envs.errors import TaskError
from rla_task_sets.osworld.families.family import (
    HOME,
    Goal,
    Params,
    Plan,
    Split,
    distractor_windows,
    every,
    folder_path,
    step,
    write_file,
)
from rla_task_sets.osworld.families.words import FILES, FOLDERS, pick

OPERATIONS = ("make", "rename", "move")


class Folders:
    """Make a folder, rename a file, or move all files of a folder into another."""

    name = "folders"

    def draw(self, rng: Random, split: Split) -> Params:
        """Draw two folders with one to three files, and one operation."""
        files = pick(rng, FILES, split, 3)
        return {
            "folders": pick(rng, FOLDERS, split, 3),
            "depth": 1,
            "files": [f"{name}.txt" for name in files[: rng.randint(1, 2)]],
            "new": f"{files[2]}.txt",
            "operations": [rng.choice(OPERATIONS)],
            "hint": False,
            "windows": 0,
        }

    def about(self, params: Params) -> str:
        """Return the first operation."""
        return str(params["operations"][0])

    def plan(self, params: Params) -> Plan:
        """Return the task; every operation is one sub-goal, named by what must be there."""
        folder = folder_path(params["depth"], params["folders"])
        *_, other, target = params["folders"]
        place = folder.rpartition("/")[2]
        files: list[str] = sorted(params["files"])
        said: list[str] = []
        expert: list[str] = []
        goals: list[Goal] = []
        for operation in params["operations"]:
            if operation == "make":
                said.append(f'make a new folder named "{other}" in "{place}"')
                expert += ["press ctrl+shift+n", "press ctrl+a", f"type {other}", "press Return"]
                present, absent = [other], [f"{other}/{other}"]
            elif operation == "rename":
                old, new = files[0], params["new"]
                said.append(f'rename the file "{old}" in "{place}" to "{new}"')
                expert += [f"type {old}", "press Escape", "press F2", "press ctrl+a"]
                expert += [f"type {new}", "press Return"]
                present, absent = [new], [old]
                files[0] = new
            elif operation == "move":
                said.append(f'move all files of "{place}" into the folder "{target}" beside it')
                expert += ["press ctrl+a", "press ctrl+x", "press ctrl+l", "press ctrl+a"]
                expert += [f"type {folder.rpartition('/')[0]}/{target}", "press Return"]
                expert += ["press ctrl+v"]
                goals.append(_tree(f"files in {target}", f"{folder}/../{target}", files, []))
                present, absent = [], files
            else:
                raise TaskError(f"folders knows {OPERATIONS}, not {operation!r}")
            name = f"{operation}: {', '.join(present) or 'nothing'} in {place}"
            goals.append(_tree(name, folder, present, absent))
        hint = " The menu of the file manager has all of this." if params["hint"] else ""
        sentence = ", then ".join(said)
        return Plan(
            instruction=f"{sentence[0].upper()}{sentence[1:]}.{hint}",
            setup=[
                *(write_file(f"{folder}/{name}", text=f"{name}\n") for name in params["files"]),
                step("execute", command=["mkdir", "-p", f"{folder}/../{target}"]),
                *distractor_windows(params["windows"]),
                step("launch", command=["pcmanfm", "--no-desktop", folder]),
            ],
            evaluator=every([goal.evaluator for goal in goals]),
            expert=expert,
            goals=goals,
        )


def _tree(name: str, folder: str, present: list[str], absent: list[str]) -> Goal:
    assert folder.startswith(HOME)
    evaluator = {
        "func": "check_tree",
        "result": {"type": "list_directory", "path": folder},
        "expected": {"type": "rule", "rules": {"present": present, "absent": absent}},
    }
    return Goal(name=name, evaluator=evaluator)
