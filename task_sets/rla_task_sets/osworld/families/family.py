"""What a family of generated desktop tasks is: parameters, and a plan made from them.

A task is its family and its parameters. Instruction, setup, verifier, expert and sub-goals are all
made from the parameters together, so that a rewrite that changes a parameter cannot leave one of
them behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, Protocol

Params = Mapping[str, Any]
Step = dict[str, Any]
Evaluator = dict[str, Any]
Split = Literal["train", "valid_seen", "valid_unseen"]

HOME = "/home/user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One thing that has to hold in the end, checked after every step as the step oracle.

    Attributes:
        name: A few words.
        evaluator: Scores 1 iff it holds.
    """

    name: str
    evaluator: Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A task in full.

    Attributes:
        instruction: What the agent reads.
        setup: OSWorld's setup steps, and ``write_file``.
        evaluator: OSWorld's evaluator.
        expert: Actions in the environment's short form that solve the task through the GUI.
        goals: Sub-goals, in the order in which the expert reaches them.
    """

    instruction: str
    setup: Sequence[Step]
    evaluator: Evaluator
    expert: Sequence[str]
    goals: Sequence[Goal]


class Family(Protocol):
    """A kind of task."""

    name: str

    def draw(self, rng: Random, split: Split) -> Params:
        """Return parameters, JSON-serialisable; those of valid_unseen use words of their own."""
        ...

    def about(self, params: Params) -> str:
        """Return what the task is about, which no rewrite may change."""
        ...

    def plan(self, params: Params) -> Plan:
        """Return the task that params describe.

        Raises:
            TaskError: they describe none.
        """
        ...


def step(kind: str, **parameters: Any) -> Step:
    """Return a setup step."""
    return {"type": kind, "parameters": parameters}


def write_file(path: str, **content: Any) -> Step:
    """Return the step that puts a file into the desktop; see ``osworld.files``."""
    return step("write_file", path=path, **content)


def launch(*command: str) -> Step:
    """Return the step that starts an application and waits for its window."""
    return step("launch", command=list(command))


def file_text(path: str, text: str) -> Evaluator:
    """Return the evaluator: the file holds exactly text."""
    name = path.rpartition("/")[2]
    return {
        "func": "compare_config",
        "result": {"type": "vm_file", "path": path, "dest": name},
        "expected": {"type": "rule", "rules": {"expected": text}},
    }


def on_file(metric: str, path: str, rules: Any) -> Evaluator:
    """Return the evaluator: a metric on a file and rules."""
    name = path.rpartition("/")[2]
    return {
        "func": metric,
        "result": {"type": "vm_file", "path": path, "dest": name},
        "expected": {"type": "rule", "rules": rules},
    }


def cells(path: str, wanted: Mapping[str, Mapping[str, Any]]) -> Evaluator:
    """Return the evaluator: each cell's props match, e.g. {"C2": {"value": {"method": ...}}}."""
    name = path.rpartition("/")[2]
    rules = [
        {"type": "check_cell", "sheet_idx": 0, "coordinate": place, "props": dict(props)}
        for place, props in wanted.items()
    ]
    return {
        "func": "compare_table",
        "result": {"type": "vm_file", "path": path, "dest": name},
        "options": {"rules": rules},
    }


def every(evaluators: Sequence[Evaluator]) -> Evaluator:
    """Return the evaluator that needs all of several."""
    if len(evaluators) == 1:
        return dict(evaluators[0])
    return {
        "func": [one["func"] for one in evaluators],
        "result": [one["result"] for one in evaluators],
        "expected": [one.get("expected") for one in evaluators],
        "options": [one.get("options") for one in evaluators],
        "conj": "and",
    }


def folder_path(depth: int, words: Sequence[str]) -> str:
    """Return a folder of the home directory, ``depth`` levels below Documents."""
    return "/".join([HOME, "Documents", *words[:depth]])


def distractor_windows(count: int) -> list[Step]:
    """Return the steps that open windows which have nothing to do with the task."""
    steps: list[Step] = []
    for number in range(count):
        path = f"{HOME}/Documents/other {number + 1}.txt"
        steps += [
            write_file(path, text=f"Nothing to do here ({number + 1}).\n"),
            launch("mousepad", "--disable-server", path),
        ]
    return steps
