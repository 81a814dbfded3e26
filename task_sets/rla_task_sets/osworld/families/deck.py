"""Changing the words on slides."""

from __future__ import annotations

from random import Random

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


class Deck:
    """Give slides of an open presentation new titles, and save it."""

    name = "slides"

    def draw(self, rng: Random, split: Split) -> Params:
        """Draw two slides and a new title for one of them."""
        titles, names = pick(rng, TOPICS, split, 3), pick(rng, NAMES, split, 2)
        cities = pick(rng, CITIES, split, 2)
        bodies = [f"{name} in {city}" for name, city in zip(names, cities, strict=True)]
        return {
            "file": f"{pick(rng, FILES, split, 1)[0]}.pptx",
            "folders": pick(rng, FOLDERS, split, 2),
            "depth": 0,
            "slides": [[title, body] for title, body in zip(titles, bodies, strict=False)],
            "titles": [[rng.randrange(2), titles[2]]],
            "hint": False,
            "windows": 0,
        }

    def about(self, params: Params) -> str:
        """Return titles."""
        del params
        return "title"

    def plan(self, params: Params) -> Plan:
        """Return the task; every new title is one sub-goal."""
        path = f"{folder_path(params['depth'], params['folders'])}/{params['file']}"
        slides = [list(slide) for slide in params["slides"]]
        said: list[str] = []
        expert: list[str] = []
        shown = 0
        for number, title in params["titles"]:
            said.append(f'Change the title of slide {number + 1} to "{title}".')
            expert += ["press Page_Down"] * (number - shown) + ["press Page_Up"] * (shown - number)
            # A title slide's first object is its title; F2 edits the text of what is selected.
            expert += ["press Tab", "press F2", "press ctrl+a", f"type {title}"]
            expert += ["press Escape", "press Escape"]
            slides[number][0], shown = title, number
        goals = [
            Goal(
                name=f"title of slide {number + 1}: {title}",
                evaluator=on_file(
                    "check_slide",
                    path,
                    {"slide": number, "texts": slides[number], "slides": len(slides)},
                ),
            )
            for number, title in params["titles"]
        ]
        hint = " F2 edits the selected text." if params["hint"] else ""
        return Plan(
            instruction=(
                f"The presentation {params['file']} is open. {' '.join(said)} Save it.{hint}"
            ),
            setup=[
                write_file(path, slides=params["slides"]),
                *distractor_windows(params["windows"]),
                launch("libreoffice", "--impress", path),
            ],
            evaluator=every([goal.evaluator for goal in goals]),
            expert=[*expert, "press ctrl+s"],
            goals=goals,
        )
