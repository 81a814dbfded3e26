"""Formulas in a spreadsheet: a function that is named, or only described; or one a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from types import MappingProxyType

from rla_envs.errors import TaskError
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
    write_file,
)
from rla_task_sets.osworld.families.words import COLUMNS, FILES, FOLDERS, NAMES, TOPICS, pick

SUMMARIES: MappingProxyType[str, tuple[str, Callable[[Sequence[float]], float]]] = MappingProxyType(
    {
        "SUM": ("the total", lambda values: float(sum(values))),
        "AVERAGE": ("the mean", lambda values: sum(values) / len(values)),
        "MAX": ("the largest", lambda values: float(max(values))),
        "MIN": ("the smallest", lambda values: float(min(values))),
        "COUNT": ("the number", lambda values: float(len(values))),
    }
)
"""Function -> how it is described, what it computes."""

YEAR = 2026
AGE = "age"
"""The operation with one formula a row: YEAR - year of birth."""


class Spreadsheet:
    """Put formulas into cells of an open workbook, and save it."""

    name = "spreadsheet"

    def draw(self, rng: Random, split: Split) -> Params:
        """Draw a table of three to five people, one or two number columns, and one question."""
        count = rng.randint(3, 5) if split != "valid_unseen" else 4
        operation = rng.choice([*SUMMARIES, AGE])
        header = "Born" if operation == AGE else pick(rng, COLUMNS, split, 1)[0]
        low, high = (1950, 2005) if operation == AGE else (2, 99)
        return {
            "file": f"{pick(rng, FILES, split, 1)[0]}.xlsx",
            "folders": pick(rng, FOLDERS, split, 2),
            "depth": 0,
            "names": pick(rng, NAMES, split, min(count, 4 if split == "valid_unseen" else 5)),
            "column": header,
            "values": [rng.randint(low, high) for _ in range(count)],
            "operation": operation,
            "named": rng.random() < 0.5,
            "distractors": 0,
            "hint": False,
            "windows": 0,
            "extra": [rng.randint(2, 99) for _ in range(2 * count)],
            "extra_columns": pick(rng, TOPICS, split, 2),
        }

    def about(self, params: Params) -> str:
        """Return the operation."""
        return str(params["operation"])

    def plan(self, params: Params) -> Plan:
        """Return the task; each formula is one sub-goal."""
        values: list[int] = list(params["values"])
        count, others = len(values), int(params["distractors"])
        path = f"{folder_path(params['depth'], params['folders'])}/{params['file']}"
        column = chr(ord("B") + others)
        answer = chr(ord(column) + 1)
        operation: str = params["operation"]
        header = ["Name", *params["extra_columns"][:others], params["column"]]
        extra = params["extra"]
        rows = [
            [params["names"][i], *(extra[i * others + j] for j in range(others)), values[i]]
            for i in range(count)
        ]
        right = f"press Right x{others + 2}"
        if operation == AGE:
            formulas = [(f"{answer}{i + 2}", f"={YEAR}-{column}{i + 2}") for i in range(count)]
            results = [float(YEAR - value) for value in values]
            said = (
                f"Compute the age of each person in {YEAR} from the year of birth: fill"
                f" {answer}2 to {answer}{count + 1} with formulas."
            )
            start = ["press ctrl+Home", right, "press Down"]
            function = "-"
        elif operation in SUMMARIES:
            words, compute = SUMMARIES[operation]
            place, area = f"{answer}2", f"{column}2:{column}{count + 1}"
            formulas, results = [(place, f"={operation}({area})")], [compute(values)]
            how = f"use the function {operation}" if params["named"] else "use a formula"
            said = f"Put {words} of the {params['column']} values into cell {place}; {how}."
            start = ["press ctrl+Home", right, "press Down"]
            function = operation
        else:
            raise TaskError(f"spreadsheet knows {[*SUMMARIES, AGE]}, not {operation!r}")
        typed = [
            action for _, formula in formulas for action in (f"type {formula}", "press Return")
        ]
        checks = [
            cells(path, {place: _formula_cell(function, params["named"], result)})
            for (place, _), result in zip(formulas, results, strict=True)
        ]
        hint = f' For example "{formulas[0][1]}".' if params["hint"] else ""
        return Plan(
            instruction=f"The workbook {params['file']} is open. {said} Save the file.{hint}",
            setup=[
                write_file(path, sheet=[header, *rows]),
                *distractor_windows(params["windows"]),
                launch("libreoffice", "--calc", path),
            ],
            evaluator=every(checks),
            expert=[*start, *typed, "press ctrl+s"],
            goals=[
                Goal(name=f"formula in {place}", evaluator=check)
                for (place, _), check in zip(formulas, checks, strict=True)
            ],
        )


def _formula_cell(function: str, named: bool, result: float) -> dict[str, dict[str, object]]:
    """Return the props of a cell: the right value, and a formula that earns it."""
    pattern = rf"(?i)^={function}\(" if named and function != "-" else "^="
    return {
        "value": {"method": "approx:0.001", "ref": result},
        "formula": {"method": "re", "ref": pattern},
    }
