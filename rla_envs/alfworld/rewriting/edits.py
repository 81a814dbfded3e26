"""A rewrite as data: the root and a list of edits, replayed to get the game.

A rewritten task is never edited in place: its edits are applied to the root again, so nothing of
the root's intention gets lost on the way, and goal, sentence, walkthrough and lineage always come
from the same scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from rla_envs.alfworld.engine import Game, Scene, World, game_of, scene_to_payload
from rla_envs.alfworld.engine.planner import plan
from rla_envs.alfworld.rewriting.easier import EASIER
from rla_envs.alfworld.rewriting.harder import HARDER
from rla_envs.alfworld.rewriting.transform import Args, Transform
from rla_envs.alfworld.rewriting.wording import HINT_LEVELS, with_hint
from rla_envs.errors import TaskError
from rla_envs.types import Task

TRANSFORMS = MappingProxyType({transform.name: transform for transform in (*HARDER, *EASIER)})
"""Name -> transform."""

_REPLACED = frozenset({"game_file", "scene", "walkthrough", "syntax", "edits", "task_type"})


@dataclass(frozen=True, slots=True)
class Edit:
    """One transform with its arguments, e.g. ``Edit("hide_object", ("drawer 3",))``."""

    name: str
    args: Args = ()

    @property
    def transform(self) -> Transform:
        """The transform of that name.

        Raises:
            TaskError: there is none.
        """
        if self.name not in TRANSFORMS:
            raise TaskError(f"no transform {self.name!r}; known are {sorted(TRANSFORMS)}")
        return TRANSFORMS[self.name]


def edits_of(task: Task) -> tuple[Edit, ...]:
    """Return the edits that made a task from its root; none for a root."""
    return tuple(Edit(name, tuple(args)) for name, *args in task.payload.get("edits", ()))


def edited(scene: Scene, edits: Sequence[Edit]) -> Scene | None:
    """Return a root's scene after edits, or None if one of them does not apply where it stands.

    Hints come last, whatever their place in edits, and only the most telling one: a hint must be
    true of the finished room.
    """
    level = -1
    for edit in edits:
        if edit.args not in edit.transform.options(scene):
            return None
        if edit.name == "hint":
            level = max(level, HINT_LEVELS.index(edit.args[0]))
        else:
            scene = edit.transform.apply(scene, edit.args)
    return scene if level < 0 else with_hint(scene, HINT_LEVELS[level])


def rewritten(root: Task, edits: Sequence[Edit], *, task_id: str, parent_id: str) -> Task | None:
    """Return root with edits, with its plan as walkthrough and the plan's length as difficulty.

    None when an edit does not apply or nothing can win (or nothing is left to do) afterwards.
    """
    game = game_of(root)
    scene = edited(game.scene, edits)
    if scene is None:
        return None
    commands = plan(World(Game(scene=scene, syntax=game.syntax)))
    if not commands:
        return None
    payload: dict[str, Any] = {k: v for k, v in root.payload.items() if k not in _REPLACED}
    payload |= {
        "task_type": scene.goal.task_type,
        "scene": scene_to_payload(scene),
        "walkthrough": commands,
        "syntax": game.syntax,
        "edits": [[edit.name, *edit.args] for edit in edits],
    }
    return replace(
        root,
        id=task_id,
        instruction=scene.instruction,
        payload=payload,
        parent_id=parent_id,
        difficulty=float(len(commands)),
    )
