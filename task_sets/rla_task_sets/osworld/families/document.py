"""Editing and formatting a text document in the word processor."""

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
from rla_task_sets.osworld.families.words import CITIES, FILES, FOLDERS, NAMES, TOPICS, pick

STYLES = {"bold": "ctrl+b", "italic": "ctrl+i", "underline": "ctrl+u", "centered": "ctrl+e"}
OPERATIONS = (*STYLES, "replace", "append")


class Document:
    """Format, replace or add a paragraph of an open document, and save it."""

    name = "document"

    def draw(self, rng: Random, split: Split) -> Params:
        """Draw a title with two or three sentences, and one change."""
        count = rng.randint(2, 3)
        names, cities = pick(rng, NAMES, split, count + 1), pick(rng, CITIES, split, 3)
        lines = [f"{name} travels to {rng.choice(cities)}." for name in names]
        title = pick(rng, TOPICS, split, 1)[0]
        return {
            "file": f"{pick(rng, FILES, split, 1)[0]}.docx",
            "folders": pick(rng, FOLDERS, split, 2),
            "depth": 0,
            "paragraphs": [title, *lines[:-1]],
            "changes": [[rng.choice(OPERATIONS), rng.randrange(count + 1), lines[-1]]],
            "hint": False,
            "windows": 0,
        }

    def about(self, params: Params) -> str:
        """Return the first change."""
        return str(params["changes"][0][0])

    def plan(self, params: Params) -> Plan:
        """Return the task; every change is one sub-goal, and so is the text as a whole."""
        path = f"{folder_path(params['depth'], params['folders'])}/{params['file']}"
        paragraphs: list[str] = list(params["paragraphs"])
        said: list[str] = []
        expert: list[str] = []
        goals: list[Goal] = []
        for change in params["changes"]:
            words, actions, rules = _carry_out(change, paragraphs)
            said.append(words)
            expert += actions
            check = on_file("check_paragraph", path, rules)
            goals.append(Goal(name=f"{change[0]}: {rules['text']}", evaluator=check))
        text = on_file("check_paragraphs", path, {"expected": paragraphs})
        keys = ", ".join(STYLES[c[0]] for c in params["changes"] if c[0] in STYLES)
        hint = f" {keys or 'ctrl+Home'} may help." if params["hint"] else ""
        return Plan(
            instruction=f"The document {params['file']} is open. {' '.join(said)} Save it.{hint}",
            setup=[
                write_file(path, document=params["paragraphs"]),
                *distractor_windows(params["windows"]),
                launch("libreoffice", "--writer", path),
            ],
            evaluator=every([*(goal.evaluator for goal in goals), text]),
            expert=[*expert, "press ctrl+s"],
            goals=goals,
        )


def _carry_out(change: Any, paragraphs: list[str]) -> tuple[str, list[str], dict[str, Any]]:
    """Change paragraphs; return what is said, what the expert does, and what is checked."""
    operation: str = change[0]
    place: int = change[1]
    text: str = change[2]
    if operation == "append":
        paragraphs.append(text)
        return (
            f'Add the paragraph "{text}" at the end.',
            ["press ctrl+End", "press Return", f"type {text}"],
            {"text": text},
        )
    if not 0 <= place < len(paragraphs) or operation not in OPERATIONS:
        raise TaskError(
            f"document knows {OPERATIONS} on {len(paragraphs)} paragraphs, not {change}"
        )
    old: str = paragraphs[place]
    down = [] if place == 0 else ["press Down" if place == 1 else f"press Down x{place}"]
    select = ["press ctrl+Home", *down, "press Home", "press shift+End"]
    if operation == "replace":
        paragraphs[place] = text
        said = f'Replace the paragraph "{old}" by "{text}".'
        return said, [*select, f"type {text}"], {"text": text}
    rules = {"alignment": "center"} if operation == "centered" else {operation: True}
    said = f'Make the paragraph "{old}" {operation}.'.replace("underline.", "underlined.")
    return said, [*select, f"press {STYLES[operation]}"], {"text": old, **rules}
