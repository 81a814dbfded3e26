"""OSWorld's action space ``computer_13``: dictionaries with an action type and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from rla_envs.osworld.actions.action import Action, NotUnderstood
from rla_envs.osworld.actions.keys import chord
from rla_envs.osworld.actions.limits import Frame, button, times, typed, waited, wheel

WAIT_SECONDS = 2.0


def read_computer_13(given: Mapping[str, Any], frame: Frame) -> list[Action]:
    """Return the actions of one dictionary; its parameters may lie beside the type or in a dict.

    Raises:
        NotUnderstood: the type is unknown, or a parameter is missing or of no use.
    """
    kind = str(given["action_type"]).upper()
    inner: Any = given.get("parameters") or given.get("parameter") or {}
    if not isinstance(inner, Mapping):
        raise NotUnderstood(f"the parameters of {kind} are a dictionary, not {inner!r}")
    parameters = {**given, **cast(Mapping[str, Any], inner)}
    x = y = None
    if parameters.get("x") is not None or parameters.get("y") is not None:
        x, y = frame.point(parameters.get("x"), parameters.get("y"))
    side = button(parameters.get("button", "left"))
    match kind:
        case "MOVE_TO" | "DRAG_TO":
            if x is None:
                raise NotUnderstood(f"{kind} needs x and y")
            return [Action(kind="move" if kind == "MOVE_TO" else "drag", x=x, y=y)]
        case "CLICK":
            count = times(parameters.get("num_clicks", 1))
            return [Action(kind="click", x=x, y=y, button=side, times=count)]
        case "RIGHT_CLICK":
            return [Action(kind="click", x=x, y=y, button=3)]
        case "DOUBLE_CLICK":
            return [Action(kind="click", x=x, y=y, times=2)]
        case "MOUSE_DOWN":
            return [Action(kind="mouse_down", button=side)]
        case "MOUSE_UP":
            return [Action(kind="mouse_up", button=side)]
        case "SCROLL":
            dx, dy = (wheel(parameters.get(name, 0)) for name in ("dx", "dy"))
            return [Action(kind="scroll", x=x, y=y, dx=dx, dy=dy)]
        case "TYPING":
            return [typed(parameters.get("text"))]
        case "PRESS":
            return [Action(kind="press", keys=chord(_keys(parameters, kind)))]
        case "KEY_DOWN":
            return [Action(kind="key_down", keys=chord(_keys(parameters, kind)))]
        case "KEY_UP":
            return [Action(kind="key_up", keys=chord(_keys(parameters, kind)))]
        case "HOTKEY":
            return [Action(kind="press", keys=chord(_keys(parameters, kind)))]
        case "WAIT":
            return [waited(parameters.get("seconds", WAIT_SECONDS))]
        case "DONE":
            return [Action(kind="done")]
        case "FAIL":
            return [Action(kind="fail")]
        case _:
            raise NotUnderstood(f"computer_13 has no action {kind!r}")


def _keys(parameters: Mapping[str, Any], kind: str) -> list[str]:
    value = parameters.get("keys", parameters.get("key"))
    keys = cast(list[Any], value) if isinstance(value, list) else [value]
    if not keys or not all(isinstance(key, str) and key for key in keys):
        raise NotUnderstood(f"{kind} needs the name of a key, not {value!r}")
    return cast(list[str], keys)
