"""A playable game: a scene, the syntax of its commands and, if known, a solution."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...errors import TaskError, TaskUnavailable
from ...types import Task
from .grammar import Syntax, check_domain, read_grammar, write_domain, write_grammar
from .payload import scene_from_payload
from .pddl import read_problem, write_problem
from .scene import Scene
from .tables import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """What a ``game.tw-pddl`` file says.

    Attributes:
        scene: The room, the goal and the task sentence.
        walkthrough: Commands that win, in this game's syntax; None if unknown.
        syntax: "move" ("move mug 1 to desk 1") or, in old files, "put" ("put mug 1 in/on desk 1").
    """

    scene: Scene
    walkthrough: tuple[str, ...] | None = None
    syntax: Syntax = "move"
    _tables: Tables | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def tables(self) -> Tables:
        """Look-up tables that all episodes of this game share; built on first use."""
        if self._tables is None:
            object.__setattr__(self, "_tables", Tables(self.scene, self.syntax))
        assert self._tables is not None
        return self._tables


def load_game(path: Path) -> Game:
    """Read an official or generated ``game.tw-pddl`` file.

    Raises:
        TaskUnavailable: there is no such file.
        TaskError: it is no JSON, lacks a part, or its grammar, domain or goal is unknown.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise TaskUnavailable(f"cannot read game file {path}: {error.strerror}") from error
    try:
        return game_from_json(json.loads(text))
    except (json.JSONDecodeError, TaskError) as error:
        raise TaskError(f"{path}: {error}") from error


def game_from_json(data: Mapping[str, Any]) -> Game:
    """Return the game in a parsed ``game.tw-pddl``.

    Raises:
        TaskError: a part is missing or unknown to the embedded engine.
    """
    if not all(
        isinstance(data.get(key), str) for key in ("pddl_domain", "grammar", "pddl_problem")
    ):
        raise TaskError("a game needs the texts pddl_domain, grammar and pddl_problem")
    syntax, instruction = read_grammar(data["grammar"])
    scene = read_problem(data["pddl_problem"], instruction)
    check_domain(data["pddl_domain"], {receptacle.type for receptacle in scene.receptacles})
    walkthrough = data.get("walkthrough")
    return Game(
        scene=scene,
        walkthrough=None if walkthrough is None else tuple(walkthrough),
        syntax=syntax,
    )


def game_to_json(game: Game) -> dict[str, Any]:
    """Return the ``game.tw-pddl`` of a game, with domain and grammar of our own wording.

    The real engine loads it and answers as the embedded engine does; ``game_from_json`` gives the
    game back. "solvable" says whether a walkthrough is known.

    Raises:
        TaskError: a name or the instruction cannot be said in the real engine.
    """
    return {
        "pddl_domain": write_domain(game.syntax),
        "grammar": write_grammar(game.syntax, game.scene.instruction),
        "pddl_problem": write_problem(game.scene),
        "solvable": game.walkthrough is not None,
        "walkthrough": None if game.walkthrough is None else list(game.walkthrough),
    }


def game_of(task: Task) -> Game:
    """Return the game that an ALFWorld task describes; the last 256 are kept.

    Args:
        task: Its payload has "game_file" (a path) or "scene" (see scene_to_payload), and may have
            "walkthrough" (commands) and "syntax".

    Raises:
        TaskError: the payload has neither, or what it has is malformed.
        TaskUnavailable: the game file cannot be read.
    """
    payload = task.payload
    if "game_file" in payload:
        return _game_of_file(str(payload["game_file"]))
    if "scene" not in payload:
        raise TaskError(
            f'task {task.id!r}: payload needs "game_file" or "scene", has {sorted(payload)}'
        )
    walkthrough = payload.get("walkthrough")
    return _game_of_scene(
        json.dumps(payload["scene"], sort_keys=True),
        None if walkthrough is None else tuple(walkthrough),
        payload.get("syntax", "move"),
    )


@lru_cache(maxsize=256)
def _game_of_file(path: str) -> Game:
    return load_game(Path(path))


@lru_cache(maxsize=256)
def _game_of_scene(scene: str, walkthrough: tuple[str, ...] | None, syntax: Syntax) -> Game:
    return Game(scene=scene_from_payload(json.loads(scene)), walkthrough=walkthrough, syntax=syntax)
