"""A pipeline typed into a terminal."""

from __future__ import annotations

from random import Random

from rla_envs.errors import TaskError
from rla_task_sets.osworld.families.family import (
    Goal,
    Params,
    Plan,
    Split,
    distractor_windows,
    file_text,
    folder_path,
    step,
    write_file,
)
from rla_task_sets.osworld.families.words import FILES, FOLDERS, THINGS, pick, pool

OPERATIONS = ("count", "sort", "unique", "first", "last", "number")


class Terminal:
    """Answer a question about a text file with one command, and keep the answer in a file."""

    name = "terminal"

    def draw(self, rng: Random, split: Split) -> Params:
        """Draw a file of six to nine words with repetitions, and one operation."""
        source, target = pick(rng, FILES, split, 2)
        words = [rng.choice(pool(THINGS, split)) for _ in range(rng.randint(6, 9))]
        return {
            "source": f"{source}.txt",
            "target": f"{target}.txt",
            "folders": pick(rng, FOLDERS, split, 2),
            "depth": 1,
            "lines": words,
            "operation": rng.choice(OPERATIONS),
            "word": rng.choice(words),
            "count": rng.randint(2, 4),
            "hint": False,
            "windows": 0,
        }

    def about(self, params: Params) -> str:
        """Return the operation."""
        return str(params["operation"])

    def plan(self, params: Params) -> Plan:
        """Return the task; the answer's file is its only sub-goal."""
        folder = folder_path(params["depth"], params["folders"])
        target = f"{folder}/{params['target']}"
        said, command, answer = _operation(params)
        evaluator = file_text(target, answer)
        hint = f" The command {command.split()[0]} does it." if params["hint"] else ""
        return Plan(
            instruction=(
                f"In the terminal, {said} and write the result to {params['target']} in the same"
                f" folder.{hint}"
            ),
            setup=[
                write_file(f"{folder}/{params['source']}", text="\n".join(params["lines"]) + "\n"),
                *distractor_windows(params["windows"]),
                step("launch", command=["xfce4-terminal", f"--working-directory={folder}"]),
            ],
            evaluator=evaluator,
            expert=[f"type {command}", "press Return"],
            goals=[Goal(name=f"result in {params['target']}", evaluator=evaluator)],
        )


def _operation(params: Params) -> tuple[str, str, str]:
    """Return words for the instruction, the command, and what the command writes."""
    source, target, lines = params["source"], params["target"], list(params["lines"])
    word, count, operation = params["word"], params["count"], params["operation"]

    def out(kept: list[str]) -> str:
        return "".join(f"{line}\n" for line in kept)

    if operation == "count":
        said = f'count the lines of {source} that say "{word}"'
        return said, f"grep -c {word} {source} > {target}", f"{lines.count(word)}\n"
    if operation == "sort":
        return f"sort the lines of {source}", f"sort {source} > {target}", out(sorted(lines))
    if operation == "unique":
        said = f"sort the lines of {source} without repetitions"
        return said, f"sort -u {source} > {target}", out(sorted(set(lines)))
    if operation == "first":
        said = f"take the first {count} lines of {source}"
        return said, f"head -n {count} {source} > {target}", out(lines[:count])
    if operation == "last":
        said = f"take the last {count} lines of {source}"
        return said, f"tail -n {count} {source} > {target}", out(lines[-count:])
    if operation == "number":
        said = f"count all lines of {source}"
        return said, f"wc -l < {source} > {target}", f"{len(lines)}\n"
    raise TaskError(f"terminal knows {OPERATIONS}, not {operation!r}")
