"""Carrying numbers from a note in one window into a workbook in another."""

from __future__ import annotations

from random import Random

from rla_task_sets.osworld.families.family import (
    Goal,
    Params,
    Plan,
    Split,
    cells,
    distractor_windows,
    every,
    folder_path,
    launch,
    on_file,
    write_file,
)
from rla_task_sets.osworld.families.words import COLUMNS, FILES, FOLDERS, THINGS, pick


class TwoApps:
    """Read a note in the editor, enter what it says into a workbook, and tick it off."""

    name = "two_apps"

    def draw(self, rng: Random, split: Split) -> Params:
        """Draw three things with numbers, and which of them to enter."""
        things = pick(rng, THINGS, split, 3)
        note, book = pick(rng, FILES, split, 2)
        return {
            "note": f"{note}.txt",
            "book": f"{book}.xlsx",
            "folders": pick(rng, FOLDERS, split, 2),
            "depth": 0,
            "things": things,
            "numbers": [rng.randint(2, 99) for _ in things],
            "column": pick(rng, COLUMNS, split, 1)[0],
            "wanted": [rng.randrange(3)],
            "tick": rng.random() < 0.5,
            "hint": False,
            "windows": 0,
        }

    def about(self, params: Params) -> str:
        """Return entering numbers."""
        del params
        return "enter"

    def plan(self, params: Params) -> Plan:
        """Return the task; every entered number, and the tick, is one sub-goal."""
        folder = folder_path(params["depth"], params["folders"])
        note, book = f"{folder}/{params['note']}", f"{folder}/{params['book']}"
        things, numbers = list(params["things"]), list(params["numbers"])
        wanted: list[int] = sorted(params["wanted"])
        lines = [f"{thing}: {number}" for thing, number in zip(things, numbers, strict=True)]
        expert: list[str] = []
        goals: list[Goal] = []
        for place in wanted:
            down = "press Down" if place == 0 else f"press Down x{place + 1}"
            expert += ["press ctrl+Home", "press Right", down]
            expert += [f"type {numbers[place]}", "press Return"]
            check = cells(
                book, {f"B{place + 2}": {"value": {"method": "eq", "ref": numbers[place]}}}
            )
            goals.append(Goal(name=f"{things[place]} in the workbook", evaluator=check))
        expert.append("press ctrl+s")
        named = " and ".join(things[place] for place in wanted)
        said = (
            f"The note {params['note']} says how many there are of each thing. Enter the number"
            f" for {named} into the column {params['column']} of the workbook {params['book']}"
            " and save it."
        )
        if params["tick"]:
            said += ' Then add the line "entered" at the end of the note and save it.'
            expert += ["press alt+Tab", "press ctrl+End", "type entered", "press ctrl+s"]
            check = on_file("check_lines", note, {"expected": [*lines, "entered"]})
            goals.append(Goal(name="the note is ticked off", evaluator=check))
        hint = f" The number for {things[wanted[0]]} is {numbers[wanted[0]]}."
        return Plan(
            instruction=said + (hint if params["hint"] else ""),
            setup=[
                write_file(note, text="\n".join(lines) + "\n"),
                write_file(book, sheet=[["Thing", params["column"]], *([t] for t in things)]),
                *distractor_windows(params["windows"]),
                launch("mousepad", "--disable-server", note),
                launch("libreoffice", "--calc", book),
            ],
            evaluator=every([goal.evaluator for goal in goals]),
            expert=expert,
            goals=goals,
        )
