"""The compact JSON form of a scene that travels in ``Task.payload["scene"]``.

About 6 kB for an ordinary kitchen: rows instead of objects, flags as letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import TaskError
from .scene import Goal, Item, ItemState, Receptacle, Scene

_FLAGS = {
    "pickupable": "p",
    "cleanable": "c",
    "heatable": "h",
    "coolable": "k",
    "toggleable": "t",
    "sliceable": "s",
    "vessel": "v",
}
_STATES: dict[str, ItemState] = {
    "C": "clean",
    "H": "hot",
    "K": "cool",
    "S": "sliced",
    "T": "toggled",
}


def scene_to_payload(scene: Scene) -> dict[str, Any]:
    """Return scene as JSON-serialisable data; scene_from_payload gives it back."""
    goal = scene.goal
    fits: dict[str, list[str]] = {}
    for receptacle, item in sorted(scene.can_contain):
        fits.setdefault(receptacle, []).append(item)
    return {
        "receptacles": [
            [r.id, r.name, r.type, r.location, "o" * r.openable + "O" * r.opened]
            for r in scene.receptacles
        ],
        "items": [
            [i.id, i.name, i.type, i.location, list(i.receptacles), _letters(i), list(i.inside)]
            for i in scene.items
        ],
        "agent": scene.agent_location,
        "goal": [
            goal.task_type,
            goal.object_type,
            goal.receptacle_type,
            goal.lamp_type,
            goal.item_id,
        ],
        "instruction": scene.instruction,
        "fits": fits,
    }


def scene_from_payload(payload: Mapping[str, Any]) -> Scene:
    """Return the scene that scene_to_payload wrote.

    Raises:
        TaskError: a part is missing or has another form.
    """
    try:
        task_type, object_type, receptacle_type, lamp_type, item_id = payload["goal"]
        return Scene(
            receptacles=tuple(_receptacle(*row) for row in payload["receptacles"]),
            items=tuple(_item(*row) for row in payload["items"]),
            agent_location=payload["agent"],
            goal=Goal(
                task_type=task_type,
                object_type=object_type,
                receptacle_type=receptacle_type,
                lamp_type=lamp_type,
                item_id=item_id,
            ),
            instruction=payload["instruction"],
            can_contain=frozenset(
                (receptacle, item)
                for receptacle, items in payload["fits"].items()
                for item in items
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TaskError(
            f"scene payload is malformed ({type(error).__name__}: {error}); "
            "write it with scene_to_payload"
        ) from error


def _letters(item: Item) -> str:
    flags = (letter for flag, letter in _FLAGS.items() if getattr(item, flag))
    return "".join([*flags, *(letter for letter, state in _STATES.items() if state in item.states)])


def _receptacle(id_: str, name: str, type_: str, location: str, flags: str) -> Receptacle:
    return Receptacle(
        id=id_, name=name, type=type_, location=location, openable="o" in flags, opened="O" in flags
    )


def _item(
    id_: str,
    name: str,
    type_: str,
    location: str | None,
    receptacles: list[str],
    letters: str,
    inside: list[str],
) -> Item:
    return Item(
        id=id_,
        name=name,
        type=type_,
        location=location,
        receptacles=tuple(receptacles),
        inside=tuple(inside),
        states=frozenset(state for letter, state in _STATES.items() if letter in letters),
        **{flag: letter in letters for flag, letter in _FLAGS.items()},
    )
