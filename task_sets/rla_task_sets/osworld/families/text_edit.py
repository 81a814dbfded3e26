"""Editing a text file in the text editor: append, replace or delete lines."""

from __future__ import annotations

from random import Random
from typing import Any

from rla_envs.errors import TaskError
from rla_task_sets.osworld.families.family import (
    Goal,
    Params,
    Plan,
    Split,
    distractor_windows,
    every,
    folder_path,
    launch,
    on_file,
    write_file,
)
from rla_task_sets.osworld.families.words import FILES, FOLDERS, THINGS, VERBS, pick

OPERATIONS = ("append", "replace", "delete")


class TextEdit:
    """Change lines of a text file that is open in the editor, and save it."""

    name = "text_edit"

    def draw(self, rng: Random, split: Split) -> Params:
        """Draw a file of three to four lines and one change."""
        count = 3 if split == "valid_unseen" else rng.randint(3, 4)
        things = pick(rng, THINGS, split, count + 1)
        verbs = [rng.choice(VERBS) for _ in things]
        lines = [f"{verb} {thing}" for verb, thing in zip(verbs, things, strict=True)]
        operation = rng.choice(OPERATIONS)
        return {
            "file": f"{pick(rng, FILES, split, 1)[0]}.txt",
            "folders": pick(rng, FOLDERS, split, 2),
            "depth": 0,
            "lines": lines[:-1],
            "changes": [[operation, rng.randrange(count), lines[-1]]],
            "hint": False,
            "windows": 0,
        }

    def about(self, params: Params) -> str:
        """Return the first change."""
        return str(params["changes"][0][0])

    def plan(self, params: Params) -> Plan:
        """Return the task; every change is one sub-goal."""
        path = f"{folder_path(params['depth'], params['folders'])}/{params['file']}"
        lines: list[str] = list(params["lines"])
        said: list[str] = []
        expert: list[str] = []
        goals: list[Goal] = []
        for change in params["changes"]:
            words, actions = _carry_out(change, lines)
            said.append(words)
            expert += actions
        expert.append("press ctrl+s")
        for operation, place, text in params["changes"]:
            wanted = text if operation != "delete" else params["lines"][place]
            absent = [] if operation == "append" else [f"^{params['lines'][place]}$"]
            present = [] if operation == "delete" else [f"^{wanted}$"]
            rules = {"expect": present, "unexpect": absent}
            goals.append(
                Goal(name=f"{operation}: {wanted}", evaluator=on_file("check_list", path, rules))
            )
        expected = on_file("check_lines", path, {"expected": lines})
        opened = f"The file {params['file']} is open in the text editor. "
        hint = " Save with ctrl+s." if params["hint"] else ""
        return Plan(
            instruction=f"{opened}{' Then '.join(said)} Save the file.{hint}",
            setup=[
                write_file(path, text="\n".join(params["lines"]) + "\n"),
                *distractor_windows(params["windows"]),
                launch("mousepad", "--disable-server", path),
            ],
            evaluator=every([expected]),
            expert=expert,
            goals=goals,
        )


def _carry_out(change: Any, lines: list[str]) -> tuple[str, list[str]]:
    """Change lines; return what the instruction says and what the expert does."""
    operation, place, text = change
    down = [] if place == 0 else ["press Down" if place == 1 else f"press Down x{place}"]
    if operation == "append":
        lines.append(text)
        return f'Add the line "{text}" at the end.', ["press ctrl+End", f"type {text}"]
    if not 0 <= place < len(lines):
        raise TaskError(f"change {change} needs line {place}, and there are {len(lines)}")
    if operation == "replace":
        old, lines[place] = lines[place], text
        select = ["press ctrl+Home", *down, "press shift+End", f"type {text}"]
        return f'Replace the line "{old}" by "{text}".', select
    if operation == "delete":
        old = lines.pop(place)
        remove = ["press ctrl+Home", *down, "press shift+Down", "press Delete"]
        return f'Delete the line "{old}".', remove
    raise TaskError(f"text_edit knows {OPERATIONS}, not {operation!r}")
